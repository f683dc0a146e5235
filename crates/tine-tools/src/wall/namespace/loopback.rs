//! The network of a command alone: a loopback device, and listeners on it.
//!
//! The inner stage opens them before it restricts itself, and hands them to tine (`handover.rs`). A listener belongs to the
//! network that it was made in, whoever holds it: so tine can answer there, and the command reaches nobody else.

use std::io;
use std::net::{SocketAddr, TcpListener};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Switches the loopback device on and listens at these addresses.
pub(super) fn listen(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    switch_on()?;
    let listen = |address: &SocketAddr| {
        TcpListener::bind(address)
            .map_err(|error| io::Error::new(error.kind(), format!("listen at {address}: {error}")))
    };
    addresses.iter().map(listen).collect()
}

/// Asks the kernel to set the flag `UP` of the first device, which is the loopback device.
fn switch_on() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
    const ERROR: u16 = 2;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    // A header of netlink, then one of `ip link`: family and kind, index, flags, which flags to change.
    let mut request = Vec::with_capacity(32);
    request.extend(32_u32.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([0; 4]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    // The protocol of routes and devices is number 0.
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&kernel, &request, SendFlags::empty())?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    // A header whose kind is `ERROR`, and a number: 0, or what went wrong as a negative one.
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(ERROR), Some(0)) if length >= 20 => Ok(()),
        (Some(ERROR), Some(code)) if length >= 20 => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::Error::other("the kernel gave an unknown answer")),
    }
}
