//! The commands that a person types: one table, which help, completion and suggestions are made of.

use super::keys::Action;

/// The name of before of `/hide`: still understood, and told nowhere.
const EARLIER_HIDE: &str = "reap";

/// Largest difference of a word that is suggested in the place of an unknown one, in letters.
const DIFFERENCE_MAX: usize = 2;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Fork,
    Tree,
    Parent,
    Back,
    Child,
    Send,
    Stop,
    Kill,
    Rename,
    Mark,
    Rewind,
    Clear,
    Compact,
    Side,
    Wait,
    Reap,
    Export,
    New,
    Model,
    Show,
    Answer,
    Mode,
    Resume,
    /// What a command of the command line says, of this agent where no other is named.
    Report(&'static [&'static str]),
    /// The same of all agents.
    ReportAll(&'static [&'static str]),
    /// A command of the command line that asks for something, and so has the terminal meanwhile; for this agent where no other is named.
    Lend(&'static [&'static str]),
    /// The same of no agent.
    LendAll(&'static [&'static str]),
    /// The command of the command line with this name, which starts workers of this agent.
    Workers(&'static str),
    Help,
    Quit,
}

/// A command as it is told.
pub(crate) struct Command {
    /// What it does.
    pub(crate) verb: Verb,
    /// Its names; the first is the one that is told.
    pub(crate) names: &'static [&'static str],
    /// What follows it.
    pub(crate) usage: &'static str,
    /// What it is for, in a line.
    pub(crate) help: &'static str,
    /// A key that does the same.
    pub(crate) action: Option<Action>,
}

const fn command(
    verb: Verb,
    names: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
) -> Command {
    Command { verb, names, usage, help, action: None }
}

const fn report(
    names: &'static [&'static str],
    words: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
) -> Command {
    command(Verb::Report(words), names, usage, help)
}

const fn lend(
    names: &'static [&'static str],
    words: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
) -> Command {
    command(Verb::Lend(words), names, usage, help)
}

const fn lend_all(
    names: &'static [&'static str],
    words: &'static [&'static str],
    usage: &'static str,
    help: &'static str,
) -> Command {
    command(Verb::LendAll(words), names, usage, help)
}

const fn report_all(
    names: &'static [&'static str],
    words: &'static [&'static str],
    help: &'static str,
) -> Command {
    command(Verb::ReportAll(words), names, "", help)
}

/// What may follow a command, for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Names of agents.
    Agents,
    /// Flags of a fork.
    ForkFlags,
    /// Options of the command line's own command, or its commands.
    WorkerWords,
    /// Anything.
    Words,
}

impl Command {
    /// What may follow it.
    pub(crate) fn takes(&self) -> Takes {
        match self.verb {
            Verb::Fork => Takes::ForkFlags,
            Verb::Workers(_) => Takes::WorkerWords,
            _ if self.usage.contains("AGENT") => Takes::Agents,
            _ => Takes::Words,
        }
    }

    const fn with(self, action: Action) -> Self {
        Self { action: Some(action), ..self }
    }
}

