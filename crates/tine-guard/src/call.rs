//! One tool call, and what it is about in the guard's eyes.
//!
//! The built-in tools are known by name, because a rule's pattern must know which argument it is
//! about. Any other tool is only a name here: its arguments are never interpreted.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tine_model::RawJson;

use crate::arguments::Arguments;
use crate::paths::{PathPlace, place_of};
use crate::protected::is_steering;
use crate::secrets::is_secret;
use crate::shell::ShellText;
use crate::unseen::is_unseen;
use crate::verdict::Reason;
use crate::wildcard::COMMAND_BYTES_MAX;

/// A tool call as the model wrote it, and the directory of the agent that would run it. What it is about is read from its
/// arguments once, whoever asks.
#[derive(Debug)]
pub struct Call<'a> {
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// The arguments, untouched.
    pub input: &'a RawJson,
    /// The agent's working directory; must be absolute for anything to count as inside it.
    pub directory: &'a Path,
    arguments: OnceLock<Result<Arguments, String>>,
    subject: OnceLock<Result<Subject, Reason>>,
}

impl<'a> Call<'a> {
    /// A call of the tool with this canonical name. The directory must be absolute for anything to count as inside it.
    pub fn new(tool: &'a str, input: &'a RawJson, directory: &'a Path) -> Self {
        let (arguments, subject) = (OnceLock::new(), OnceLock::new());
        Self { tool, input, directory, arguments, subject }
    }

    /// The text that the call would give to a shell; `None` where it gives none, or its arguments cannot be judged.
    pub fn shell_text(&self) -> Option<&ShellText> {
        match self.subject() {
            Ok(Subject::Command(command)) => Some(&command.shell),
            _ => None,
        }
    }

    pub(crate) fn arguments(&self) -> Result<&Arguments, &String> {
        self.arguments.get_or_init(|| Arguments::parse(self.input)).as_ref()
    }

    /// The subject of the call; the error says why it cannot be judged.
    pub(crate) fn subject(&self) -> Result<&Subject, &Reason> {
        self.subject.get_or_init(|| Subject::of(self).map_err(Reason::new)).as_ref()
    }
}

/// What the argument of a tool is about, by the tool's canonical name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Search,
    Command,
    Script,
    Crew,
    Unknown,
}

/// The tools of tine. A rule may name others, which a program that embeds the guard has.
pub const TOOL_NAMES: [&str; 16] = words!(
    "Agent Bash BashOutput FileEdit FileRead FileWrite Glob Grep REPL TaskCancel TaskClear TaskList TaskOutput \
    TaskSend TaskStart TaskWait"
);

impl Kind {
    /// The tools whose arguments the guard understands.
    pub(crate) const KNOWN: [&str; 16] = TOOL_NAMES;

    pub(crate) fn of(tool: &str) -> Self {
        match tool {
            "FileRead" => Self::Read,
            "FileEdit" | "FileWrite" => Self::Write,
            "Glob" | "Grep" => Self::Search,
            "Bash" => Self::Command,
            "REPL" => Self::Script,
            "Agent" | "BashOutput" | "TaskCancel" | "TaskClear" | "TaskList" | "TaskOutput"
            | "TaskSend" | "TaskStart" | "TaskWait" => Self::Crew,
            _ => Self::Unknown,
        }
    }

    /// The field that holds the path of such a call; a search without it starts at the directory.
    pub(crate) fn path_field(self) -> Option<&'static str> {
        match self {
            Self::Read | Self::Write => Some("file_path"),
            Self::Search => Some("path"),
            Self::Command | Self::Script | Self::Crew | Self::Unknown => None,
        }
    }
}

/// A call after its arguments were read.
#[derive(Debug)]
pub(crate) enum Subject {
    Read(Target),
    Write(Target),
    Search(Target),
    Command(Box<CommandText>),
    /// A script does nothing but make calls, and each of them is judged by itself.
    Script(String),
    /// Starts or steers workers; what those do is judged by itself.
    Crew(String),
    Unknown,
}

/// A shell command, and the directory in which it would run.
#[derive(Debug)]
pub(crate) struct CommandText {
    pub(crate) shell: ShellText,
    pub(crate) directory: PathBuf,
}

impl CommandText {
    pub(crate) fn text(&self) -> &str {
        self.shell.text()
    }
}

/// The path that a call is about.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) place: PathPlace,
    pub(crate) absolute: PathBuf,
    pub(crate) secret: bool,
}

