//! Commands of a tine that was killed: none lives on, and what does all the same is named, ended and told to the model.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tine_testkit::{WIRE_BODIES, not_run, test_name, until};

use crate::crash::{command, signal, start};
use crate::pick;
use crate::support::{Home, Ran};
use crate::task::background::process_of;

/// A model that runs these commands when it is to deploy, and says nothing new else.
fn model(home: &Home, commands: &[&str]) -> String {
    let turn = |(turn, command): (usize, &&str)| {
        format!(
            "[[turn]]\nwhen = {{ user_contains = \"deploy\", tool_results = {turn} }}\n\
             tool_calls = [{{ name = \"Bash\", input = {{ command = \"\"\"{command}\"\"\" }} }}]\n"
        )
    };
    let turns: String = commands.iter().enumerate().map(turn).collect();
    home.model(&format!("name = \"endless\"\n{turns}[[turn]]\ntext = \"I see.\"\n"))
}

/// A process that goes on until somebody ends it, under a name that no other has.
fn endless(home: &Home, name: &str) -> String {
    format!("exec -a {} sleep 1000", home.path().join(name).display())
}

/// The number of such a process, seen from here; the command itself may see another one.
fn found(home: &Home, name: &str) -> Option<u32> {
    let name = home.path().join(name);
    std::fs::read_dir("/proc").unwrap().find_map(|entry| {
        let process = entry.unwrap().path();
        let number = process.file_name()?.to_str()?.parse().ok()?;
        let line = std::fs::read(process.join("cmdline")).ok()?;
        line.starts_with(&[name.to_str()?.as_bytes(), b"\0"].concat()).then_some(number)
    })
}

/// Waits for such a process. The one that is to start it must not end before.
fn up(home: &Home, name: &str, tine: &mut Child) -> u32 {
    loop {
        if let Some(number) = found(home, name) {
            return number;
        }
        assert!(tine.try_wait().unwrap().is_none(), "tine has ended before its command began");
    }
}

/// The state and the parent of a process; `None` if it has gone.
fn stat(process: u32) -> Option<(String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((rest.next()?.to_owned(), rest.next()?.parse().ok()?))
}

fn is_alive(process: u32) -> bool {
    stat(process).is_some_and(|(state, _)| state != "Z" && state != "X")
}

fn end(mut tine: Child) {
    tine.kill().unwrap();
    tine.wait().unwrap();
}

/// Waits until the command is gone: a watchdog needs a moment.
fn gone(home: &Home) {
    until("the end of the command", || found(home, "endless").is_none());
}

/// Kills tine when its command runs; nothing of the command may be left.
fn nothing_outlives(home: &Home, mut tine: Child) {
    up(home, "endless", &mut tine);
    end(tine);
    gone(home);
}

/// The bodies of all requests so far.
fn bodies(directory: &Path) -> Vec<String> {
    let files = std::fs::read_dir(directory).into_iter().flatten();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap_or_default()).collect()
}

/// Starts a run whose command lives on although tine is killed, because its supervisor is killed first. Returns the endless process, and
/// those between it and the supervisor.
fn survived(home: &Home, way: &str) -> (u32, Vec<u32>) {
    let model = model(home, &[way]);
    let run = ["run", "-q", "--model", &model, "--allow", "Bash", "-n", "dep", "deploy"];
    let mut tine = start(home, &run);
    let command = up(home, "endless", &mut tine);
    let mut line = vec![command];
    while *line.last().unwrap() != tine.id() {
        line.push(stat(*line.last().unwrap()).unwrap().1);
    }
    line.pop();
    let supervisor = line.pop().unwrap();
    // A tine that went on would end the command when it sees the end of the supervisor.
    signal("STOP", tine.id());
    signal("KILL", supervisor);
    end(tine);
    assert!(is_alive(command));
    (command, line.split_off(1))
}

