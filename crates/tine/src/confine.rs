//! The reach of agents: from the store, the command line and the settings, and by whose word.
//!
//! An option that a person types is their word, and may widen. A command that an agent runs, the settings and a resumed run never do.

use std::path::{Path, PathBuf};

use tine_model::{AgentRecord, NetworkReach, Reach, Standing};
use tine_runtime::{
    AGENT_VARIABLE, CommandLimitsSet, Confinement, Missing, Placement, ReachWish, reach_of_forks,
};

use crate::cli::{ConfineArg, LimitArgs};
use crate::config::{Config, ConfineTable};
use crate::context::Context;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::{Failure, PERMISSION};
use crate::output;

/// What follows for workers where no layer of a wall can keep files.
pub(crate) const NO_COMMANDS: &str = "this system can neither make namespaces nor use Landlock: commands of workers and of other confined runs are refused, \
     their file tools work";

/// How a person has such commands run all the same.
pub(crate) const ACCEPTING: &str = "`missing = \"accept\"` under [confine] in your own config.toml lets them run without a wall; \
     `--confine off` does for one agent";

/// The reach of a new agent without a parent.
pub(crate) fn of_root(context: &Context, args: &LimitArgs) -> Result<Reach, Failure> {
    let typed = typed(&context.config.confine, args, &Reach::open())?;
    match (typed, &context.caller) {
        (typed, None) => Ok(typed.unwrap_or_default()),
        (None, Some(caller)) => Ok(caller.reach.clone()),
        (Some(reach), Some(caller)) => bounded(&reach, (&caller.reach, caller)),
    }
}

/// The confinement of a run of an agent that exists, or of a peer that is to be forked from it: what is stored with it, changed
/// by what was typed.
pub(crate) fn of_agent(
    context: &Context,
    args: &LimitArgs,
    agent: &AgentRecord,
) -> Result<Confinement, Failure> {
    let (table, stored) = (&context.config.confine, &agent.reach);
    let typed = typed(table, args, stored)?;
    let reach = match (typed, &context.caller) {
        (None, None) => ReachWish::default(),
        (None, Some(caller)) => ReachWish::Run(caller.reach.clone()),
        (Some(reach), None) => ReachWish::Person(reach),
        (Some(reach), Some(caller)) => {
            let bounds = stored.narrowed(&caller.reach);
            ReachWish::Narrow(bounded(&reach, (&bounds, caller))?)
        }
    };
    Ok(Confinement {
        reach,
        missing: missing(table, args, agent.standing == Standing::Worker)?,
        ..surroundings(table, Path::new(&agent.directory))?
    })
}

/// The confinement of runs that come from other machines. None of them brings more than its own reach.
pub(crate) fn of_cluster(context: &Context) -> Result<Confinement, Failure> {
    let table = &context.config.confine;
    let around = surroundings(table, &context.directory)?;
    Ok(Confinement { reach: ReachWish::Run(usual(table)?), ..around })
}

/// The confinement of workers that are to be made of `parent`, in this place.
pub(crate) fn of_workers(
    context: &Context,
    args: &LimitArgs,
    (parent, place): (&AgentRecord, &Placement),
) -> Result<Confinement, Failure> {
    let table = &context.config.confine;
    let widest = reach_of_forks(parent, place);
    let usual = widest.narrowed(&usual(table)?);
    let reach = match (typed(table, args, &usual)?, &context.caller) {
        (None, None) => ReachWish::Run(usual),
        (None, Some(caller)) => ReachWish::Run(usual.narrowed(&caller.reach)),
        (Some(reach), None) => ReachWish::Person(reach),
        (Some(reach), Some(caller)) => {
            let bounds = widest.narrowed(&caller.reach);
            ReachWish::Narrow(bounded(&reach, (&bounds, caller))?)
        }
    };
    let directory = Path::new(&parent.directory);
    Ok(Confinement { reach, ..usual_workers(&context.config, args, directory)? })
}