impl Target {
    pub(crate) fn new(directory: &Path, path: &str) -> Self {
        let place = place_of(directory, path);
        let absolute = match &place {
            PathPlace::Inside(relative) => directory.join(relative),
            PathPlace::Outside(path) => path.clone(),
        };
        Self { secret: is_secret(&absolute), place, absolute }
    }

    /// Whether the path is inside the directory and no writer can gain power through it.
    pub(crate) fn is_harmless_to_write(&self) -> bool {
        match &self.place {
            PathPlace::Inside(relative) => {
                !self.secret && !is_steering(relative) && relative != Path::new("")
            }
            PathPlace::Outside(_) => false,
        }
    }

    /// The path as a person who stands in the directory would write it.
    pub(crate) fn shown(&self) -> String {
        match &self.place {
            PathPlace::Inside(relative) if relative == Path::new("") => ".".to_owned(),
            PathPlace::Inside(path) | PathPlace::Outside(path) => shown(&path.to_string_lossy()),
        }
    }
}

impl Subject {
    fn of(call: &Call<'_>) -> Result<Self, String> {
        let arguments = call.arguments().map_err(String::clone)?;
        let kind = Kind::of(call.tool);
        let may_nest = matches!(kind, Kind::Unknown | Kind::Crew);
        if let Some(field) = arguments.first_nested().filter(|_| !may_nest) {
            return Err(format!(
                "`{}` must be a plain value, not a list or an object",
                shown(field)
            ));
        }
        match kind {
            Kind::Read => Ok(Self::Read(file_target(call, arguments)?)),
            Kind::Write => Ok(Self::Write(file_target(call, arguments)?)),
            Kind::Search => Ok(Self::Search(search_target(call, arguments)?)),
            Kind::Command => {
                let command = required(arguments, "command")?;
                if command.len() > COMMAND_BYTES_MAX {
                    return Err(format!("the command is longer than {COMMAND_BYTES_MAX} bytes"));
                }
                let shell = ShellText::new(command);
                let directory = call.directory.to_owned();
                Ok(Self::Command(Box::new(CommandText { shell, directory })))
            }
            Kind::Script => Ok(Self::Script(required(arguments, "code")?.to_owned())),
            Kind::Crew => Ok(Self::Crew(crew_text(arguments))),
            Kind::Unknown => Ok(Self::Unknown),
        }
    }
}

/// The subject of a call that starts or steers a worker, or that reads or stops a command of one's own in the background.
fn crew_text(arguments: &Arguments) -> String {
    let fields = ["description", "task_id", "resume", "prompt", "status", "name"];
    let texts = fields.iter().filter_map(|field| arguments.text(field).ok().flatten());
    texts.map(str::to_owned).next().unwrap_or_default()
}

fn required<'a>(arguments: &'a Arguments, field: &str) -> Result<&'a str, String> {
    arguments.text(field)?.ok_or_else(|| format!("`{field}` is missing"))
}

fn file_target(call: &Call<'_>, arguments: &Arguments) -> Result<Target, String> {
    let path = required(arguments, "file_path")?;
    without_nul("file_path", path)?;
    Ok(Target::new(call.directory, path))
}

/// Where a search starts. A `Glob` pattern may itself carry a directory, so it counts too.
fn search_target(call: &Call<'_>, arguments: &Arguments) -> Result<Target, String> {
    let path = arguments.text("path")?.unwrap_or("");
    without_nul("path", path)?;
    if call.tool == "Glob" {
        let pattern = arguments.text("pattern")?.unwrap_or("");
        without_nul("pattern", pattern)?;
        let climbs = pattern.split(['/', '{', ',', '}']).any(|part| part == "..");
        if pattern.starts_with(['/', '~']) || climbs {
            return Ok(Target::new(call.directory, &literal_folders(pattern)));
        }
    }
    let mut target = Target::new(call.directory, path);
    if call.tool == "Grep" && arguments.text("glob")?.is_some_and(|glob| is_secret(glob.as_ref())) {
        target.secret = true;
    }
    Ok(target)
}

/// The folders of a glob up to its first wildcard. A pattern that climbs after that is taken to the
/// root, because it could end anywhere.
pub(crate) fn literal_folders(pattern: &str) -> String {
    let meta = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let literal: Vec<&str> = pattern.split('/').take_while(meta).collect();
    let rest_climbs = pattern.split('/').skip(literal.len()).any(|part| part.contains(".."));
    match literal.join("/") {
        _ if rest_climbs => "/".to_owned(),
        folders if folders.is_empty() && pattern.starts_with('/') => "/".to_owned(),
        folders => folders,
    }
}

