//! Paths that are odd in themselves.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::{House, file, list, search, write};

#[test]
fn dots_and_slashes_are_resolved_before_anything_is_opened() {
    let house = House::new();
    house.link("../out", "in/door");
    let read = |path: &str| house.run("FileRead", &file(path));
    insta::assert_snapshot!(read("./sub//./f"), @"     1	inside");
    insta::assert_snapshot!(read("sub/none/../f"), @"     1	inside");
    insta::assert_snapshot!(read("door/../sub/f"), @"     1	inside");
    insta::assert_snapshot!(read("sub/f/"), @"     1	inside");
    insta::assert_snapshot!(read("."), @"error: `.` is a directory; use Glob to list its files");
    insta::assert_snapshot!(read("sub/"), @"error: `sub` is a directory; use Glob to list its files");
    insta::assert_snapshot!(read("/"), @"error: `/` is a directory; use Glob to list its files");
    insta::assert_snapshot!(read(""), @"error: `file_path` must not be empty");
    insta::assert_snapshot!(read("a\0b"), @"error: `file_path` must not contain a NUL character");
    insta::assert_snapshot!(read("SUB/F"), @"error: `SUB/F` does not exist");
    insta::assert_snapshot!(house.run("FileWrite", &write(".")), @"error: `.` is a directory; use Glob to list its files");
    insta::assert_snapshot!(house.run("FileWrite", &write("sub/..")), @"error: `.` is a directory; use Glob to list its files");
}

#[test]
fn what_is_too_long_is_an_answer_and_no_more() {
    let house = House::new();
    let component = "n".repeat(256);
    insta::assert_snapshot!(house.run("FileRead", &file(&component)).replace(&component, "NAME"), @"error: cannot read `NAME`: File name too long (os error 36)");
    insta::assert_snapshot!(house.run("FileWrite", &write(&component)).replace(&component, "NAME"), @"error: cannot read `NAME`: File name too long (os error 36)");
    insta::assert_snapshot!(house.run("FileRead", &file(&"d/".repeat(2_100))), @"error: `file_path` is longer than 4095 bytes");
    // Short as it is written, too long where it leads.
    std::fs::create_dir(house.path("in/deep")).unwrap();
    house.link(format!("deep/{}", "a/".repeat(2_000)), "in/far");
    let output = house.run("FileRead", &file("far/f"));
    assert!(output.starts_with("error: `far/f` does not exist"), "{output}");
}

#[test]
fn the_systems_doors_lead_where_they_are_judged_to_lead() {
    let house = House::new();
    let run = |path: String| house.run("FileRead", &file(&path));
    let out = house.path("out/f").display().to_string();
    // Without a judgement they are links out of the directory, and refused.
    for door in ["/proc/self/root", "/proc/thread-self/root", "/proc/self/task/../root"] {
        let output = run(format!("{door}{out}"));
        assert!(
            output
                .ends_with("leads through a symbolic link to `HOUSE/out/f`; name that path itself"),
            "{output}"
        );
    }
    let held = std::fs::File::open(house.path("out/f")).unwrap();
    use std::os::fd::AsRawFd;
    for door in
        [format!("/proc/self/fd/{}", held.as_raw_fd()), format!("/dev/fd/{}", held.as_raw_fd())]
    {
        let output = run(door);
        assert!(output.contains("leads through a symbolic link"), "{output}");
    }
    let output = run("/proc/self/cwd/Cargo.toml".to_owned());
    assert!(output.contains("leads through a symbolic link"), "{output}");
    // Judged, they are what the judge saw.
    insta::assert_snapshot!(house.run_judged("FileRead", &file(&format!("/proc/self/root{out}"))), @"     1	outside");
    // A pipe has no path, so its door leads to nothing.
    let output = house.run_judged("FileRead", &file("/dev/stdin"));
    assert!(output.starts_with("error: "), "{output}");
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let house = House::new();
    let pipe = house.path("in/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(house.path("in/socket")).unwrap();
    for name in ["pipe", "socket", "/dev/zero", "/dev/tty"] {
        let read = house.run("FileRead", &file(name));
        assert_eq!(read, format!("error: `{name}` is not a regular file"));
        let written = house.run("FileWrite", &write(name));
        assert_eq!(written, format!("error: `{name}` is not a regular file"));
        let searched = house.run("Grep", &search(name));
        assert_eq!(searched, format!("error: `{name}` is neither a file nor a directory"));
        let listed = house.run("Glob", &list(name));
        assert_eq!(listed, format!("error: `{name}` is not a directory; read it with FileRead"));
    }
    insta::assert_snapshot!(house.run("Grep", &search(".")), @"sub/f:1:inside");
}

#[test]
fn names_that_are_no_text_are_walked_and_judged_through_links() {
    let house = House::new();
    let name = OsStr::from_bytes(b"caf\xe9");
    std::fs::create_dir(house.path("in").join(name)).unwrap();
    std::fs::write(house.path("in").join(name).join("f"), "inside too\n").unwrap();
    house.link(name, "in/coffee");
    insta::assert_snapshot!(house.run("FileRead", &file("coffee/f")), @"     1	inside too");
    insta::assert_snapshot!(house.run_judged("FileRead", &file("coffee/f")), @"     1	inside too");
    insta::assert_snapshot!(house.run("Grep", &search(".")), @"
    caf�/f:1:inside too
    sub/f:1:inside
    ");
}
