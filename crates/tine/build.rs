//! How the programs of this package are linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // An unoptimized program of this size has some 235,000 addresses to fill in where it may lie anywhere in memory: half of
    // the time of each start, and the tests start it thousands of times. What is released stays where the system puts it.
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo:rustc-link-arg=-no-pie");
    }
}
