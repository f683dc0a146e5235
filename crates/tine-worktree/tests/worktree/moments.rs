//! What happens at the same time: files that change, others that fork, disks that are full or elsewhere.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tine_testkit::{not_run, test_name};
use tine_worktree::{Name, Repository, Start};

use crate::exact::lfs;
use crate::support::{Home, NOW_MS, exactly, git, held, try_git, untouched};

/// Nothing of a worktree is there, and the parent is as it was.
fn nothing_is_left(home: &Home, before: &str) {
    assert_eq!(untouched(&home.top()), before);
    assert_eq!(home.repository().worktrees().unwrap(), []);
    assert_eq!(home.repository().kept_refs().unwrap(), []);
    assert!(!home.path().join("worktrees/child").exists());
    assert_eq!(
        git(&home.top(), &["worktree", "list", "--porcelain"]).matches("worktree ").count(),
        1
    );
}

fn set_time(file: &Path, time: SystemTime) {
    File::open(file).unwrap().set_modified(time).unwrap();
}

/// A file that was staged and changed within one tick of the clock, as git knows it: by the time of the index.
fn changed_in_the_same_moment(top: &Path, index: &Path) {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    git(top, &["config", "core.trustctime", "false"]);
    fs::write(top.join("a.txt"), "aaaa").unwrap();
    set_time(&top.join("a.txt"), moment);
    git(top, &["add", "a.txt"]);
    fs::write(top.join("a.txt"), "bbbb").unwrap();
    set_time(&top.join("a.txt"), moment);
    set_time(index, moment);
}

