//! Bundles that are damaged, or were made to do damage, are refused and leave nothing.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tine_worktree::{Commit, Name, Start};

use crate::support::{Home, git};
use crate::travel::{Away, name, pack};

/// Somebody who makes bundles by hand.
struct Sender {
    home: Home,
}

impl Sender {
    fn new() -> Self {
        Self { home: Home::new() }
    }

    #[expect(clippy::disallowed_methods, reason = "git makes what is to be refused")]
    fn fed(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = Command::new("git")
            .args(arguments)
            .current_dir(self.home.top())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A directory with whatever names; git checks none of them.
    fn tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, object) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            let digits = object.as_bytes().chunks(2);
            let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16);
            bytes.extend(digits.map(|two| byte(two).unwrap()));
        }
        self.fed(&["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &bytes)
    }

    fn blob(&self, text: &str) -> String {
        self.fed(&["hash-object", "-w", "--stdin"], text.as_bytes())
    }

    fn commit(&self, tree: &str, parents: &[&str], message: &str) -> String {
        let parents = parents.iter().flat_map(|parent| ["-p", *parent]);
        let arguments: Vec<&str> = ["commit-tree", tree].into_iter().chain(parents).collect();
        let who = ["-c", "user.name=E", "-c", "user.email=e@e"];
        self.fed(&[&who[..], &arguments[..], &["-F", "-"]].concat(), message.as_bytes())
    }

    /// The bundle of a state with these files, and with facts about files of this text.
    fn bundle(&self, work: &str, note: Option<&str>) -> (PathBuf, Commit) {
        let base = self.home.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let index = self.commit(work, &[&base], "index");
        let exact = note.map(|note| {
            let text = format!("tine: every file as bytes\n\nversion 1\n{note}\nend\n");
            self.commit(work, &[&base], &text)
        });
        let parents: Vec<&str> =
            [base.as_str(), &index].into_iter().chain(exact.as_deref()).collect();
        let work = self.commit(work, &parents, "work");
        let carrier = self.commit(&self.tree(&[]), &[&work], "carrier");
        (self.named("refs/tine/child/sent", &carrier), Commit::parse(&carrier).unwrap())
    }

    fn named(&self, reference: &str, carrier: &str) -> PathBuf {
        let file = self.home.path().join("evil");
        self.home.git(&["update-ref", reference, carrier]);
        self.home.git(&["bundle", "create", "--quiet", file.to_str().unwrap(), reference]);
        file
    }
}