/// The confinement of commands that the user runs where agents have worked.
pub(crate) fn of_checks(
    context: &Context,
    args: &LimitArgs,
    directory: &Path,
) -> Result<Confinement, Failure> {
    let usual = usual_workers(&context.config, args, directory)?;
    let is_typed = args.confine.is_given();
    let reach = if is_typed && context.caller.is_none() {
        ReachWish::Person(usual.reach.reach().clone())
    } else {
        usual.reach.clone()
    };
    Ok(Confinement { reach, ..usual })
}

/// The confinement of workers by settings and options alone. Whoever makes them, or runs something of the user's for them, knows
/// what else bounds it.
pub(crate) fn usual_workers(
    config: &Config,
    args: &LimitArgs,
    directory: &Path,
) -> Result<Confinement, Failure> {
    let table = &config.confine;
    let usual = usual(table)?;
    let reach = typed(table, args, &usual)?.unwrap_or(usual);
    Ok(Confinement {
        reach: ReachWish::Run(reach),
        missing: missing(table, args, true)?,
        ..surroundings(table, directory)?
    })
}

/// The reach that was typed; `None` where none was. `base` is what `--network` alone changes.
fn typed(table: &ConfineTable, args: &LimitArgs, base: &Reach) -> Result<Option<Reach>, Failure> {
    let typed_network = network(args)?;
    let confined = |reach: Reach| -> Result<Reach, Failure> {
        let network = typed_network.clone().unwrap_or_else(|| table.network());
        Ok(Reach { writable: writable(table)?, network, ..reach })
    };
    let reach = match args.confine.place {
        Some(ConfineArg::Off) => Reach::open(),
        Some(ConfineArg::Directory) => confined(Reach::directory())?,
        // What is typed says nowhere, so the setting's directories are not meant.
        Some(ConfineArg::ReadOnly) => {
            Reach { writable: Vec::new(), ..confined(Reach::read_only())? }
        }
        None => match &typed_network {
            Some(network) => Reach { network: network.clone(), ..base.clone() },
            None => return Ok(None),
        },
    };
    if typed_network.is_some() && reach.is_open() {
        return Err(Failure::usage("--network is for confined runs")
            .hint("commands that are not confined have the network anyway"));
    }
    Ok(Some(reach))
}

/// The reach of a worker by the settings.
fn usual(table: &ConfineTable) -> Result<Reach, Failure> {
    if !workers(table)? {
        return Ok(Reach::open());
    }
    Ok(Reach { writable: writable(table)?, network: table.network(), ..Reach::directory() })
}

/// The hosts of all `--network` together; `None` where there is none.
fn network(args: &LimitArgs) -> Result<Option<NetworkReach>, Failure> {
    if args.confine.network.is_empty() {
        return Ok(None);
    }
    let all = args.confine.network.iter().flat_map(NetworkReach::destinations).cloned();
    match NetworkReach::new(all) {
        Ok(network) => Ok(Some(network)),
        Err(error) => Err(Failure::usage(error.to_string())
            .hint("--network=internet is all public web servers, *.example.com all below a name")),
    }
}

/// The reach, where a command that an agent runs may give it: no word of an agent's widens anything.
fn bounded(reach: &Reach, (bounds, caller): (&Reach, &AgentRecord)) -> Result<Reach, Failure> {
    if reach.is_within(bounds) {
        return Ok(reach.clone());
    }
    let short = caller.id.short();
    Err(Failure::coded(PERMISSION, "a command of an agent cannot widen what agents may touch")
        .hint(format!("it may give at most this: {}", bounds.describe()))
        .hint(format!("agent {short} runs this command: {AGENT_VARIABLE} is set; a person widens with `--confine`")))
}

/// The confinement that is the same for all runs in a directory.
fn surroundings(table: &ConfineTable, directory: &Path) -> Result<Confinement, Failure> {
    Ok(Confinement {
        variables: table.variables.clone().unwrap_or_default(),
        limits: command_limits(table)?,
        own: Dirs::find(&variable)?.own(directory),
        ..Confinement::default()
    })
}

/// The confinement of a run that keeps notes: its reach stands in its row.
pub(crate) fn around_notes(config: &Config, directory: &Path) -> Result<Confinement, Failure> {
    surroundings(&config.confine, directory)
}