#[test]
fn a_change_in_the_moment_of_its_staging_is_seen() {
    let home = Home::new();
    changed_in_the_same_moment(&home.top(), &home.top().join(".git/index"));
    let before = untouched(&home.top());
    let child = home.fork("child", Start::State).unwrap();
    assert_eq!(untouched(&home.top()), before);
    assert_eq!(exactly(child.repository().top()), exactly(&home.top()));
    let (top, index) =
        (child.repository().top().to_owned(), child.repository().git_dir().join("index"));
    changed_in_the_same_moment(&top, &index);
    fs::write(top.join("a.txt"), "cccc").unwrap();
    set_time(&top.join("a.txt"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let was = held(&top);
    child.remove(NOW_MS).unwrap();
    let name = Name::new("child").unwrap();
    home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!(held(&top), was);
    assert_eq!(fs::read_to_string(top.join("a.txt")).unwrap(), "cccc");
}

/// A file that grows whenever git looks at its content, `most` times: with that, somebody changes it while it is copied.
fn growing(home: &Home, most: u32) {
    let (folder, script) = (lfs(home), home.top().join("grow.sh"));
    let (count, live) = (folder.join("count"), folder.join("live"));
    let text = format!(
        "cat\necho x >> '{0}'\ntest $(wc -l < '{0}') -gt {most} || echo more >> '{1}'\n",
        count.display(),
        live.display()
    );
    fs::write(&script, text).unwrap();
    home.write(".gitattributes", "*.live filter=live\n");
    home.git(&["config", "filter.live.clean", &format!("sh '{}'", script.display())]);
    home.write("log.live", "begin\n");
    // By another name it lies where the program of a filter may write.
    fs::hard_link(home.top().join("log.live"), live).unwrap();
}

#[test]
fn files_that_change_while_they_are_copied_are_copied_again() {
    let home = Home::new();
    growing(&home, 1);
    let child = home.fork("child", Start::State).unwrap();
    assert_eq!(
        fs::read_to_string(child.repository().top().join("log.live")).unwrap(),
        "begin\nmore\n"
    );
    assert_eq!(exactly(child.repository().top()), exactly(&home.top()));
}

#[test]
fn files_that_change_all_the_time_are_named_and_nothing_is_left() {
    let home = Home::new();
    growing(&home, 1000);
    let before = untouched(&home.top());
    let error = home.fork("child", Start::State).unwrap_err();
    assert_eq!(error.to_string(), "files change while they are copied: log.live");
    let without = |text: &str| {
        text.lines().filter(|line| !line.starts_with("log.live")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without(&untouched(&home.top())), without(&before));
    nothing_is_left(&home, &untouched(&home.top()));
}

#[test]
fn what_is_no_file_any_more_is_named_and_nothing_is_left() {
    let home = Home::new();
    fs::remove_file(home.top().join("a.txt")).unwrap();
    let fifo = home.top().join("a.txt");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    let error = home.fork("child", Start::State).unwrap_err().to_string();
    fs::remove_file(&fifo).unwrap();
    assert!(error.contains("a.txt"), "{error}");
    nothing_is_left(&home, &untouched(&home.top()));
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_left() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.write("secret.txt", "secret\n");
    let file = home.top().join("secret.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may read everything has nothing that cannot be read.
    let expected = File::open(&file).is_ok();
    if expected {
        println!("the refusal is not tested: this user may read everything");
    }
    let result = home.fork("child", Start::State);
    assert_eq!(result.is_ok(), expected);
    if let Err(error) = result {
        assert!(error.to_string().contains("secret.txt"), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        nothing_is_left(&home, &untouched(&home.top()));
    }
}

/// Tells a test in a process of its own what to fork: the checkout, a colon, the name.
const FORK: &str = "TINE_WORKTREE_TEST_FORK";

/// This program, told to fork.
#[expect(clippy::disallowed_methods, reason = "another process is what is tested")]
fn other_process(home: &Home, name: &str, before: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let script = format!("{before} exec \"$0\" --exact moments::forks_that_are_made_elsewhere");
    command.args(["-c", &script]).arg(this);
    command.env(FORK, format!("{}:{name}", home.top().display()));
    command
}

#[test]
fn forks_that_are_made_elsewhere() {
    let Some(order) = std::env::var_os(FORK) else { return };
    let order = order.into_string().unwrap();
    let (top, name) = order.rsplit_once(':').unwrap();
    let path = Path::new(top).parent().unwrap().join("worktrees").join(name);
    let (name, start) = (Name::new(name).unwrap(), Start::State);
    let new = tine_worktree::NewWorktree { name, path, start, now_ms: NOW_MS };
    if let Err(error) = Repository::at(Path::new(top)).unwrap().fork(&new) {
        panic!("{error}");
    }
}

#[test]
fn two_processes_fork_one_checkout_at_the_same_time() {
    let home = Home::new();
    home.write("new.txt", "new\n");
    let before = untouched(&home.top());
    let names = ["a", "b", "c", "same", "same", "same"];
    let children = names.map(|name| {
        let mut command = other_process(&home, name, "");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    let ended = children.map(|mut child| child.wait().unwrap().success());
    assert_eq!(untouched(&home.top()), before);
    assert_eq!(ended[..3], [true; 3]);
    assert_eq!(ended[3..].iter().filter(|ended| **ended).count(), 1, "one of a name");
    assert_eq!(home.repository().worktrees().unwrap().len(), 4);
    for name in &names[..4] {
        let worktree =
            home.repository().worktree(&Name::new(name).unwrap(), &home.place(name)).unwrap();
        assert_eq!(exactly(worktree.repository().top()), exactly(&home.top()), "{name}");
    }
}

#[test]
fn a_disk_without_room_is_named_and_nothing_is_left() {
    let home = Home::new();
    // Git writes it packed; the copy is the first that is too large.
    home.write("large.bin", vec![0; 1 << 20]);
    let before = untouched(&home.top());
    let output = other_process(&home, "child", "trap '' XFSZ; ulimit -f 100;").output().unwrap();
    assert!(!output.status.success());
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("cannot copy") && said.contains("large.bin"), "{} {said}", output.status);
    nothing_is_left(&home, &before);
}

/// A directory on another file system than this one. `None`, said out loud, where there is no other.
pub(crate) fn elsewhere(here: &Path) -> Option<TempDir> {
    let device = |folder: &Path| fs::metadata(folder).map(|about| about.dev()).ok();
    let others = ["/dev/shm", "/var/tmp", "/tmp", env!("CARGO_TARGET_TMPDIR")].map(Path::new);
    let mut others = others.into_iter().filter(|other| device(other) != device(here));
    let found = others.find_map(|other| tempfile::tempdir_in(other).ok());
    if found.is_none() {
        not_run("second-file-system", &test_name(), "nothing can be written on another one");
    }
    found
}

#[test]
fn another_file_system_is_as_good() {
    let home = Home::new();
    home.write("new.txt", "new\n");
    let Some(folder) = elsewhere(&home.path()) else { return };
    let mut new = home.new_worktree("child", Start::State);
    new.path = folder.path().join("child");
    let child = home.repository().fork(&new).unwrap();
    assert_eq!(exactly(child.repository().top()), exactly(&home.top()));
    assert!(try_git(&home.top(), &["worktree", "list"]).0);
    child.remove(NOW_MS).unwrap();
    assert!(!new.path.exists());
}