/// All of them, in the order in which they are told.
pub(crate) const COMMANDS: &[Command] = &[
    command(
        Verb::Fork,
        &["fork"],
        "[\"prompt\"] [--at ENTRY] [--name NAME] [--model NAME] [--worktree] [--bg]; before there is an agent it begins one",
        "try another way without losing this one",
    ),
    command(Verb::Tree, &["tree", "agents"], "", "see all agents, and go to one")
        .with(Action::Tree),
    command(Verb::Parent, &["parent"], "", "go to the agent that this one was forked from")
        .with(Action::Parent),
    command(Verb::Back, &["back"], "", "go to the agent that you looked at before")
        .with(Action::Back),
    command(Verb::Child, &["child"], "", "go to the last fork of this agent").with(Action::Child),
    command(Verb::Send, &["send"], "AGENT TEXT", "leave a message for another agent"),
    command(
        Verb::Stop,
        &["stop"],
        "[AGENT | COMMAND]",
        "interrupt an agent, what it did is kept; or end a command that this one keeps in the background",
    ),
    command(Verb::Kill, &["kill"], "[AGENT] [--yes]", "end an agent and all below it, for good"),
    command(
        Verb::Workers("fan"),
        &["fan"],
        "-d TASK [-d TASK ...] [OPTIONS of `tine fan`]",
        "fork this agent into several workers at once; it goes on with their reports",
    ),
    command(
        Verb::Workers("task"),
        &["task"],
        "start \"prompt\" [--fork] | list | output | send | cancel | resume | hide",
        "start a worker that reports to this agent, and look after workers: as `tine task`, without the agent",
    ),
    command(Verb::Rename, &["rename"], "NAME", "give this agent a name"),
    command(Verb::Mark, &["mark"], "[LABEL]", "remember this place"),
    command(Verb::Rewind, &["rewind"], "[LABEL]", "go back to a mark, or before the last prompt"),
    command(Verb::Clear, &["clear"], "", "begin the conversation anew; forks keep what they have"),
    command(
        Verb::Compact,
        &["compact"],
        "[--keep-tokens N]",
        "sum the conversation up, so that it takes less room",
    ),
    command(
        Verb::Side,
        &["side", "btw"],
        "QUESTION",
        "ask beside the conversation; nothing is kept, unless f makes a fork of it",
    ),
    command(Verb::New, &["new"], "", "begin with a new agent"),
    command(
        Verb::Model,
        &["model"],
        "[NAME[/none|low|med|high] [--accept-cache-loss]]",
        "the model of new agents, or a fork of this one with another",
    ),
    command(
        Verb::Resume,
        &["resume"],
        "[AGENT]",
        "go on where this was interrupted, or find an earlier conversation",
    ),
    command(
        Verb::Show,
        &["show"],
        "[NUMBER]",
        "a call or reasoning whole; the last one, or by its number",
    ),
    command(
        Verb::Answer,
        &["answer"],
        "[y|n [REASON]|NUMBER|show|next]",
        "go to the question that waits, answer it, or show all of it with line numbers",
    )
    .with(Action::Answer),
    command(
        Verb::Mode,
        &["mode"],
        "[default|accept-edits|plan]",
        "how much agents may do unasked, in this session",
    )
    .with(Action::Mode),
    command(
        Verb::Wait,
        &["wait"],
        "[SECONDS] [AGENT...]",
        "say when agents have nothing left to do, and what they report",
    ),
    command(Verb::Reap, &["hide"], "[AGENT]", "take dead agents off the tree"),
    lend(
        &["merge-back"],
        &["merge-back"],
        "[AGENT] [--into AGENT]",
        "bring what came of this fork to its parent, as a text that you can edit",
    ),
    lend(
        &["pick"],
        &["pick"],
        "[AGENT] -d TASK [-n N] [--check COMMAND] | --among AGENT...",
        "give several forks one task, check them, and take the best",
    ),
    lend_all(
        &["trust"],
        &["trust"],
        "[--yes|--list|--revoke]",
        "read the settings that the directory brings along, and trust them",
    ),
    command(Verb::Export, &["export"], "[FILE]", "write the conversation into a file (.md, .json)"),
    report(&["tasks"], &["task", "list"], "[AGENT]", "the workers that this agent has started"),
    report(&["diff"], &["diff"], "[AGENT]", "what an agent has changed in its worktree"),
    report(
        &["apply"],
        &["apply"],
        "[AGENT] [--dry-run|--conflicts|--undo]",
        "bring the files of an agent home",
    ),
    report(&["merge"], &["merge"], "[AGENT]", "merge the commits of an agent"),
    report(
        &["drop"],
        &["worktree", "rm"],
        "[AGENT]",
        "remove an agent's worktree; what it holds is kept",
    ),
    report(&["recover"], &["worktree", "recover"], "[AGENT]", "make a removed worktree again"),
    report(&["cost", "usage"], &["cost"], "[AGENT]", "what an agent and its forks cost"),
    report(
        &["cache"],
        &["cache", "explain"],
        "[AGENT]",
        "what the provider's cache served, and why not more",
    ),
    report(&["budget"], &["budget"], "[AGENT]", "what the tree may spend, and has spent"),
    report(&["log"], &["logs"], "[AGENT]", "the log, a line for each entry"),
    report(
        &["info"],
        &["show"],
        "[AGENT]",
        "the whole conversation with the numbers of its entries",
    ),
    report_all(&["worktrees"], &["worktree", "list"], "the worktrees of all agents"),
    report_all(
        &["permissions"],
        &["permission", "rules"],
        "what is allowed and refused without a question",
    ),
    report_all(&["questions"], &["permission", "list"], "requests for permission that wait"),
    report_all(&["doctor"], &["doctor"], "whether everything that tine needs is there"),
    command(Verb::Help, &["help", "?"], "[WORD]", "all commands and keys, or those with a word")
        .with(Action::Help),
    command(Verb::Quit, &["quit", "exit", "q"], "", "leave; agents keep everything")
        .with(Action::Quit),
];