#[test]
fn a_command_that_lived_on_is_named_then_ended_and_its_model_is_told() {
    let home = Home::new();
    let (command, _) = survived(&home, &endless(&home, "endless"));
    let shown = |ran: &Ran| {
        let text = home.shown(ran).replace(&command.to_string(), "[PID]");
        text.split("--- stderr\n").nth(1).unwrap().to_owned()
    };
    let listed = home.ran(&["ps", "--json"]);
    let agents: Value = serde_json::from_str(&listed.stdout).unwrap();
    let left = &agents[0]["left_running"][0];
    assert_eq!((&left["process"], &left["ended"]), (&command.into(), &false.into()));

    let requests = home.path().join("requests");
    let resume = ["run", "--resume", "dep", "what happened?"];
    let ran = Ran::of(home.tine(&resume).env(WIRE_BODIES, &requests));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!is_alive(command));
    let sentence = format!(
        "The run was cut off during this call; whether it was carried out is not known. Processes of it \
         still ran and were ended now: {command} (`{} 1000`).",
        home.path().join("endless").display()
    );
    assert!(bodies(&requests).iter().any(|body| body.contains(&sentence)));
    assert_eq!(home.ran(&["ps"]).stderr, "");
    check!(shown(&listed), @"
    warning: a command of agent [AGENT8] still runs, although its tine has ended: [PID] (`[HOME]/endless 1000`)
    hint: `tine run --resume [AGENT8]` ends it and goes on; `tine kill --root [AGENT8]` ends both
    ");
    let resumed = shown(&ran);
    check!(resumed.lines().find(|line| line.contains("outlived")).unwrap(), @"a command outlived its tine. Processes of it still ran and were ended now: [PID] (`[HOME]/endless 1000`).");
}

#[test]
fn who_kills_an_agent_ends_what_is_left_of_its_calls() {
    let home = Home::new();
    let (command, _) = survived(&home, &endless(&home, "endless"));
    home.done(&["kill", "--root", "dep"]);
    assert!(!is_alive(command));
}

#[test]
fn a_process_that_has_emptied_its_environment_is_ended_with_what_started_it() {
    let home = Home::new();
    let endless = endless(&home, "endless");
    let way = format!("trap '' TERM; $BASH -c 'env -i $BASH -c \"{endless}\"; true'; true");
    let (command, above) = survived(&home, &way);
    assert_eq!(above.len(), 2, "two shells");
    let ran = home.ran(&["run", "--resume", "dep", "what happened?"]);
    assert!(ran.stderr.contains(&format!("{command} (`{}", home.path().join("endless").display())));
    assert!(above.iter().all(|process| !is_alive(*process)), "{}", ran.stderr);
}

/// A script by which a program becomes its owner's entirely, as `sudo` does.
const BECOMES_ROOT: &str = "$ENV{PATH} = q(/bin); delete @ENV{qw(IFS CDPATH ENV BASH_ENV)}; $< = $>; \
     exec { q(/bin/sleep) } map { m/(.*)/ } @ARGV";

/// A home of an ordinary user, with a program that becomes root's. `None`, said out loud, where this test may not make one.
#[expect(clippy::disallowed_methods, reason = "the test kills the real binary")]
fn ordinary_user(home: &Home) -> Option<impl Fn(&[&str]) -> Command> {
    let perl = home.path().join("perl");
    let make = format!(
        "cp \"$(command -v perl)\" '{0}' && chmod 4755 '{0}' && chmod -R a+rwX '{1}' && chmod 4755 '{0}' && \
         setpriv --reuid=65534 --regid=65534 --clear-groups '{0}' -e 'exit($> != 0)' && \
         setpriv --reuid=65534 --regid=65534 --clear-groups '{2}' --version",
        perl.display(),
        home.path().display(),
        env!("CARGO_BIN_EXE_tine")
    );
    let made = assert_cmd::Command::new("bash").args(["-c", &make]).output().unwrap();
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr);
        let why = format!("no command can become another user's: {}", why.trim());
        not_run("unprivileged", &test_name(), &why);
        return None;
    }
    let (tine_home, work) = (home.path(), home.work());
    Some(move |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(env!("CARGO_BIN_EXE_tine")).args(arguments).current_dir(&work).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TINE_HOME", &tine_home).env("HOME", &tine_home);
        command
    })
}

