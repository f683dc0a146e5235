//! `AutoMemFilter`: what may be written, and where.

use tine_guard::filter::AutoMemFilter;

use crate::support::{Home, file};

fn written(home: &Home, path: &str) -> String {
    let (filter, input) = (home.filter(), file(path));
    let write = home.said(&filter, "FileWrite", &input);
    assert_eq!(home.said(&filter, "FileEdit", &input), write, "{path}");
    write
}

#[test]
fn files_inside_the_memory_directory_are_written() {
    let home = Home::new();
    home.link(home.path("mem"), "door");
    home.link("notes", "mem/inner");
    home.link("notes/later.md", "mem/dangling");
    for path in [
        "mem/CLAUDE.md",
        "mem/a.md",
        "mem/new.md",
        "mem/deep/er/new.md",
        "mem/./notes//x",
        "mem/notes/../b.md",
        "out/../mem/b.md",
        "mem/none/../b.md",
        "door/new.md",
        "mem/inner/x",
        "mem/dangling",
        "mem/.hidden",
        "mem/ü ñ.md",
    ] {
        assert_eq!(written(&home, &home.text(path)), "allow", "{path}");
    }
}

#[test]
fn everything_else_is_refused_with_the_directory_named() {
    let home = Home::new();
    let at = |path: &str| written(&home, &home.text(path));
    insta::assert_snapshot!(at("out/a.md"), @"outside: Denied: `HOME/out/a.md` is outside the directory that may be written. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/../out/a.md"), @"outside: Denied: `HOME/mem/../out/a.md` is outside the directory that may be written. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("memory/a.md"), @"outside: Denied: `HOME/memory/a.md` is outside the directory that may be written. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("MEM/a.md"), @"outside: Denied: `HOME/MEM/a.md` is outside the directory that may be written. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem"), @"target: Denied: `HOME/mem` is the directory itself. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/."), @"target: Denied: `HOME/mem/.` is the directory itself. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/notes"), @"target: Denied: `HOME/mem/notes` is a directory. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/new/"), @"target: Denied: `HOME/mem/new/` names a directory. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/a.md/x"), @"target: Denied: `HOME/mem/a.md/x` goes on below a file, which is no directory. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/.git/hooks/pre-commit"), @"target: Denied: `HOME/mem/.git/hooks/pre-commit` decides what other programs run. Write only files inside `HOME/mem`; give absolute paths.");
    for path in
        ["HEAD", "bare/refs/heads/main", "x.git/config", ".vscode/tasks.json", "Makefile", ".npmrc"]
    {
        let said = at(&format!("mem/{path}"));
        assert!(said.contains("decides what other programs run"), "{path}: {said}");
    }
    for path in ["/proc/self/cwd/a.md", "/proc/1/root/x", "/dev/fd/3", "/tmp/../proc/self/cwd/x"] {
        assert!(written(&home, path).contains("leads through a process"), "{path}");
    }
    insta::assert_snapshot!(written(&home, "/proc/self/root/etc/passwd"), @"outside: Denied: `/proc/self/root/etc/passwd` leads through a process, and so elsewhere for each of them. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(written(&home, "mem/a.md"), @"arguments: Denied: `mem/a.md` is not an absolute path. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(written(&home, "~/a.md"), @"arguments: Denied: `~/a.md` is not an absolute path. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(written(&home, ""), @"arguments: Denied: `file_path` is empty. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(written(&home, " "), @"arguments: Denied: `file_path` is empty. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(written(&home, "/etc/passwd\0.md"), @"arguments: Denied: `file_path` holds a NUL character. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(written(&home, &format!("file://{}", home.text("mem/a.md"))), @"arguments: Denied: `file://HOME/mem/a.md` is not an absolute path. Write only files inside `HOME/mem`; give absolute paths.");
    assert!(at(&format!("mem/{}", "n".repeat(256))).starts_with("target: "));
    assert!(at(&format!("mem/{}", "d/".repeat(2_100))).starts_with("target: "));
}

#[test]
fn links_are_judged_by_where_they_lead() {
    let home = Home::new();
    home.link("../out", "mem/door");
    home.link("../out/a.md", "mem/file");
    home.link("../out/later", "mem/dangling");
    home.link("loop", "mem/loop");
    home.link("/", "mem/top");
    std::fs::create_dir(home.path("out/sub")).unwrap();
    home.link("../out/sub", "mem/deep");
    std::fs::hard_link(home.path("out/a.md"), home.path("mem/hard")).unwrap();
    let at = |path: &str| written(&home, &home.text(path));
    insta::assert_snapshot!(at("mem/door/x"), @"outside: Denied: `HOME/mem/door/x` leads outside, to `HOME/out/x`. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/file"), @"outside: Denied: `HOME/mem/file` leads outside, to `HOME/out/a.md`. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/dangling"), @"outside: Denied: `HOME/mem/dangling` leads outside, to `HOME/out/later`. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/loop/x"), @"outside: Denied: `HOME/mem/loop/x` leads through too many symbolic links. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/top/etc/x"), @"outside: Denied: `HOME/mem/top/etc/x` leads outside, to `/etc/x`. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/deep/../x"), @"outside: Denied: `HOME/mem/deep/../x` has `..` behind a symbolic link, which can mean two places. Write only files inside `HOME/mem`; give absolute paths.");
    insta::assert_snapshot!(at("mem/hard"), @"target: Denied: `HOME/mem/hard` has another name (a hard link), which may be anywhere. Write only files inside `HOME/mem`; give absolute paths.");
}

