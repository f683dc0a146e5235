//! Commands that only read, in a run that is not confined: no wall falls away, nothing outside is shown that was not judged, and
//! no program of the checkout's settings runs in the open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tine_guard::{PermissionMode, Rules};
use tine_model::{Outcome, RawJson};
use tine_runtime::{Permissions, RunOptions};
use tine_testkit::{Answer, ScriptedModel};
use tine_tools::{Bash, Place, Tool};
use tokio_util::sync::CancellationToken;

use super::fixture::{House, options};

/// Runs that commands make, and calls in each: together enough that many of them meet a swap between judging and reading.
const ROUNDS: usize = 10;
const CALLS_A_ROUND: usize = 8;

/// Swaps that must have happened meanwhile, so that the law says something.
const SWAPS_MIN: usize = 1_000;

fn with_rules(allow: &[&str]) -> RunOptions {
    let rules = Rules::parse(allow, &[], &[]).unwrap();
    RunOptions { permissions: Permissions::new(PermissionMode::Default, rules), ..options() }
}

fn calls(commands: &[String]) -> Answer {
    let inputs: Vec<(String, String)> = commands
        .iter()
        .enumerate()
        .map(|(at, command)| {
            (format!("c{at}"), serde_json::json!({ "command": command }).to_string())
        })
        .collect();
    Answer::calls(inputs.iter().map(|(id, input)| (id.as_str(), "Bash", input.as_str())))
}

/// A directory to work in and one outside, with a file each.
fn world() -> (tempfile::TempDir, PathBuf) {
    let world = tine_testkit::scratch();
    let root = world.path().canonicalize().unwrap();
    for (folder, word) in [("work/d", "inner"), ("outside", "outer")] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join("notes"), format!("the {word} word\n")).unwrap();
    }
    (world, root)
}

/// What the model was told of one command in `work`.
async fn told(root: &Path, command: &str, options: &RunOptions) -> String {
    let model = ScriptedModel::new([calls(&[command.to_owned()]), Answer::text("done")]);
    let house = House::new(model).await;
    let agent = house.root_in(root.join("work")).await;
    let outcome = house.runtime.run(agent, Some("go".into()), options).await.unwrap();
    assert_eq!(outcome.report.outcome, Outcome::Completed);
    house.model.requests().pop().unwrap().text()
}

/// Runs a command as the user would.
async fn shell(directory: &Path, command: &str) {
    let input = serde_json::json!({ "command": command }).to_string();
    let (place, input) = (Place::new(directory).unwrap(), RawJson::parse(&input).unwrap());
    let output = Bash.run(&place, &input, &CancellationToken::new()).await;
    assert!(!output.is_error, "{}", output.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_swapped_with_a_link_shows_nothing_outside() {
    let (_world, root) = world();
    let work = root.join("work");
    std::os::unix::fs::symlink("../outside", work.join("link")).unwrap();
    let (is_over, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let swapper = std::thread::spawn({
        let (is_over, swaps) = (Arc::clone(&is_over), Arc::clone(&swaps));
        move || {
            let [folder, link, away] = ["d", "link", "away"].map(|name| work.join(name));
            while !is_over.load(Ordering::Relaxed) {
                for (from, to) in
                    [(&folder, &away), (&link, &folder), (&folder, &link), (&away, &folder)]
                {
                    std::fs::rename(from, to).unwrap();
                }
                swaps.fetch_add(2, Ordering::Relaxed);
            }
        }
    });
    let commands = [
        "head -n 1 d/notes",
        "cat d/notes",
        "grep -r word d",
        "for f in d/*; do head -n 1 $f; done",
    ];
    let round: Vec<String> =
        commands.iter().cycle().take(CALLS_A_ROUND).map(|text| (*text).to_owned()).collect();
    let done = || Answer::text("done");
    let answers = (0..ROUNDS).map(|_| calls(&round)).chain([done(), calls(&round), done()]);
    let house = House::new(ScriptedModel::new(answers)).await;
    let agent = house.root_in(root.join("work")).await;
    let outcome = house.runtime.run(agent, Some("go".into()), &with_rules(&[])).await;
    tine_testkit::until("enough swaps", || swaps.load(Ordering::Relaxed) >= SWAPS_MIN);
    is_over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert_eq!(outcome.unwrap().report.outcome, Outcome::Completed);
    // The same calls read what lies inside, once nothing is in their way.
    let still = house.runtime.run(agent, Some("again".into()), &with_rules(&[])).await;
    assert_eq!(still.unwrap().report.outcome, Outcome::Completed);
    let text: String = house.model.requests().iter().map(tine_testkit::Captured::text).collect();
    assert!(!text.contains("the outer word"), "something outside was read");
    assert!(text.contains("the inner word"), "nothing was read at all");
}

#[tokio::test]
async fn a_rule_that_names_a_read_does_not_take_it_out_of_the_wall() {
    let (_world, root) = world();
    let work = root.join("work");
    let (mark, program) = (root.join("outside/mark"), root.join("work/program"));
    std::fs::write(&program, format!("#!/bin/sh\necho x > {}\n", mark.display())).unwrap();
    let setup = format!(
        "set -e; chmod +x program; git init -q .; git config user.email a@b; git config user.name a; git add d; \
         git commit -qm one; echo more >> d/notes; git config diff.external {}",
        program.display()
    );
    shell(&work, &setup).await;
    for rules in [&["Bash(git diff *)"][..], &["Bash"], &[]] {
        let told = told(&root, "git diff", &with_rules(rules)).await;
        assert!(!mark.exists(), "{rules:?}: {told}");
        assert!(!told.contains("Denied"), "{rules:?}: {told}");
    }
    // What is no read runs as the rule says.
    told(&root, "git diff --ext-diff", &with_rules(&["Bash(git diff *)"])).await;
    assert!(mark.exists());
}

#[tokio::test]
async fn what_a_rule_lets_a_read_name_is_shown_to_it() {
    let (_world, root) = world();
    std::os::unix::fs::symlink("../outside", root.join("work/door")).unwrap();
    std::fs::write(root.join("work/.env"), "the hidden word\n").unwrap();
    let outside = format!("FileRead({}/**)", root.join("outside").display());
    for (command, rules, word) in [
        ("cat ../outside/notes", &["Bash(cat *)"][..], "outer"),
        ("cat door/notes", &[&outside], "outer"),
        ("cat .env", &["Bash(cat *)"], "hidden"),
        ("cat d/notes", &[], "inner"),
    ] {
        let told = told(&root, command, &with_rules(rules)).await;
        assert!(told.contains(&format!("the {word} word")), "{command}: {told}");
    }
    for command in ["cat ../outside/notes", "cat door/notes", "cat .env"] {
        let told = told(&root, command, &with_rules(&[])).await;
        assert!(!told.contains(" word\n"), "{command}: {told}");
    }
}

/// Shows: a conversation of Claude Code that is gone on from calls the file tools by its names, and is answered by ours.
#[tokio::test]
async fn calls_by_claude_codes_names_are_answered_by_the_file_tools() {
    let (_world, root) = world();
    let call = Answer::calls([("c1", "Read", r#"{"file_path":"d/notes"}"#)]);
    let house = House::new(ScriptedModel::new([call, Answer::text("done")])).await;
    let agent = house.root_in(root.join("work")).await;
    house.runtime.run(agent, Some("go".into()), &options()).await.unwrap();
    let told = house.model.requests().pop().unwrap().text();
    assert!(told.contains("the inner word"), "{told}");
}
