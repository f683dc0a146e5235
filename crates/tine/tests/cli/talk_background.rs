//! Commands that an agent keeps in the background, through the real binary.

use tine_testkit::{Ability, lacks, test_name};

use crate::pty::Terminal;
use crate::support::Home;

/// A model that starts a server, reads what it says, and uses it.
const SCENARIO: &str = r#"
name = "server"

[[turn]]
when = { user_contains = "serve", tool_results = 0 }
[[turn.tool_calls]]
name = "Bash"
input = { command = "python3 -u -m http.server 0 --bind 127.0.0.1 2>&1 | tee served", run_in_background = true, name = "dev" }

[[turn]]
when = { user_contains = "serve", tool_results = 1 }
[[turn.tool_calls]]
name = "Bash"
input = { command = "until grep -q port served; do sleep 0.1; done; port=$(grep -o 'port [0-9]*' served | cut -c6-); python3 -c \"import urllib.request as web; print(web.urlopen('http://127.0.0.1:$port/page').read().decode())\"" }

[[turn]]
when = { user_contains = "serve", tool_results = 2 }
tool_calls = [{ name = "BashOutput", input = { name = "dev", wait_ms = 60000 } }]

[[turn]]
when = { user_contains = "serve" }
text = "It says: {{tool_result.last}}"

[[turn]]
when = { user_contains = "list", tool_results = 0 }
tool_calls = [{ name = "BashOutput", input = {} }]

[[turn]]
when = { user_contains = "list" }
text = "Kept: {{tool_result.last}}"

[[turn]]
when = { user_contains = "stop", tool_results = 0 }
tool_calls = [{ name = "BashOutput", input = { name = "dev", stop = true } }]

[[turn]]
text = "Said: {{tool_result.last}}"
"#;

fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\npermissions.allow = [\"Bash\"]\n"));
    std::fs::write(home.work().join("page"), "a page\n").unwrap();
    home
}

fn lacks_server() -> bool {
    lacks(Ability::Program("python3"), &test_name())
}

#[test]
fn a_server_runs_while_one_works_is_read_used_listed_and_stopped() {
    if lacks_server() {
        return;
    }
    let home = home();
    let mut terminal = Terminal::start(&home, &[]);
    terminal.screen("Say what is to be done.");
    let screen = terminal.see_at_rest("serve it\r", "It says: ");
    assert!(screen.contains("⎿ a page") && screen.contains("\"GET /page HTTP"), "{screen}");
    assert!(screen.contains("& dev in the background: python3"), "{screen}");
    terminal.see_at_rest("list\r", "Kept: dev  [running]");
    // A fork is told whose it is.
    terminal.see("/fork\r", "Forked from ");
    terminal.see_at_rest("list\r", "of the agent that this one was forked from");
    terminal.see("/parent\r", "& dev in the background");
    terminal.see("/quit\r", "leaving ends 1 command in the background");
    terminal.see("/stop dev\r", "`dev` has ended");
    terminal.see_at_rest("list\r", "Kept: dev  [cancelled");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}

#[test]
fn a_server_ends_with_the_run_that_started_it_and_that_is_said() {
    if lacks_server() {
        return;
    }
    let home = home();
    let ran = home.ran(&["run", "serve it"]);
    assert!(ran.stdout.contains("\"GET /page HTTP"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("`dev` in the background ends with the run"), "{}", ran.stderr);
    let ran = home.ran(&["run", "--continue", "stop it"]);
    assert!(
        ran.stdout.contains("those of an earlier session have ended with it"),
        "{}",
        ran.stdout
    );
}

#[test]
fn behind_the_wall_a_server_is_started_read_and_stopped_like_any_other() {
    if lacks_server() || lacks(Ability::Namespaces, &test_name()) {
        return;
    }
    let home = home();
    for network in [&[][..], &["--network", "localhost:1"]] {
        let arguments = [&["run", "--confine", "directory"], network, &["serve it"]].concat();
        let ran = home.ran(&arguments);
        assert!(ran.stdout.contains("\"GET /page HTTP"), "{}{}", ran.stdout, ran.stderr);
    }
}