#[test]
fn special_files_are_refused() {
    let home = Home::new();
    let _socket = std::os::unix::net::UnixListener::bind(home.path("mem/socket")).unwrap();
    insta::assert_snapshot!(written(&home, &home.text("mem/socket")), @"target: Denied: `HOME/mem/socket` is not a plain file. Write only files inside `HOME/mem`; give absolute paths.");
}

#[test]
fn a_directory_that_is_swapped_is_no_longer_the_one_that_was_named() {
    let home = Home::new();
    let filter = home.filter();
    let write = || home.said(&filter, "FileWrite", &file(&home.text("mem/a.md")));
    std::fs::rename(home.path("mem"), home.path("kept")).unwrap();
    insta::assert_snapshot!(write(), @"directory_gone: Denied: the directory `HOME/mem` is not there any more, or is another one now. Nothing can be written in this run; report what you would have written.");
    std::fs::create_dir(home.path("mem")).unwrap();
    assert!(write().starts_with("directory_gone: "));
    std::fs::remove_dir(home.path("mem")).unwrap();
    home.link("out", "mem");
    assert!(write().starts_with("directory_gone: "));
    std::fs::remove_file(home.path("mem")).unwrap();
    std::fs::rename(home.path("kept"), home.path("mem")).unwrap();
    assert_eq!(write(), "allow");
}

#[test]
fn a_filter_is_made_only_for_a_directory_that_is_there() {
    let home = Home::new();
    home.link("mem", "door");
    home.link("none", "dangling");
    let made = |path: &str| {
        let said = match AutoMemFilter::new(path) {
            Ok(filter) => filter.memory_dir().to_string_lossy().into_owned(),
            Err(error) => format!("error: {error}"),
        };
        said.replace(&home.text(""), "HOME/").replace('\0', "NUL")
    };
    insta::assert_snapshot!(made(&home.text("mem/")), @"HOME/mem");
    insta::assert_snapshot!(made(&home.text("door")), @"HOME/mem");
    insta::assert_snapshot!(made(&home.text("dangling")), @"error: cannot use the directory `HOME/dangling`");
    insta::assert_snapshot!(made(&home.text("none")), @"error: cannot use the directory `HOME/none`");
    insta::assert_snapshot!(made(&home.text("mem/a.md")), @"error: `HOME/mem/a.md` is not a directory");
    insta::assert_snapshot!(made("mem"), @"error: `mem` is not an absolute path");
    insta::assert_snapshot!(made(""), @"error: `` is not an absolute path");
    insta::assert_snapshot!(made("/"), @"error: `/` is the whole file system");
    insta::assert_snapshot!(made("/a\0b"), @"error: cannot use the directory `/aNULb`");
}
