//! The library: turn loop, fan-out and abort tree.
