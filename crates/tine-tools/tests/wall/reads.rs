//! No secret is read.

use std::path::Path;

use tine_tools::Wall;

use super::world::{SECRET, World, lacks_perl, lacks_wall, lacks_whole_wall, run};

/// Commands that print a key of the home when nothing holds them.
const KEYS: [&str; 14] = [
    "cat @HOME/.config/Code/User/globalStorage/state",
    "cat @HOME/.claude/history.jsonl",
    "cat @HOME/.ssh/id_rsa",
    "cat ~/.ssh/id_rsa",
    "cat < @HOME/.ssh/id_rsa",
    "cd @HOME/.ssh; cat *",
    "cat @HOME/.config/gh/hosts.yml",
    "cat @HOME/.cargo/credentials.toml",
    "cat /proc/self/root@HOME/.ssh/id_rsa",
    "ln -s @HOME/.ssh/id_rsa ${TMPDIR:-/tmp}/tine-wall-$$; cat ${TMPDIR:-/tmp}/tine-wall-$$; rm ${TMPDIR:-/tmp}/tine-wall-$$",
    "cp -r @HOME/.ssh ${TMPDIR:-/tmp}/tine-wall-$$; cat ${TMPDIR:-/tmp}/tine-wall-$$/*; rm -r ${TMPDIR:-/tmp}/tine-wall-$$",
    "ln @HOME/.ssh/id_rsa @HOME/.ssh/other; cat @HOME/.ssh/other",
    "grep -r secret @HOME",
    "perl -ne print @HOME/.ssh/id_rsa",
];

/// Commands that print a secret of the working directory.
const OWN: [&str; 3] = ["cat .env", "grep -r secret .", "ln .env x; cat x; cat .e*"];

#[tokio::test]
async fn each_command_would_print_a_secret() {
    if lacks_perl() {
        return;
    }
    for command in KEYS.iter().chain(&OWN) {
        let world = World::new();
        let command = format!("export HOME=@HOME; {command}");
        let output = run(&world.open(), &world.fill(&command)).await;
        assert!(output.text.contains(SECRET), "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn nobody_behind_a_wall_reads_a_key() {
    if lacks_whole_wall() {
        return;
    }
    for command in KEYS {
        let world = World::new();
        for place in [world.worker(), world.reader(), world.note_taker()] {
            let output = run(&place, &world.fill(command)).await;
            assert!(!output.text.contains(SECRET), "{command}: {}", output.text);
        }
    }
}

#[tokio::test]
async fn maintenance_reads_no_secret_of_the_directory_and_all_the_rest() {
    if lacks_whole_wall() {
        return;
    }
    for command in OWN {
        let world = World::new();
        let output = run(&world.reader(), command).await;
        assert!(!output.text.contains(SECRET), "{command}: {}", output.text);
    }
    let world = World::new();
    insta::assert_snapshot!(run(&world.reader(), "cat own; ls -A; grep -c . own").await.text, @"
    mine
    .env
    own
    1
    [exit code 0]
    ");
}

#[tokio::test]
async fn maintenance_reads_nothing_of_others() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    for command in ["cat @OUT/file", "ls @OUT", "cat @HOME/.profile", "ls /proc/1"] {
        let output = run(&world.reader(), &world.fill(command)).await;
        assert!(output.text.contains("ermission denied"), "{command}: {}", output.text);
    }
}

#[tokio::test]
async fn a_worker_reads_what_is_no_secret() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let command = "cat @OUT/file @HOME/.config/Code/User/snippets/rust.json \
        @HOME/.claude/agents/one.md && ls @OUT /usr >/dev/null";
    let output = run(&world.worker(), &world.fill(command)).await;
    assert!(!output.is_error, "{}", output.text);
    // What the directory holds of secrets a view covers, unless it is committed.
    let output = run(&world.worker(), "cat .env").await;
    assert_eq!(output.text.contains(SECRET), !crate::HAS_VIEW, "{}", output.text);
    let command =
        "git init -q . && git add -f .env && git -c user.name=a -c user.email=a@b commit -qm x";
    assert!(!run(&world.open(), command).await.is_error);
    assert!(run(&world.worker(), "cat .env").await.text.contains(SECRET));
}

#[tokio::test]
async fn the_systems_passwords_and_the_terminal_stay_out_of_reach() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    for (place, has_terminals) in [(world.worker(), crate::HAS_VIEW), (world.reader(), false)] {
        let files = ["/etc/shadow", "/dev/tty", "/dev/kmsg", "/dev/ptmx"];
        // A worker's view has terminals of its own.
        for file in files.into_iter().take(if has_terminals { 3 } else { 4 }) {
            let output = run(&place, &format!("head -c 1 {file} | od")).await;
            let refused = output.text.contains("ermission denied");
            let is_missing = !std::path::Path::new(file).exists();
            assert!(refused || is_missing, "{file}: {}", output.text);
        }
    }
}