/// The limits of a whole command that the settings name.
fn command_limits(table: &ConfineTable) -> Result<CommandLimitsSet, Failure> {
    let at_least_one = |key: &str, value: Option<u64>| match value {
        Some(0) => Err(Failure::input(format!("confine.{key} is 0"))
            .hint("no command runs with that; leave it out for the usual limit")),
        value => Ok(value),
    };
    let mebibytes = at_least_one("command_memory_mib", table.command_memory_mib)?;
    Ok(CommandLimitsSet {
        processor_seconds: at_least_one("command_cpu_seconds", table.command_cpu_seconds)?,
        memory_bytes: mebibytes.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        processes: at_least_one("command_processes", table.command_processes)?,
    })
}

/// Says once what the kernel cannot keep of a wall that is raised all the same, or that no command starts behind it.
pub(crate) fn warn_of_gaps(confinement: &Confinement, directory: &Path) {
    if confinement.missing == Missing::Refuse {
        return;
    }
    if confinement.refuses_commands(directory) {
        output::say(&format!("warning: {NO_COMMANDS}"));
        output::say(&format!("hint: {ACCEPTING}"));
        return;
    }
    for gap in confinement.gaps(directory) {
        output::say(&format!("warning: {}", gap.words()));
    }
}

/// Says in one line that a person's word widens what is stored with an agent.
pub(crate) fn tell_widened(wish: &ReachWish, of: (&Reach, &str)) {
    widened(wish, of).into_iter().for_each(|line| output::say(&format!("note: {line}")));
}

/// The same line; `None` where nothing is widened.
pub(crate) fn widened(wish: &ReachWish, (stored, whose): (&Reach, &str)) -> Option<String> {
    let (before, after) = (stored.describe(), wish.reach().describe());
    wish.widens(stored).then(|| format!("{whose} is widened: {after} (before: {before})"))
}

/// One line on a confined run; `None` for others.
pub(crate) fn line(reach: &Reach) -> Option<String> {
    (!reach.is_open()).then(|| reach.describe())
}

/// Whether workers are confined by default.
pub(crate) fn workers(table: &ConfineTable) -> Result<bool, Failure> {
    match table.workers.as_deref() {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(word) => {
            Err(Failure::input(format!("unknown confine.workers `{word}`")).hint("it is on or off"))
        }
    }
}

/// What happens to a run where the kernel has not all that a wall needs. Whoever asks for a wall gets a whole one or none; a
/// worker's, which nobody asked for, is as good as the kernel has it.
fn missing(table: &ConfineTable, args: &LimitArgs, is_worker: bool) -> Result<Missing, Failure> {
    let set = missing_setting(table)?;
    if args.confine.place.is_some() {
        return Ok(Missing::Refuse);
    }
    Ok(match set {
        None if is_worker => Missing::RefuseCommands,
        None => Missing::Refuse,
        Some(set) => set,
    })
}

/// The setting `confine.missing`.
pub(crate) fn missing_setting(table: &ConfineTable) -> Result<Option<Missing>, Failure> {
    match table.missing.as_deref() {
        None => Ok(None),
        Some("refuse") => Ok(Some(Missing::Refuse)),
        Some("warn") => Ok(Some(Missing::RefuseCommands)),
        Some("accept") => Ok(Some(Missing::Accept)),
        Some(word) => Err(Failure::input(format!("unknown confine.missing `{word}`"))
            .hint("it is refuse, warn or accept")),
    }
}

