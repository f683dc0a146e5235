//! The command line of `cargo xtask`, read by hand: so few commands do not pay for a parser.

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Developer automation for tine.

Usage: cargo xtask COMMAND

  tidy                          check the rules of the house: crate edges, file sizes, boundaries
  test [--all] [--budgets] [--require NAME,...] [-- ARGUMENT...]
                                everything CI checks: formatting, tidy, clippy, tests, a smoke test of each host, doctests,
                                documentation; goes on after a failure, and ends with each failed test, its last lines and the
                                command that runs it alone, and with what this machine cannot run, and why;
                                --all tries every case of the tests that usually try a fixed share;
                                --budgets fails where a crate or a test binary is over its budget of CPU time, which is
                                otherwise a warning;
                                --require fails where what needs NAME was not run (`all`: where anything was not run);
                                with arguments only the tests run: they go to the test runner (cargo-nextest if installed)
  hosts [NAME]                  all tests with foreign programs, or those of one: sdks (see wire-suite/README.md), opencode,
                                mcp, gateway, guests, nats, engine
  hosts --fetch                 only fetch what the smoke tests need, from npm and Debian, and print the hosts that have it
  attack [--all]                attack the walls, the guard and what keeps secrets, with namespaces and without them, and print
                                a table of each; --all tries every case
  bench [FILTER]                run every bench of the workspace, or those whose name contains FILTER
  soak terminal [--agents N] [--minutes N]
                                the terminal with N agents that all stream (default 200) for N minutes (default 10):
                                fails where its memory grows
  cast                          drive the terminal through a session, and write docs/terminal.cast and docs/terminal.md
  checklist                     print what is promised and the tests that show it, as a table
  crash [--times N] [--seed S]  kill N runs that have workers at random moments (default 1000) and check what is left
  day [reads|work]              a day's reads and work through the real program behind its walls, beside the bare machine, as tables;
                                needs the registries of packages
  embed                         build a crate that embeds `tine-fork` from nothing, run it, and count what it depends on
  strangers                     five packages of the registries as repositories through run, fork, fan with worktrees, diff, apply,
                                undo, removal and recovery, to the byte, as a table
  fuzz [TARGET] [--seconds N]   run one fuzz target, or each in turn, for N seconds (default 60)

Options:
  -h, --help                    print this
";

use crate::day::Part;

/// Long enough to pass the start-up of every target, short enough to wait for.
const FUZZ_SECONDS_DEFAULT: u32 = 60;

/// As many agents as anybody looks after, and long enough for a straight line.
const SOAK_DEFAULT: (u32, u32) = (200, 10);

/// Enough for what happens once in some hundreds of times.
const CRASHES_DEFAULT: u32 = 1000;

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print [`HELP`].
    Help,
    /// Check the rules of the house.
    Tidy,
    /// Run everything CI runs.
    Test(TestOptions),
    /// Run tests with foreign programs.
    Hosts {
        /// All of them when `None`.
        name: Option<String>,
    },
    /// Fetch what the smoke tests with foreign programs need.
    Fetch,
    /// Run one test process and write its times down; for the test runner.
    Timed {
        /// A directory, a program and the program's arguments.
        arguments: Vec<String>,
    },
    /// Attack tine's own walls.
    Attack {
        /// Every case of every group, not the usual share.
        every_case: bool,
    },
    /// Run benches.
    Bench {
        /// Part of the names of the benches to run.
        filter: Option<String>,
    },
    /// See whether the terminal's memory grows.
    Soak {
        /// That stream at the same time.
        agents: u32,
        /// For so long.
        minutes: u32,
    },
    /// Record a session of the terminal.
    Cast,
    /// Print promises and their tests.
    Checklist,
    /// Kill runs at random moments.
    Crash {
        /// How many.
        times: u32,
        /// Which.
        seed: u32,
    },
    /// A day's reads and work behind the walls.
    Day {
        /// Both when `None`.
        part: Option<Part>,
    },
    /// Packages of the registries as repositories.
    Strangers,
    /// Build and run a crate that embeds the library.
    Embed,
    /// Run fuzz targets.
    Fuzz {
        /// All of them when `None`.
        target: Option<String>,
        /// For each target.
        seconds: u32,
    },
}

/// How everything is run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestOptions {
    /// Every case of every test, not the usual share.
    pub(crate) every_case: bool,
    /// Budgets of CPU time judge.
    pub(crate) budgets: bool,
    /// What a machine may not lack: words of `tine_testkit::not_run`, names of hosts, or `all`.
    pub(crate) require: Vec<String>,
    /// Passed to the test runner unchanged. Where there are any, only the tests run.
    pub(crate) runner_arguments: Vec<String>,
}