/// Everything that a repository has, by name.
fn all(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            all(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Returns the error of a bundle that is refused; nothing of it is left.
fn refused(sender: &Sender, bundle: &Path, carrier: &Commit) -> String {
    let away = Away::new();
    let cache = away.cache(&sender.home.repository(), carrier);
    let there = || {
        let mut found = Vec::new();
        all(&away.root(), &mut found);
        found.sort();
        found
    };
    let before = there();
    let error = cache.repository().arrive(&name(), bundle, carrier).unwrap_err();
    assert_eq!(there(), before, "{error}");
    error.to_string()
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let sender = Sender::new();
    let blob = sender.blob("x");
    let hook = sender.tree(&[("100755", "x", &blob)]);
    let hooks = sender.tree(&[("40000", "hooks", &hook)]);
    let link = sender.blob("/tmp");
    let cases = [
        ("hasDotgit", sender.tree(&[("40000", ".git", &hooks)])),
        ("hasDotgit", sender.tree(&[("40000", ".GIT", &hooks)])),
        ("hasDotdot", sender.tree(&[("40000", "..", &hook)])),
        ("fullPathname", sender.tree(&[("100644", "../x", &blob)])),
        ("duplicateEntries", sender.tree(&[("120000", "a", &link), ("40000", "a", &hook)])),
    ];
    for (why, tree) in cases {
        let (bundle, carrier) = sender.bundle(&tree, None);
        let said = refused(&sender, &bundle, &carrier);
        assert!(said.starts_with("the bundle is refused: ") && said.contains(why), "{why}: {said}");
    }
}

#[test]
fn facts_about_files_that_lead_elsewhere_are_refused() {
    let sender = Sender::new();
    let link = sender.blob("/tmp");
    let tree = sender.tree(&[("120000", "link", &link)]);
    let said = |note: &str| {
        let (bundle, carrier) = sender.bundle(&tree, Some(note));
        refused(&sender, &bundle, &carrier)
    };
    let elsewhere = |path: &str| {
        format!("the bundle is refused: `{path}` in it would be written where it does not belong")
    };
    assert_eq!(said("pipe 644 link/pipe"), elsewhere("link/pipe"));
    assert_eq!(said("link x link/.git"), elsewhere("link/.git"));
    assert_eq!(said("link x sub/.git/config"), elsewhere("sub/.git/config"));
    assert_eq!(said("link x other"), elsewhere("other"));
    assert_eq!(said("pipe 644 .git/pipe"), elsewhere(".git/pipe"));
    let owner = "the bundle is refused: a file in it would run as its owner";
    assert_eq!(said("mode 4755 link"), owner);
    assert_eq!(said("usual 2644 755"), owner);
}

#[test]
fn damaged_bundles_and_those_of_something_else_are_refused() {
    let sender = Sender::new();
    let file = sender.blob("some text");
    let tree = sender.tree(&[("100644", "a", &file)]);
    let (bundle, carrier) = sender.bundle(&tree, None);
    let bytes = fs::read(&bundle).unwrap();
    let with = |bytes: &[u8]| {
        fs::write(&bundle, bytes).unwrap();
        refused(&sender, &bundle, &carrier)
    };
    let is_refused = |said: &str| assert!(said.starts_with("the bundle is refused: "), "{said}");
    is_refused(&with(&bytes[..bytes.len() - 30]));
    is_refused(&with(&bytes[..100]));
    is_refused(&with(b""));
    for at in [bytes.len() / 2, bytes.len() * 3 / 4, bytes.len() - 5] {
        let mut other = bytes.clone();
        other[at] ^= 0x55;
        is_refused(&with(&other));
    }
    // The commit that it is for is only named, and not in it.
    let other = "1".repeat(40);
    let text = String::from_utf8_lossy(&bytes[..100]).into_owned();
    let named = text.find(carrier.as_str()).unwrap();
    let mut wrong = bytes.clone();
    wrong[named..named + 40].copy_from_slice(other.as_bytes());
    assert_eq!(with(&wrong), "the bundle is refused: it is for another state");
    fs::write(&bundle, &wrong).unwrap();
    is_refused(&refused(&sender, &bundle, &Commit::parse(&other).unwrap()));

    let branch = sender.named("refs/heads/main2", carrier.as_str());
    assert_eq!(
        refused(&sender, &branch, &carrier),
        "the bundle is refused: it is for the ref `refs/heads/main2`"
    );
    let both = ["bundle", "create", "--quiet", branch.to_str().unwrap(), "--all"];
    sender.home.git(&both);
    assert_eq!(
        refused(&sender, &branch, &carrier),
        "the bundle is refused: it is for more refs than one, or for none"
    );
    let link = bundle.with_file_name("link");
    std::os::unix::fs::symlink(&bundle, &link).unwrap();
    assert!(refused(&sender, &link, &carrier).starts_with("cannot read"));
}

#[test]
fn a_commit_that_carries_no_state_is_refused() {
    let sender = Sender::new();
    let head = sender.home.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let bundle = sender.named("refs/tine/child/sent", &head);
    let said = refused(&sender, &bundle, &Commit::parse(&head).unwrap());
    assert_eq!(said, "the bundle is refused: its commit carries no state");
    let alone = sender.commit(&sender.tree(&[]), &[&head], "carrier");
    let bundle = sender.named("refs/tine/child/sent", &alone);
    let said = refused(&sender, &bundle, &Commit::parse(&alone).unwrap());
    assert!(said.starts_with("the bundle is refused: "), "{said}");
}

/// Neither hooks nor filters of the receiver's run.
#[test]
fn nothing_of_the_receivers_settings_runs() {
    let sender = Sender::new();
    let child = sender.home.fork("child", Start::State).unwrap();
    let bundle = sender.home.path().join("bundle");
    let packed = pack(&child, &bundle, &[]).unwrap();
    let away = Away::new();
    let cache = away.cache(&sender.home.repository(), &packed.carrier);
    let (top, mark) = (cache.repository().top().to_owned(), away.root().join("ran"));
    let hooks = top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        let file = hooks.join(hook);
        fs::write(&file, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&file, mode).unwrap();
    }
    let came = cache.repository().arrive(&name(), &bundle, &packed.carrier).unwrap();
    cache.repository().hold_arrived(&name(), &came).unwrap();
    let place = away.root().join("worktree");
    cache.repository().recover(&name(), place.clone(), crate::support::NOW_MS).unwrap();
    assert!(!mark.exists());
    assert_eq!(git(&place, &["status", "--porcelain"]), "");
    assert!(Name::new("child").is_ok());
}