/// The directories that confined commands may write in besides their own.
fn writable(table: &ConfineTable) -> Result<Vec<PathBuf>, Failure> {
    let home = variable("HOME").map(PathBuf::from);
    let read = |text: &String| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        _ if Path::new(text).is_absolute() => Ok(PathBuf::from(text)),
        _ => Err(Failure::input(format!("confine.writable has `{text}`"))
            .hint("a directory there is an absolute path, or one that begins with ~/")),
    };
    table.writable.iter().flatten().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ConfineArgs;

    fn with(place: Option<ConfineArg>, network: Vec<NetworkReach>) -> LimitArgs {
        LimitArgs { confine: ConfineArgs { place, network }, ..LimitArgs::default() }
    }

    fn shown(confine: Option<ConfineArg>, workers: Option<&str>) -> String {
        let mut config = Config::default();
        config.confine.workers = workers.map(str::to_owned);
        let args = with(confine, Vec::new());
        match usual_workers(&config, &args, Path::new("/work")) {
            Ok(found) => format!("{} {:?}", found.reach.reach().as_str(), found.missing),
            Err(failure) => failure.text(),
        }
    }

    #[test]
    fn workers_are_confined_by_default_and_otherwise_when_asked() {
        use ConfineArg::{Off, ReadOnly};
        assert_eq!(shown(None, None), "directory RefuseCommands");
        assert_eq!(shown(None, Some("off")), "open RefuseCommands");
        assert_eq!(shown(Some(Off), None), "open Refuse");
        assert_eq!(shown(Some(ReadOnly), Some("off")), "read-only Refuse");
        insta::assert_snapshot!(shown(None, Some("yes")), @"
        error: unknown confine.workers `yes`
        hint: it is on or off
        ");
    }

    #[test]
    fn only_the_setting_lets_commands_run_without_a_wall() {
        use Missing::{Accept, Refuse, RefuseCommands};
        let found = |word: &str, is_worker| {
            let table = ConfineTable { missing: Some(word.to_owned()), ..ConfineTable::default() };
            let typed = with(Some(ConfineArg::Directory), Vec::new());
            assert_eq!(missing(&table, &typed, is_worker).ok(), Some(Refuse));
            missing(&table, &LimitArgs::default(), is_worker).map_err(|failure| failure.text())
        };
        for (word, expected) in [("refuse", Refuse), ("warn", RefuseCommands), ("accept", Accept)] {
            assert_eq!((found(word, true), found(word, false)), (Ok(expected), Ok(expected)));
        }
        let unset = |is_worker| missing(&ConfineTable::default(), &LimitArgs::default(), is_worker);
        assert_eq!((unset(true).ok(), unset(false).ok()), (Some(RefuseCommands), Some(Refuse)));
        let table = ConfineTable { missing: Some("yes".to_owned()), ..ConfineTable::default() };
        insta::assert_snapshot!(missing_setting(&table).unwrap_err().text(), @"
        error: unknown confine.missing `yes`
        hint: it is refuse, warn or accept
        ");
    }

    #[test]
    fn the_network_alone_is_added_to_what_there_is() {
        let typed = |base: Reach, confine| {
            let network = vec![NetworkReach::internet()];
            let args = with(confine, network);
            typed(&ConfineTable::default(), &args, &base).map_err(|failure| failure.text())
        };
        let read_only = Reach { network: NetworkReach::internet(), ..Reach::read_only() };
        assert_eq!(typed(Reach::read_only(), None), Ok(Some(read_only)));
        let directory = Reach { network: NetworkReach::internet(), ..Reach::directory() };
        assert_eq!(typed(Reach::open(), Some(ConfineArg::Directory)), Ok(Some(directory)));
        insta::assert_snapshot!(typed(Reach::open(), None).unwrap_err(), @"
        error: --network is for confined runs
        hint: commands that are not confined have the network anyway
        ");
    }

    #[test]
    fn read_only_that_is_typed_leaves_the_writable_directories_of_the_settings_out() {
        let table =
            ConfineTable { writable: Some(vec!["/cache".to_owned()]), ..ConfineTable::default() };
        let reach = |confine| {
            let args = with(Some(confine), Vec::new());
            typed(&table, &args, &Reach::open()).unwrap()
        };
        assert_eq!(reach(ConfineArg::ReadOnly), Some(Reach::read_only()));
        assert_eq!(reach(ConfineArg::Directory).unwrap().writable, [PathBuf::from("/cache")]);
    }

    #[test]
    fn a_writable_directory_is_absolute() {
        let table = |path: &str| ConfineTable {
            writable: Some(vec![path.to_owned()]),
            ..ConfineTable::default()
        };
        assert_eq!(writable(&table("/cache")).unwrap(), [PathBuf::from("/cache")]);
        insta::assert_snapshot!(writable(&table("cache")).unwrap_err().text(), @"
        error: confine.writable has `cache`
        hint: a directory there is an absolute path, or one that begins with ~/
        ");
    }
}