/// A line that begins with a slash, read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed<'a> {
    /// A command and what follows it.
    Command(Verb, &'a str),
    /// There is no such command; the nearest that there is.
    Unknown(&'a str, Option<&'static str>),
}

/// Reads a text that begins with a slash; `None` of any other, and of paths.
pub(crate) fn read(text: &str) -> Option<Typed<'_>> {
    let line = text.trim_start().strip_prefix('/')?;
    let (name, rest) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    // `/usr/bin` is the beginning of a sentence.
    if name.contains('/') {
        return None;
    }
    let name = if name == EARLIER_HIDE { "hide" } else { name };
    let find = |command: &&Command| command.names.contains(&name);
    Some(match COMMANDS.iter().find(find) {
        Some(command) => Typed::Command(command.verb, rest.trim()),
        None => Typed::Unknown(name, nearest(name)),
    })
}

/// Names that begin so, for completion.
pub(crate) fn completions(beginning: &str) -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(move |command| command.names[0].starts_with(beginning))
}

/// Commands of the command line that are told by another word here, beside those whose words the table has.
const SAME: [(&str, &str); 9] = [
    ("fan", "fan"),
    ("task resume", "task resume"),
    ("task output", "task output"),
    ("ps --all", "tree"),
    ("ps", "tree"),
    ("tree", "tree"),
    ("run --resume", "resume"),
    ("stop", "stop"),
    ("kill", "kill"),
];

/// A text in which commands of the command line, between backticks, are those that can be typed here.
pub(crate) fn as_typed_here(text: &str) -> String {
    const BEGIN: &str = "`tine ";
    let of_table = COMMANDS.iter().filter_map(|command| match command.verb {
        Verb::Report(words) | Verb::ReportAll(words) | Verb::Lend(words) | Verb::LendAll(words) => {
            Some((words.join(" "), command.names[0]))
        }
        _ => None,
    });
    let same = SAME.iter().map(|(words, name)| ((*words).to_owned(), *name));
    let known: Vec<(String, &str)> = of_table.chain(same).collect();
    let mut parts = text.split(BEGIN);
    let mut here = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = |words: &str| {
            part.strip_prefix(words).filter(|rest| rest.starts_with([' ', '`', '\n']))
        };
        let found = known.iter().filter_map(|(words, name)| Some((rest(words)?, name)));
        match found.min_by_key(|(rest, _)| rest.len()) {
            Some((rest, name)) => here.push_str(&format!("`/{name}{rest}")),
            None => here.push_str(&format!("{BEGIN}{part}")),
        }
    }
    here
}

fn nearest(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return None;
    }
    let begins = COMMANDS.iter().map(|command| command.names[0]);
    let begins = begins.filter(|known| known.starts_with(name)).min();
    begins.or_else(|| {
        let all = COMMANDS.iter().flat_map(|command| command.names);
        let distance = |known: &&&str| strsim::osa_distance(known, name);
        all.min_by_key(distance).filter(|known| distance(known) <= DIFFERENCE_MAX).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_is_a_command_and_a_path_is_not() {
        assert_eq!(read("/fork \"a b\" "), Some(Typed::Command(Verb::Fork, "\"a b\"")));
        assert_eq!(read("  /q"), Some(Typed::Command(Verb::Quit, "")));
        assert_eq!(read("/etc/hosts is empty"), None);
        assert_eq!(read("fork"), None);
    }

    #[test]
    fn an_unknown_command_is_answered_with_the_nearest() {
        let near = |text| match read(text) {
            Some(Typed::Unknown(_, near)) => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("/frok"), Some("fork"));
        assert_eq!(near("/comp"), Some("compact"));
        assert_eq!(near("/xyzzy"), None);
        assert_eq!(near("/"), None);
    }

    #[test]
    fn hints_name_what_can_be_typed_here() {
        let here = as_typed_here(
            "no such agent\nhint: `tine ps --all` lists all, `tine worktree list` those; `tine show 1a2b` or `tine fan`",
        );
        assert_eq!(
            here,
            "no such agent\nhint: `/tree` lists all, `/worktrees` those; `/info 1a2b` or `/fan`"
        );
    }

    #[test]
    fn no_two_commands_share_a_name() {
        let mut names: Vec<_> = COMMANDS.iter().flat_map(|command| command.names).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
