//! The first hour of somebody new, in a shell in a terminal: a first job, a talk, a fork, a look at what it changed, the best of two, and
//! the next day's way back.

use std::path::PathBuf;

use tine_testkit::{Ability, lacks};

use crate::pages::{path_with_tine, project};
use crate::pty::{Place, Terminal};
use crate::support::Home;

/// A shell, where a person types.
struct Shell<'a>(&'a Home);

impl Place for Shell<'_> {
    fn program(&self) -> PathBuf {
        "bash".into()
    }

    fn home(&self) -> PathBuf {
        self.0.path()
    }

    fn work(&self) -> PathBuf {
        self.0.work()
    }
}

const SCENARIO: &str = r#"
name = "story"

[[turn]]
when = { user_contains = "give up", tool_results = 0 }
text = "I read it first."
tool_calls = [{ name = "FileRead", input = { file_path = "fetch.py" } }]

[[turn]]
when = { user_contains = "give up" }
text = "After three attempts it falls out of its loop, and the last error is lost."

[[turn]]
when = { user_contains = "Raise it", tool_results = 0 }
tool_calls = [{ name = "FileRead", input = { file_path = "fetch.py" } }]

[[turn]]
when = { user_contains = "Raise it", tool_results = 1 }
tool_calls = [{ name = "FileEdit", input = { file_path = "fetch.py", old_string = "pass\n", new_string = "error = caught\n    raise error\n" } }]

[[turn]]
when = { user_contains = "Raise it" }
text = """Callers see the error now.

Scope: fetch.py
Result: the last error is raised
Key files: fetch.py
Files changed: fetch.py
Issues: none"""

[[turn]]
text = "Say more."
"#;

const CODE: &str = "for attempt in range(3):\n    try:\n        get()\n    except OSError as caught:\n        pass\n";

/// The sizes at which the screens are looked at: lines and columns.
const SIZES: [(u16, u16); 2] = [(24, 80), (40, 120)];

#[test]
fn from_the_first_job_to_the_way_back_on_the_next_day() {
    if lacks(Ability::Namespaces, "the first hour, whose check runs behind the wall") {
        return;
    }
    for (rows, columns) in SIZES {
        let home = project();
        home.write("work/fetch.py", CODE);
        home.write("story.toml", SCENARIO);
        home.write("config.toml", "model = \"sim/../story.toml\"\n");
        let path = path_with_tine(&home);
        let variables = [("PATH", path.as_str()), ("PS1", "shell> ")];
        let mut shell = Terminal::start_with(&Shell(&home), &["--norc", "--noprofile"], &variables);
        shell.screen("shell>");
        shell.resize(rows, columns);
        // A first job.
        let job = "tine run -q --name base 'Why does fetch give up?'";
        typed(&mut shell, job, "the last error is lost");
        // A talk, and a fork of it in a worktree of its own.
        shell.see("clear; tine --continue\r", "── base");
        let fork = "/fork \"Raise it.\" --worktree --name raise\r";
        shell.see_at_rest(fork, "Callers see the error now.");
        let screen = shell.see("\u{14}", "2 agents");
        assert!(screen.contains("Why does fetch"), "{screen}");
        shell.see("\u{1b}", "❯");
        leave(&mut shell);
        // What it changed, and the best of two more.
        typed(&mut shell, "tine diff raise --stat", "fetch.py");
        let pick =
            "tine pick base -d 'Raise it.' -n 2 --check 'grep -q raise fetch.py' --take best";
        typed(&mut shell, pick, "modified  fetch.py");
        assert!(std::fs::read_to_string(home.work().join("fetch.py")).unwrap().contains("raise"));
        // The next day.
        let screen = shell.see("clear; tine -r\r", "this directory first");
        assert!(screen.contains("Why does fetch"), "{screen}");
        shell.see("raise", "3 found");
        shell.see("\u{1b}", "Esc closes");
        shell.type_in("\r");
        shell.screen("3 forks");
        leave(&mut shell);
        typed(&mut shell, "tine ps", "TITLE");
        shell.type_in("exit\r");
        assert_eq!(shell.end().0, 0);
    }
}

/// Types a command, and waits for these words and for its end.
fn typed(shell: &mut Terminal, command: &str, words: &str) {
    shell.type_in(&format!("clear; {command}\r"));
    shell.screen_where(words, |screen| screen.contains(words) && screen.ends_with("\nshell>"));
}

/// Leaves the terminal of tine.
fn leave(shell: &mut Terminal) {
    shell.type_in("/quit\r");
    let is_left = |screen: &str| screen.contains("goes on here") && screen.ends_with("\nshell>");
    shell.screen_where("the way back to the shell", is_left);
}