#[tokio::test]
async fn the_environment_is_a_short_list() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let mut ground = world.ground();
    for (name, value) in [
        ("ANTHROPIC_API_KEY", SECRET),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("BASH_ENV", "/tmp/x"),
        ("GIT_SSH_COMMAND", "evil"),
        ("WANTED", "yes"),
    ] {
        ground.variables.push((name.into(), value.into()));
    }
    let mut wall = tine_tools::Wall::worker(&world.path("work"));
    wall.variables.push("WANTED".to_owned());
    let place = world.open();
    let enclosure = wall.raise(place.directory(), &ground).unwrap();
    let place = place.with_enclosure(enclosure);
    let output = run(&place, "env | cut -d= -f1 | sort").await.text;
    let common = ["PWD", "SHLVL", "_", "OLDPWD"];
    let names: Vec<&str> = output.lines().filter(|name| !common.contains(name)).collect();
    for name in ["HOME", "PATH", "TMPDIR", "TINE", "WANTED", "XDG_CACHE_HOME"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND"]
    {
        assert!(!names.contains(&name), "{name}");
    }
}

#[tokio::test]
async fn a_read_sees_the_files_that_were_judged_and_nothing_that_took_their_place() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    let (note, secret) = (world.path("shared-tmp/note"), world.path("work/.env"));
    std::fs::write(&note, "the note\n").unwrap();
    std::fs::write(world.path("shared-tmp/other"), "the other\n").unwrap();
    let wall = Wall::reading(vec![note.clone(), secret]);
    let enclosure = wall.raise(&world.path("work"), &world.ground()).unwrap();
    assert!(enclosure.shows(Path::new("/usr/bin")) && !enclosure.shows(Path::new("/etc/shadow")));
    let place = world.behind(&wall);
    let seen = run(&place, "cat .env ../shared-tmp/note ../shared-tmp/other ../outside/file").await;
    assert!(seen.text.contains(SECRET) && seen.text.contains("the note"), "{}", seen.text);
    assert!(!seen.text.contains("the other") && !seen.text.contains("theirs"), "{}", seen.text);
    std::fs::rename(&note, world.path("shared-tmp/away")).unwrap();
    std::os::unix::fs::symlink(world.path("outside/file"), &note).unwrap();
    let seen = run(&place, "cat ../shared-tmp/note").await;
    assert!(!seen.text.contains("theirs"), "{}", seen.text);
    let error =
        wall.raise(&world.path("work"), &world.ground()).err().map(|error| error.to_string());
    assert_eq!(error, Some(format!("the directory `{}` cannot be used", note.display())));
}

#[tokio::test]
async fn git_reads_by_the_users_settings_and_none_of_their_keys() {
    if lacks_whole_wall() {
        return;
    }
    let world = World::new();
    run(&world.open(), "git init -q . && touch notes.swp").await;
    let settings = format!(
        "[user]\n\temail = a@b.example\n[credential]\n\tx = {SECRET}\n[core]\n\tfsmonitor = touch ran\n"
    );
    std::fs::write(world.path("home/.gitconfig"), settings).unwrap();
    std::fs::create_dir_all(world.path("home/.config/git")).unwrap();
    std::fs::write(world.path("home/.config/git/ignore"), "*.swp\n").unwrap();
    let place = world.behind(&Wall::reading(vec![]));
    let told = run(&place, "printf %s \"$GIT_CONFIG_GLOBAL\"").await.text;
    let told = told.lines().next().unwrap_or_default().to_owned();
    let command = "git status --short; git config user.email; git config --list | grep -c secret; echo x > \"$GIT_CONFIG_GLOBAL\"";
    let text = run(&place, command).await.text.replace(&told, "settings");
    let (text, kept_back) = text.split_once("\n[kept back ").unwrap_or((&text, ""));
    assert_eq!(kept_back.ends_with(": .env]"), crate::HAS_VIEW, "{kept_back}");
    insta::assert_snapshot!(text, @r"
    ?? .env
    ?? own
    a@b.example
    0
    bash: line 1: settings: Permission denied
    [exit code 1]
    [confined: writes only below $TMPDIR, reads only of programs and the directory, without secrets, no network]
    ");
    let again = run(&place, "git status --short").await.text;
    assert!(again.contains(".env") && !again.contains("kept back"), "it is told once: {again}");
}