impl Task {
    /// Reads the arguments after `cargo xtask`. The error is a sentence for the user.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        if let [command, rest @ ..] = arguments
            && command == "timed"
        {
            return Ok(Self::Timed { arguments: rest.to_vec() });
        }
        let own = arguments.iter().take_while(|argument| *argument != "--");
        if arguments.is_empty()
            || own.clone().any(|a| matches!(a.as_str(), "-h" | "--help" | "help"))
        {
            return Ok(Self::Help);
        }
        let (command, rest) = (arguments[0].as_str(), &arguments[1..]);
        match command {
            "tidy" => no_more(rest).map(|()| Self::Tidy),
            "test" => test(rest),
            "hosts" => hosts(rest),
            "attack" => attack(rest),
            "bench" => bench(rest),
            "soak" => soak(rest),
            "cast" => no_more(rest).map(|()| Self::Cast),
            "checklist" => no_more(rest).map(|()| Self::Checklist),
            "crash" => crash(rest),
            "day" => day(rest),
            "strangers" => no_more(rest).map(|()| Self::Strangers),
            "embed" => no_more(rest).map(|()| Self::Embed),
            "fuzz" => fuzz(rest),
            _ => Err(format!("unknown command `{command}`")),
        }
    }
}

/// The separating `--` may be left out; further ones belong to the runner.
fn test(rest: &[String]) -> Result<Task, String> {
    let mut options = TestOptions::default();
    let mut rest = rest.iter();
    while let Some(argument) = rest.as_slice().first() {
        match argument.as_str() {
            "--all" => options.every_case = true,
            "--budgets" => options.budgets = true,
            "--require" => {
                rest.next();
                let names = rest.as_slice().first().map(String::as_str).unwrap_or_default();
                if names.is_empty() || names.starts_with('-') {
                    return Err("`--require` needs names, or `all`".to_owned());
                }
                options.require.extend(names.split(',').map(str::to_owned));
            }
            "--" => {
                rest.next();
                break;
            }
            _ => break,
        }
        rest.next();
    }
    options.runner_arguments = rest.cloned().collect();
    Ok(Task::Test(options))
}

fn hosts(rest: &[String]) -> Result<Task, String> {
    match rest {
        [] => Ok(Task::Hosts { name: None }),
        [option] if option == "--fetch" => Ok(Task::Fetch),
        [name, more @ ..] if !name.starts_with('-') => {
            no_more(more).map(|()| Task::Hosts { name: Some(name.clone()) })
        }
        [argument, ..] => Err(unexpected(argument)),
    }
}

fn attack(rest: &[String]) -> Result<Task, String> {
    let all = rest.strip_prefix(&["--all".to_owned()]);
    no_more(all.unwrap_or(rest)).map(|()| Task::Attack { every_case: all.is_some() })
}

fn bench(rest: &[String]) -> Result<Task, String> {
    match rest {
        [] => Ok(Task::Bench { filter: None }),
        [filter, more @ ..] if !filter.starts_with('-') => {
            no_more(more).map(|()| Task::Bench { filter: Some(filter.clone()) })
        }
        [argument, ..] => Err(unexpected(argument)),
    }
}

fn soak(rest: &[String]) -> Result<Task, String> {
    let (mut agents, mut minutes) = SOAK_DEFAULT;
    let mut rest = match rest {
        [what, rest @ ..] if what == "terminal" => rest.iter(),
        [what, ..] => return Err(unexpected(what)),
        [] => return Err("what is to be soaked? there is `terminal`".to_owned()),
    };
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--agents" => agents = number(rest.next(), "a number of agents")?,
            "--minutes" => minutes = number(rest.next(), "a number of minutes")?,
            _ => return Err(unexpected(argument)),
        }
    }
    Ok(Task::Soak { agents, minutes })
}

fn crash(rest: &[String]) -> Result<Task, String> {
    let (mut times, mut seed) = (CRASHES_DEFAULT, 1);
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--times" => times = number(rest.next(), "a number of crashes")?,
            "--seed" => seed = number(rest.next(), "a seed")?,
            _ => return Err(unexpected(argument)),
        }
    }
    Ok(Task::Crash { times, seed })
}

fn day(rest: &[String]) -> Result<Task, String> {
    let (part, rest) = match rest {
        [part, rest @ ..] if part == "reads" => (Some(Part::Reads), rest),
        [part, rest @ ..] if part == "work" => (Some(Part::Work), rest),
        rest => (None, rest),
    };
    no_more(rest).map(|()| Task::Day { part })
}

/// A number from 1 on.
fn number(value: Option<&String>, what: &str) -> Result<u32, String> {
    let value = value.map(String::as_str).unwrap_or_default();
    let parsed = value.parse().ok().filter(|number| *number > 0);
    parsed.ok_or_else(|| format!("`{value}` is not {what}"))
}

