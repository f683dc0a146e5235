//! tine.
fn main() {}
