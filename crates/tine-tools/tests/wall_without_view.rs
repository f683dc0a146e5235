//! The tests of `wall`, on a system where no namespaces can be made: Landlock and the filter over system calls are all there is.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a world that cannot be made is a failed test")]

const HAS_VIEW: bool = false;

#[path = "wall/limits.rs"]
mod limits;
#[path = "wall/linked.rs"]
mod linked;
#[path = "wall/network.rs"]
mod network;
#[path = "wall/no_hosts.rs"]
mod no_hosts;
#[path = "wall/planted.rs"]
mod planted;
#[path = "wall/processes.rs"]
mod processes;
#[path = "wall/reads.rs"]
mod reads;
#[path = "wall/world.rs"]
mod world;
#[path = "wall/writes.rs"]
mod writes;
