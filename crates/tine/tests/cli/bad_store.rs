//! Databases, directories and disks that cannot be used.

use tine_testkit::{Ability, lacks, not_run, test_name};

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
    error: `[HOME]/tine.db` has schema version 99, this program knows versions up to 18
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
    hint: move the file and those beside it away, and tine makes a new one; `sqlite3 FILE .recover` saves what can still be read
    ");
    check!(damaged(|bytes| bytes.truncate(2048)), @r"
    code: 1
    --- stdout
    --- stderr
    error: `[HOME]/tine.db` is damaged: error returned from database: (code: 11) database disk image is malformed
    hint: move the file and those beside it away, and tine makes a new one; `sqlite3 FILE .recover` saves what can still be read
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

/// Runs a script in name spaces of its own, where any user may mount. `None`, said out loud, where that cannot be.
fn with_mounts(home: &Home, script: &str) -> Option<String> {
    if lacks(Ability::Mounts, &test_name()) {
        return None;
    }
    let mut unshare = assert_cmd::Command::new("unshare");
    unshare.args(["-rm", "bash", "-c", script]).current_dir(home.work());
    unshare.env("TINE_HOME", home.path()).env("TINE", env!("CARGO_BIN_EXE_tine"));
    let output = unshare.output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    Some(home.masked(&format!("{stdout}--- stderr\n{stderr}")))
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
    let Some(said) = with_mounts(&home, SMALL_DISK) else { return };
    check!(said, @r#"
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

/// A command of the agent's own fills the disk; then somebody makes room.
const FULL_IN_MID_RUN: &str = r#"
mkdir "$TINE_HOME/disk" && mount -t tmpfs -o size=2m none "$TINE_HOME/disk" && echo mounted || exit 0
export TINE_HOME="$TINE_HOME/disk" FILL="$TINE_HOME/disk/fill"
"$TINE" run -q --model sim/../case.toml --allow Bash -n full "fill the disk"
echo "run: $?"
"$TINE" ps --json | grep -o '"state":"[a-z]*"'
"$TINE" show full --json | grep -o '"name":"Bash"'
rm "$FILL"
"$TINE" run -q --resume full "go on"
echo "resumed: $?"
"$TINE" show full | grep -c "fill the disk"
"#;

#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_run() {
    let home = Home::new();
    home.write(
        "case.toml",
        r#"
        name = "fills"
        [[turn]]
        when = { user_contains = "fill the disk", tool_results = 0 }
        tool_calls = [{ name = "Bash", input = { command = "cat /dev/zero > $FILL; seq 9000" } }]
        [[turn]]
        text = "There is room again."
        "#,
    );
    let Some(said) = with_mounts(&home, FULL_IN_MID_RUN) else { return };
    check!(said, @r#"
    mounted
    run: 1
    "state":"running"
    "name":"Bash"
    There is room again.
    resumed: 0
    1
    --- stderr
    error: no space is left for `[HOME]/disk/tine.db`
    hint: free some space and run the command again; everything acknowledged so far is kept
    note: an agent shown as running may be dead: no space is left for `[HOME]/disk/tine.db`
    note: an agent shown as running may be dead: no space is left for `[HOME]/disk/tine.db`
    "#);
}

/// Reads and writes where nothing may be written.
const READ_AND_WRITE: &str = r#"
"$TINE" ps --json | grep -o '"name":"small"'
"$TINE" tree | grep -c small
"$TINE" show small | grep -c hi
set -o pipefail
"$TINE" run -q --resume small "more" 2>&1 | sed 's/process-[0-9]*/process-[PID]/'
echo "run: $?"
"$TINE" send small "more"
echo "send: $?"
"#;

#[test]
fn a_disk_that_is_mounted_to_be_read() {
    let home = Home::new();
    home.write("small.json", r#"{"role":"user","content":"hi"}"#);
    let mount = r#"
mkdir "$TINE_HOME/disk" && mount -t tmpfs none "$TINE_HOME/disk" && echo mounted || exit 0
export TINE_HOME="$TINE_HOME/disk"
"$TINE" import ../small.json --model sim/echo --name small > /dev/null 2>&1
mount -o remount,bind,ro "$TINE_HOME"
"#;
    let Some(said) = with_mounts(&home, &format!("{mount}{READ_AND_WRITE}")) else { return };
    check!(said, @r#"
    mounted
    "name":"small"
    1
    1
    error: cannot lock `[HOME]/disk/run/process-[PID]-[AGENT8].lock`: Read-only file system (os error 30)
    hint: make the directory writable, or set TINE_HOME to a directory that is
    run: 1
    send: 1
    --- stderr
    error: `[HOME]/disk/tine.db` is read-only
    hint: make the directory and the file writable, or set TINE_HOME to a directory that is
    "#);
}

#[test]
fn a_directory_in_which_nothing_may_be_written() {
    let home = Home::new();
    home.write("small.json", r#"{"role":"user","content":"hi"}"#);
    home.done(&["import", "../small.json", "--model", "sim/echo", "--name", "small"]);
    let ordinary = "--reuid=65534 --regid=65534 --clear-groups";
    let script = format!(
        r#"
chmod -R a+rX,a-w "$TINE_HOME"
if [ "$(id -u)" = 0 ]; then as="setpriv {ordinary}"; else as=; fi
$as test ! -w "$TINE_HOME" && $as "$TINE" --version > /dev/null && echo refused || exit 0
TINE="run_it"
run_it() {{ $as "$0" "$@"; }}
{READ_AND_WRITE}"#
    );
    let mut bash = assert_cmd::Command::new("bash");
    bash.args(["-c", &script, env!("CARGO_BIN_EXE_tine")]).current_dir(home.work());
    bash.env("TINE_HOME", home.path()).env("TINE", env!("CARGO_BIN_EXE_tine"));
    let ran = Ran::of(&mut bash);
    assert_cmd::Command::new("chmod").arg("-R").arg("u+w").arg(home.path()).assert().success();
    if !ran.stdout.starts_with("refused") {
        let why = format!("permission bits hold nobody back: {}", ran.stderr.trim());
        not_run("unprivileged", &test_name(), &why);
        return;
    }
    check!(home.shown(&ran), @r#"
    code: 0
    --- stdout
    refused
    "name":"small"
    1
    1
    error: cannot lock `[HOME]/run/process-[PID]-[AGENT8].lock`: Permission denied (os error 13)
    hint: make the directory writable, or set TINE_HOME to a directory that is
    run: 1
    send: 1
    --- stderr
    error: `[HOME]/tine.db` is read-only
    hint: make the directory and the file writable, or set TINE_HOME to a directory that is
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