#[test]
fn a_command_that_became_another_users_is_named_as_one_that_cannot_be_ended() {
    let home = Home::new();
    let name = home.path().join("endless");
    let way = format!("{}/perl -e '{BECOMES_ROOT}' {} 1000", home.path().display(), name.display());
    let model = model(&home, &[&way]);
    let Some(tine) = ordinary_user(&home) else { return };
    let ran = |arguments: &[&str]| Ran::of(&mut assert_cmd::Command::from_std(tine(arguments)));
    let run = ["run", "-q", "--model", &model, "--allow", "Bash", "-n", "dep", "deploy"];
    let mut started = tine(&run).spawn().unwrap();
    let command = up(&home, "endless", &mut started);
    let (_, supervisor) = stat(command).unwrap();
    end(started);
    let listed = ran(&["ps"]);
    let ran = ran(&["run", "--resume", "dep", "what happened?"]);
    let is_still_there = is_alive(command);
    signal("KILL", command);
    assert!(is_still_there, "{}", ran.stderr);
    let still = format!("although its tine has ended: {command} (`{} 1000`)", name.display());
    assert!(listed.stderr.contains(&still), "{}", listed.stderr);
    let cannot = format!("and cannot be ended by tine: {command} (`{} 1000`)", name.display());
    assert!(ran.stderr.contains(&cannot), "{}", ran.stderr);
    // Its supervisor goes when nothing is left below it.
    until("the end of the supervisor", || !is_alive(supervisor));
}

#[test]
fn what_went_on_in_the_background_is_found_and_ended_where_its_watchdog_was_killed_too() {
    let home = Home::new();
    let [server, command] = ["server", "endless"].map(|name| endless(&home, name));
    let model = home.model(&format!(
        "name = \"endless\"\n\
         [[turn]]\nwhen = {{ user_contains = \"deploy\", tool_results = 0 }}\n[[turn.tool_calls]]\nname = \"Bash\"\n\
         input = {{ command = \"{server}\", run_in_background = true }}\n\
         [[turn]]\nwhen = {{ user_contains = \"deploy\", tool_results = 1 }}\n[[turn.tool_calls]]\nname = \"Bash\"\n\
         input = {{ command = \"{command}\" }}\n[[turn]]\ntext = \"I see.\"\n"
    ));
    let run = ["run", "-q", "--model", &model, "--allow", "Bash", "-n", "dep", "deploy"];
    let mut tine = start(&home, &run);
    up(&home, "endless", &mut tine);
    let server = found(&home, "server").unwrap();
    let supervisor = stat(server).unwrap().1;
    signal("STOP", tine.id());
    signal("KILL", supervisor);
    end(tine);
    gone(&home);
    assert!(is_alive(server));
    assert!(home.ran(&["ps"]).stderr.contains("still runs, although its tine has ended"));
    let ran = home.ran(&["run", "--resume", "dep", "what happened?"]);
    assert!(ran.stderr.contains("a command outlived its tine"), "{}", ran.stderr);
    assert!(!is_alive(server));
}

#[test]
fn no_setup_command_of_a_worktree_outlives_a_killed_tine() {
    let home = pick::home();
    let setup = endless(&home, "endless");
    home.write("config.toml", &format!("[worktree]\nsetup = \"{setup}\"\n"));
    nothing_outlives(&home, start(&home, &["fork", "base", "--worktree"]));
}

#[test]
fn no_check_of_picked_work_outlives_a_killed_tine() {
    let home = pick::home();
    let check = endless(&home, "endless");
    let picking = [&pick::TASK[..], &["--check", &check]].concat();
    nothing_outlives(&home, start(&home, &picking));
}

#[test]
fn no_command_of_the_persons_own_outlives_a_killed_tine() {
    let home = Home::new();
    home.write("config.toml", "model = \"sim/echo\"\n");
    let mut tine = command(&home, &["--plain"]);
    tine.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tine = tine.spawn().unwrap();
    let mut typed = tine.stdin.take().unwrap();
    writeln!(typed, "!{}", endless(&home, "endless")).unwrap();
    nothing_outlives(&home, tine);
    // Its end would have been the end of the talk.
    drop(typed);
}

#[test]
fn no_command_of_a_worker_in_the_background_outlives_its_killed_tine() {
    for confine in ["off", "directory"] {
        let home = Home::new();
        let model = model(&home, &[&endless(&home, "endless")]);
        home.import(&model, "base", 2);
        let start = ["task", "start", "base", "deploy", "--allow", "Bash", "--confine", confine];
        let begun = home.json(&[&start[..], &["--json"]].concat());
        let log = begun["log"].as_str().unwrap();
        until("the command", || found(&home, "endless").is_some());
        let (tine, _) = process_of(log).unwrap();
        signal("KILL", tine);
        gone(&home);
    }
}