fn fuzz(rest: &[String]) -> Result<Task, String> {
    let (mut target, mut seconds) = (None, FUZZ_SECONDS_DEFAULT);
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => seconds = number(rest.next(), "a number of seconds")?,
            name if target.is_none() && !name.starts_with('-') => target = Some(name.to_owned()),
            _ => return Err(unexpected(argument)),
        }
    }
    Ok(Task::Fuzz { target, seconds })
}

fn no_more(rest: &[String]) -> Result<(), String> {
    rest.first().map_or(Ok(()), |argument| Err(unexpected(argument)))
}

fn unexpected(argument: &str) -> String {
    format!("unexpected argument `{argument}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<Task, &str>) {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(Task::parse(&arguments), expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn every_command_is_read() {
        check("", Ok(Task::Help));
        check("tidy --help", Ok(Task::Help));
        check("tidy", Ok(Task::Tidy));
        check("test", Ok(Task::Test(TestOptions::default())));
        let all = TestOptions { every_case: true, ..TestOptions::default() };
        check("test --all", Ok(Task::Test(all)));
        let strict = TestOptions {
            budgets: true,
            require: vec!["git".to_owned(), "sdks".to_owned()],
            ..TestOptions::default()
        };
        check("test --budgets --require git,sdks", Ok(Task::Test(strict)));
        check("hosts", Ok(Task::Hosts { name: None }));
        check("hosts --fetch", Ok(Task::Fetch));
        check("hosts sdks", Ok(Task::Hosts { name: Some("sdks".to_owned()) }));
        check("checklist", Ok(Task::Checklist));
        check("embed", Ok(Task::Embed));
        check("day", Ok(Task::Day { part: None }));
        check("day reads", Ok(Task::Day { part: Some(Part::Reads) }));
        check("attack", Ok(Task::Attack { every_case: false }));
        check("attack --all", Ok(Task::Attack { every_case: true }));
        check("bench", Ok(Task::Bench { filter: None }));
        check("bench fork", Ok(Task::Bench { filter: Some("fork".to_owned()) }));
        check("cast", Ok(Task::Cast));
        check("soak terminal", Ok(Task::Soak { agents: 200, minutes: 10 }));
        let short = Task::Soak { agents: 20, minutes: 2 };
        check("soak terminal --minutes 2 --agents 20", Ok(short));
        check("crash", Ok(Task::Crash { times: 1000, seed: 1 }));
        check("crash --seed 7 --times 20", Ok(Task::Crash { times: 20, seed: 7 }));
        check("fuzz", Ok(Task::Fuzz { target: None, seconds: 60 }));
        let named = Task::Fuzz { target: Some("sse".to_owned()), seconds: 5 };
        check("fuzz --seconds 5 sse", Ok(named));
    }

    #[test]
    fn what_follows_the_dashes_belongs_to_the_runner() {
        let run = |every_case: bool, words: &str| {
            let runner_arguments = words.split_whitespace().map(str::to_owned).collect();
            Ok(Task::Test(TestOptions { every_case, runner_arguments, ..TestOptions::default() }))
        };
        check("test -- --help", run(false, "--help"));
        check("test -- -p x -- y", run(false, "-p x -- y"));
        check("test --all -- -p x", run(true, "-p x"));
        check("test -- --all", run(false, "--all"));
        let timed = "d p --list".split_whitespace().map(str::to_owned).collect();
        check("timed d p --list", Ok(Task::Timed { arguments: timed }));
    }

    #[test]
    fn a_mistake_is_named() {
        check("tidi", Err("unknown command `tidi`"));
        check("tidy now", Err("unexpected argument `now`"));
        check("hosts a b", Err("unexpected argument `b`"));
        check("test --require", Err("`--require` needs names, or `all`"));
        check("test --require --all", Err("`--require` needs names, or `all`"));
        check("attack now", Err("unexpected argument `now`"));
        check("bench --fast", Err("unexpected argument `--fast`"));
        check("bench a b", Err("unexpected argument `b`"));
        check("crash often", Err("unexpected argument `often`"));
        check("crash --times 0", Err("`0` is not a number of crashes"));
        check("soak", Err("what is to be soaked? there is `terminal`"));
        check("soak store", Err("unexpected argument `store`"));
        check("fuzz a b", Err("unexpected argument `b`"));
        check("fuzz --seconds soon", Err("`soon` is not a number of seconds"));
        check("fuzz --seconds 0", Err("`0` is not a number of seconds"));
        check("fuzz --seconds", Err("`` is not a number of seconds"));
    }
}
