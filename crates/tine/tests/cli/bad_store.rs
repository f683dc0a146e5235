//! Databases, directories and disks that cannot be used.

use crate::support::{Home, Ran};

/// A home whose database is damaged by `change`.
fn damaged(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let home = Home::new();
    home.import("sim/echo", "base", 2);
    let path = home.path().join("tine.db");
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    // What the last commits left beside the file would hide the damage.
    for beside in ["tine.db-wal", "tine.db-shm"] {
        let _ = std::fs::remove_file(home.path().join(beside));
    }
    std::fs::write(&path, bytes).unwrap();
    home.shown(&home.ran(&["ps"]))
}

#[test]
fn a_database_of_a_newer_version() {
    // The user version of a SQLite file: four bytes at 60, the largest first.
    check!(damaged(|bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes())), @"
    code: 1
    --- stdout
    --- stderr
    error: `[HOME]/tine.db` has schema version 99, this program knows versions up to 10
    hint: a newer tine wrote this database; use that version, or set TINE_HOME to another directory
    ");
}

#[test]
fn a_database_that_is_none() {
    check!(damaged(|bytes| bytes.fill(b'x')), @r"
    code: 1
    --- stdout
    --- stderr
    error: `[HOME]/tine.db` is damaged: error returned from database: (code: 26) file is not a database
    hint: move the file away and restore a backup, or set TINE_HOME to another directory
    ");
    check!(damaged(|bytes| bytes.truncate(2048)), @r"
    code: 1
    --- stdout
    --- stderr
    error: `[HOME]/tine.db` is damaged: error returned from database: (code: 11) database disk image is malformed
    hint: move the file away and restore a backup, or set TINE_HOME to another directory
    ");
}

#[test]
fn a_directory_that_cannot_be_used() {
    let home = Home::new();
    let at = |place: &str| home.shown(&Ran::of(home.tine(&["ps"]).env("TINE_HOME", place)));
    // No user may make files there, not even root.
    check!(at("/proc/none"), @r"
    code: 1
    --- stdout
    --- stderr
    error: cannot use `/proc/none`: No such file or directory (os error 2)
    hint: check the disk and the path, or set TINE_HOME to another directory
    ");
    let file = home.write("file", "");
    check!(at(file.to_str().unwrap()), @r"
    code: 1
    --- stdout
    --- stderr
    error: cannot use `[HOME]/file`: File exists (os error 17)
    hint: check the disk and the path, or set TINE_HOME to another directory
    ");
    check!(home.shown(&home.ran(&["-C", "none", "ps"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot work in none: No such file or directory (os error 2)
    hint: -C takes the directory to work in
    ");
}

/// A disk of a megabyte, which any user may have in a name space of their own.
const SMALL_DISK: &str = r#"
mkdir "$TINE_HOME/disk" && mount -t tmpfs -o size=1m none "$TINE_HOME/disk" && echo mounted || exit 0
export TINE_HOME="$TINE_HOME/disk"
"$TINE" import ../small.json --model sim/echo --name small >&2
"$TINE" import ../large.json --model sim/echo
echo "code: $?"
"$TINE" show small --json | grep -c '"name":"small"'
"#;

#[test]
fn a_full_disk() {
    let home = Home::new();
    home.write("small.json", r#"{"role":"user","content":"hi"}"#);
    let large: String = (0..200_000)
        .map(|number: u32| format!("{:x} ", number.wrapping_mul(2_654_435_769)))
        .collect();
    home.write("large.json", &format!(r#"{{"role":"user","content":"{large}"}}"#));
    let mut unshare = assert_cmd::Command::new("unshare");
    unshare.args(["-rm", "bash", "-c", SMALL_DISK]).current_dir(home.work());
    unshare.env("TINE_HOME", home.path()).env("TINE", env!("CARGO_BIN_EXE_tine"));
    let Ok(output) = unshare.output() else {
        eprintln!("NOT RUN: there is no `unshare` here, so no disk can be filled");
        return;
    };
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    if !stdout.starts_with("mounted") {
        eprintln!("NOT RUN: this system lets no user mount a disk of their own: {stderr}");
        return;
    }
    check!(home.masked(&format!("{stdout}--- stderr\n{stderr}")), @r#"
    mounted
    code: 1
    1
    --- stderr
    [AGENT8] has 1 message
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    error: no space is left for `[HOME]/disk/tine.db`
    hint: free some space and run the command again; everything acknowledged so far is kept
    "#);
}

#[test]
fn a_file_that_may_not_grow() {
    let home = Home::new();
    home.import("sim/echo", "base", 2);
    home.write("large.json", &format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400_000)));
    // The signal that comes with the limit is ignored: only the error matters.
    let script = format!(
        "trap '' XFSZ; ulimit -f 200; TINE_HOME='{}' '{}' import ../large.json --model sim/echo",
        home.path().display(),
        env!("CARGO_BIN_EXE_tine")
    );
    let mut bash = assert_cmd::Command::new("bash");
    let ran = Ran::of(bash.current_dir(home.work()).args(["-c", &script]));
    check!(home.shown(&ran), @r"
    code: 1
    --- stdout
    --- stderr
    error: cannot use `[HOME]/tine.db`: error returned from database: (code: 778) disk I/O error
    hint: check the disk and the path, or set TINE_HOME to another directory
    ");
    // What was there before still is, and nothing else.
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
}