/// The absolute path that a call would write; `None` for calls that write no file by its path.
pub fn written_path(call: &Call<'_>) -> Option<PathBuf> {
    match call.subject() {
        Ok(Subject::Write(target)) => Some(target.absolute.clone()),
        Ok(
            Subject::Read(_)
            | Subject::Search(_)
            | Subject::Command(_)
            | Subject::Script(_)
            | Subject::Crew(_)
            | Subject::Unknown,
        )
        | Err(_) => None,
    }
}

/// The absolute path of which a call of a tool would show content; `None` for calls that show none by a path.
pub fn read_path(call: &Call<'_>) -> Option<PathBuf> {
    match call.subject() {
        Ok(Subject::Read(target) | Subject::Search(target)) => Some(target.absolute.clone()),
        Ok(
            Subject::Write(_)
            | Subject::Command(_)
            | Subject::Script(_)
            | Subject::Crew(_)
            | Subject::Unknown,
        )
        | Err(_) => None,
    }
}

fn without_nul(field: &str, text: &str) -> Result<(), String> {
    if text.contains('\0') { Err(format!("`{field}` holds a NUL character")) } else { Ok(()) }
}

/// The longest description, so that a prompt stays one line of a terminal or two; what is cut is
/// counted, because the end of a command matters to whoever says yes.
const DESCRIPTION_CHARACTERS_MAX: usize = 200;

/// One line for a prompt, such as `Bash: cargo test` or `FileEdit: src/a.rs`. Characters that would
/// break the line, move the cursor or turn the reading direction are written as escapes.
pub fn describe(call: &Call<'_>) -> String {
    let argument = match call.subject() {
        Err(reason) => format!("({reason})"),
        Ok(Subject::Command(command)) => shown(command.text()),
        Ok(Subject::Script(text) | Subject::Crew(text)) => shown(text),
        Ok(Subject::Read(target) | Subject::Write(target)) => target.shown(),
        Ok(Subject::Search(target)) => {
            let pattern = call
                .arguments()
                .ok()
                .and_then(|arguments| Some(shown(arguments.text("pattern").ok()??)))
                .unwrap_or_default();
            format!("{pattern} in {}", target.shown())
        }
        Ok(Subject::Unknown) => shown(call.input.as_str()),
    };
    cut(&format!("{}: {argument}", shown(call.tool)))
}

fn cut(line: &str) -> String {
    let characters = line.chars().count();
    if characters <= DESCRIPTION_CHARACTERS_MAX {
        return line.to_owned();
    }
    let head: String = line.chars().take(DESCRIPTION_CHARACTERS_MAX).collect();
    format!("{head}… ({} more characters)", characters - DESCRIPTION_CHARACTERS_MAX)
}

/// The text with every character escaped that is not seen as itself on a line.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unseen(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(tool: &str, input: &str) -> String {
        let input = RawJson::parse(input).unwrap();
        describe(&Call::new(tool, &input, Path::new("/srv/app")))
    }

    #[test]
    fn a_call_is_described_in_one_line() {
        insta::assert_snapshot!(described("Bash", r#"{"command":"cargo test"}"#), @"Bash: cargo test");
        insta::assert_snapshot!(described("FileEdit", r#"{"file_path":"/srv/app/src/a.rs"}"#), @"FileEdit: src/a.rs");
        insta::assert_snapshot!(described("FileRead", r#"{"file_path":"../b"}"#), @"FileRead: /srv/b");
        insta::assert_snapshot!(described("Grep", r#"{"pattern":"fn main"}"#), @"Grep: fn main in .");
        insta::assert_snapshot!(described("Glob", r#"{"pattern":"/etc/*.conf","path":"src"}"#), @"Glob: /etc/*.conf in /etc");
        insta::assert_snapshot!(described("Agent", r#"{"prompt":"look"}"#), @"Agent: look");
        insta::assert_snapshot!(described("Bash", r#"{"cmd":"ls"}"#), @"Bash: (`command` is missing)");
    }

    #[test]
    fn nothing_unseen_reaches_the_prompt() {
        insta::assert_snapshot!(
            described("Bash", r#"{"command":"ls\n\u001b[2Jrm\u202e x"}"#),
            @r"Bash: ls\n\u{1b}[2Jrm\u{202e} x"
        );
    }

    #[test]
    fn a_long_command_says_how_much_is_cut() {
        let line = described("Bash", &format!(r#"{{"command":"{}"}}"#, "x".repeat(300)));
        assert!(line.ends_with("xx… (106 more characters)"), "{line}");
    }
}
