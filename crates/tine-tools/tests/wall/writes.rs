//! Nothing outside is written, made, removed, moved or touched. The attacks of `crates/tine/tests/attack` try the same and more on
//! the whole program; here a share of the cases is usual.

use tine_testkit::share;

use super::world::{World, changes, lacks_perl, lacks_wall, lacks_whole_wall, run};

/// Commands that change something in `@OUT` or `@HOME` when nothing holds them.
const WRITES: [&str; 37] = [
    "rm -rf @OUT/directory",
    "rm -rf @OUT/*",
    "find @OUT -delete",
    "rmdir @OUT/empty",
    "echo x > @OUT/file",
    "echo x >> @OUT/file",
    "echo x > @OUT/new",
    ": > @OUT/file",
    "exec 3<>@OUT/file; echo x >&3",
    "cd @OUT && echo x > file",
    "cd @OUT/directory; cd ..; echo x > file",
    "echo x | tee @OUT/file",
    "cp /usr/bin/true @OUT/new",
    "cp -a /usr/bin/true @OUT/directory/inner",
    "mv @OUT/file $TMPDIR/stolen || mv @OUT/file /tmp/tine-wall-stolen-$$ && rm -f /tmp/tine-wall-stolen-$$",
    "mv @OUT/file @OUT/renamed",
    "mv -T @OUT/directory @OUT/empty",
    "ln @OUT/file @OUT/link",
    "ln -s /etc/passwd @OUT/link",
    "mkdir -p @OUT/a/b",
    "mkfifo @OUT/pipe",
    "touch @OUT/new",
    "truncate -s 0 @OUT/file",
    "dd if=/dev/zero of=@OUT/file bs=1 count=1 conv=notrunc",
    "sed -i s/theirs/mine/ @OUT/file",
    "sort -o @OUT/file /etc/passwd",
    "install -m 755 /usr/bin/true @OUT/program",
    "echo x > /proc/self/root@OUT/file",
    "echo x > /proc/self/cwd/../outside/file",
    "perl -e 'open(F, \">\", \"@OUT/file\"); print F 1'",
    // An open that reads, and empties the file all the same.
    "perl -MFcntl -e 'sysopen(F, \"@OUT/file\", O_RDONLY|O_TRUNC)'",
    "perl -e 'truncate(\"@OUT/file\", 0)'",
    "perl -e 'rename(\"@OUT/file\", \"@OUT/other\")'",
    "perl -e 'unlink(\"@OUT/file\")'",
    // Two files change places: renameat2 with RENAME_EXCHANGE.
    "perl -e 'syscall(316, -100, my $a = \"@OUT/file\", -100, my $b = \"@OUT/directory\", 2)'",
    "echo 'evil' >> @HOME/.profile",
    "mkdir -p @HOME/.ssh && echo evil >> @HOME/.ssh/authorized_keys",
];

/// Commands that go through the working directory, where a worker may write.
const THROUGH: [&str; 7] = [
    "ln -s @OUT/file s && echo x > s",
    "ln -s @OUT d && echo x > d/new",
    "ln @OUT/file hard && echo x > hard",
    "mv own @OUT/moved",
    "mv @OUT/file here",
    "cp own @OUT/copy",
    "mkdir m; mv m @OUT/m; mv @OUT/directory .",
];

/// Commands that leave content and names as they are.
pub(crate) const METADATA: [&str; 9] = [
    "chmod 777 @OUT/file",
    "chmod -R go-rwx @OUT",
    "touch -d 2001-01-01 @OUT/file",
    "touch -a @OUT/file",
    "chown $(id -u):$(id -g) @OUT/file",
    "perl -e 'utime(1, 2, \"@OUT/file\")'",
    "perl -e 'chmod(0600, \"@OUT/file\")'",
    "perl -e 'open(F, \"<\", \"@OUT/file\"); chmod(0600, *F)'",
    // setxattr
    "perl -e 'syscall(188, my $p = \"@OUT/file\", my $n = \"user.x\", my $v = \"1\", 1, 0) == 0 or chmod 0, $p'",
];

/// Runs `command` in a world of its own, and says what changed outside `own`.
async fn changed(command: &str, own: &[&str], wall: &str) -> Vec<String> {
    let world = World::new();
    let place = match wall {
        "worker" => world.worker(),
        "reader" => world.reader(),
        "notes" => world.note_taker(),
        _ => world.open(),
    };
    let mut without = vec!["tmp"];
    without.extend(own);
    let before = world.look_around(&without);
    run(&place, &world.fill(command)).await;
    let changed = changes(&before, &world.look_around(&without));
    changed.iter().map(|path| path.display().to_string()).collect()
}

#[tokio::test]
async fn each_command_would_change_something() {
    if lacks_perl() {
        return;
    }
    for command in share("writes", 0, WRITES.iter().chain(&THROUGH).chain(&METADATA)) {
        assert!(!changed(command, &["work"], "none").await.is_empty(), "{command}");
    }
}

#[tokio::test]
async fn a_worker_changes_nothing_outside_its_directory() {
    if lacks_wall() {
        return;
    }
    for command in share("writes", 1, WRITES.iter().chain(&THROUGH)) {
        assert_eq!(changed(command, &["work"], "worker").await, [""; 0], "{command}");
    }
}

#[tokio::test]
async fn a_reader_changes_nothing_at_all() {
    if lacks_whole_wall() {
        return;
    }
    let own = ["rm -rf .", "echo x > own", "echo x > new", "rm own .env", "touch own", "mkdir d"];
    let writes = share("writes", 2, WRITES.iter().chain(&THROUGH).chain(&METADATA));
    for command in writes.into_iter().chain(&own) {
        assert_eq!(changed(command, &[], "reader").await, [""; 0], "{command}");
    }
}

#[tokio::test]
async fn a_note_taker_changes_its_notes_alone() {
    if lacks_whole_wall() {
        return;
    }
    let into_notes = ["ln @OUT/file @NOTES/x; echo x > @NOTES/x", "mv own @NOTES/own"];
    let writes = share("writes", 3, WRITES.iter().chain(&THROUGH).chain(&METADATA));
    for command in writes.into_iter().chain(&into_notes) {
        assert_eq!(changed(command, &["notes"], "notes").await, [""; 0], "{command}");
    }
    let world = World::new();
    let command = world.fill("echo fact > @NOTES/a && mkdir @NOTES/b && mv @NOTES/a @NOTES/b/c");
    let output = run(&world.note_taker(), &command).await;
    assert!(!output.is_error, "{}", output.text);
    assert_eq!(std::fs::read_to_string(world.path("notes/b/c")).unwrap(), "fact\n");
}

#[tokio::test]
async fn a_worker_works_in_its_directory_and_its_temporary_one() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = world.worker();
    let command = "mkdir -p a/b && echo 1 > a/b/c && mv a z && ln z/b/c hard && ln -s hard soft \
        && chmod 600 hard && touch -d 2001-01-01 soft && mkfifo p && rm own && cat soft \
        && echo 2 > $TMPDIR/t && cat $TMPDIR/t && mktemp -q && echo 3 > /dev/null && cat <(echo 4)";
    let output = run(&place, command).await;
    assert!(!output.is_error, "{}", output.text);
    assert!(world.path("work/z/b/c").exists());
    let temporary = place.enclosure().unwrap().temporary().to_owned();
    assert!(temporary.join("t").exists());
    drop(place);
    assert!(!temporary.exists(), "it goes with the run");
}

#[tokio::test]
async fn a_worker_commits_with_git() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let command = "git init -q -b main . && git config user.email a@b && git config user.name a \
        && git add own && git commit -qm first && git tag t && git checkout -qb other \
        && echo more >> own && git commit -qam second && git gc -q && git log --format=%s";
    let output = run(&world.worker(), command).await;
    assert!(output.text.starts_with("second\nfirst\n"), "{}", output.text);
}

#[tokio::test]
async fn a_refused_command_says_where_the_wall_stands() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let output = run(&world.worker(), &world.fill("echo x > @OUT/file")).await;
    let text = output.text.replace(world.path("").to_str().unwrap(), "/w/");
    insta::assert_snapshot!(text, @"
    bash: line 1: /w/outside/file: Permission denied
    [exit code 1]
    [confined: writes only below /w/work and $TMPDIR, no key stores, no network; a person allows more by --network HOST:PORT and confine.writable]
    ");
    let output = run(&world.reader(), "cat own").await;
    insta::assert_snapshot!(output.text, @"
    mine
    [exit code 0]
    ");
    let output = run(&world.reader(), "touch own").await;
    insta::assert_snapshot!(output.text, @"
    touch: cannot touch 'own': Permission denied
    [exit code 1]
    [confined: writes only below $TMPDIR, reads only of programs and the directory, without secrets, no network]
    ");
}

#[tokio::test]
async fn a_planted_repository_runs_nothing_in_any_place() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    // The same with git as the user would start it, to show that the plant works.
    let as_ever = "unset GIT_CONFIG_COUNT; git status";
    for name in ["open", "worker"] {
        let planted = world.path("work").join(name);
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(planted.join(folder)).unwrap();
        }
        std::fs::write(planted.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\n\
            fsmonitor = \"touch ran; false\"\n";
        std::fs::write(planted.join("config"), config).unwrap();
        let ran = planted.join("ran");
        // It was there before the wall, so it stays as it is.
        let place = if name == "open" { world.open() } else { world.worker() };
        run(&place, &format!("cd {name} && git status; git diff; git log")).await;
        assert!(!ran.exists(), "{name}");
        let output = run(&world.open(), &format!("cd {name} && {as_ever}")).await;
        assert!(ran.exists(), "{}", output.text);
    }
    // A repository of the usual kind is one as ever, and one that is named too.
    let usual = "mkdir usual && cd usual && git init -q . && git config core.fsmonitor 'touch ran; false' && git status \
        && git --git-dir=../open rev-parse --git-dir";
    let output = run(&world.open(), usual).await;
    assert!(!output.is_error && !world.path("work/usual/ran").exists(), "{}", output.text);
}
