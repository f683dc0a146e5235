//! Permission rules: how they are written, and which calls they cover.
//!
//! A rule covers less when it allows than when it denies or asks: in doubt an allow rule does not
//! cover a call, and a deny rule does. Rules do not know modes; `judge` brings the two together.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};

use crate::call::{Kind, Subject, Target, literal_folders};
use crate::command_pattern::{CommandPattern, Meets, all_allowed};
use crate::paths::PathPlace;
use crate::protected::is_steering;
use crate::secrets::is_secret;

/// A rule, written `Tool` or `Tool(pattern)`: `Bash(git log *)`, `FileEdit(src/**)`.
///
/// For `Bash` the pattern is words with `*` for any text, and is held against each command that the text runs, however it
/// is written there. Where it denies or asks, it meets the command behind launchers too (`env`, `sudo`, `sh -c`), by any path of
/// its program, and with options before its subcommand; a line is allowed if rules cover all its commands as they are
/// written. A pattern with an operator in it (`cd x && make *`) is compared with the text of the line. For the file and search
/// tools it is a glob over the path, relative to the working directory or absolute. To write a file
/// that can start programs, the glob must name it, or the folder that makes it one.
#[derive(Clone, Debug)]
pub struct Rule {
    tool: String,
    pattern: Option<Pattern>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Command(CommandPattern),
    Path { text: String, glob: GlobMatcher },
}

/// The text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Nothing that could be a tool's name stands before the pattern.
    #[error("`{0}` does not begin with a tool name (letters, digits, `_`, `-`, `.`, `:`)")]
    ToolName(String),
    /// A built-in tool in the wrong case, which would never match.
    #[error("`{written}` is not a tool; did you mean `{meant}`?")]
    ToolCase {
        /// What was written.
        written: String,
        /// The name of the tool.
        meant: &'static str,
    },
    /// The pattern is not closed, or something follows it.
    #[error("`{0}` must end with `)` after its pattern")]
    NotClosed(String),
    /// The parentheses hold nothing, or too much.
    #[error("the pattern of `{tool}` must have 1 to {PATTERN_BYTES_MAX} bytes, it has {bytes}")]
    PatternSize {
        /// The tool of the rule.
        tool: String,
        /// The size of what was written.
        bytes: usize,
    },
    /// The tool's arguments are not known here, so a pattern would have no meaning.
    #[error(
        "`{0}` cannot have a pattern: patterns are for Bash, FileEdit, FileRead, FileWrite, Glob and Grep"
    )]
    PatternNotKnown(String),
    /// A path pattern that could never match a resolved path.
    #[error(
        "the path pattern `{0}` must not use `~` or `..`; write the path from `/` or from the directory"
    )]
    PathNotResolved(String),
    /// The glob itself is malformed.
    #[error("the path pattern `{pattern}` is not a glob: {problem}")]
    Glob {
        /// What was written.
        pattern: String,
        /// What the glob parser said.
        problem: String,
    },
}

/// The longest pattern; far above any useful one, and it bounds the time of a match.
const PATTERN_BYTES_MAX: usize = 1_000;

/// Stands for an unknown name below a search's directory.
const ANY_NAME: &str = "_";

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')');
                (tool, Some(inner.ok_or_else(|| RuleError::NotClosed(text.to_owned()))?))
            }
        };
        check_tool(text, tool)?;
        let pattern = pattern.map(|pattern| Pattern::parse(tool, pattern)).transpose()?;
        Ok(Self { tool: tool.to_owned(), pattern })
    }
}

fn check_tool(text: &str, tool: &str) -> Result<(), RuleError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if tool.is_empty() || !tool.chars().all(allowed) {
        return Err(RuleError::ToolName(text.to_owned()));
    }
    let same = |known: &&str| known.eq_ignore_ascii_case(tool) && *known != tool;
    match Kind::KNOWN.into_iter().find(same) {
        Some(meant) => Err(RuleError::ToolCase { written: tool.to_owned(), meant }),
        None => Ok(()),
    }
}

impl Pattern {
    fn parse(tool: &str, text: &str) -> Result<Self, RuleError> {
        if text.is_empty() || text.len() > PATTERN_BYTES_MAX {
            return Err(RuleError::PatternSize { tool: tool.to_owned(), bytes: text.len() });
        }
        match Kind::of(tool) {
            Kind::Script | Kind::Crew | Kind::Unknown => {
                Err(RuleError::PatternNotKnown(tool.to_owned()))
            }
            Kind::Command => Ok(Self::Command(CommandPattern::new(text))),
            Kind::Read | Kind::Write | Kind::Search => Self::parse_path(text),
        }
    }

    fn parse_path(text: &str) -> Result<Self, RuleError> {
        let trimmed = text.strip_prefix("./").unwrap_or(text);
        if trimmed.starts_with('~') || trimmed.split('/').any(|part| part == "..") {
            return Err(RuleError::PathNotResolved(text.to_owned()));
        }
        let whole =
            if trimmed.ends_with('/') { format!("{trimmed}**") } else { trimmed.to_owned() };
        let glob = GlobBuilder::new(&whole)
            .literal_separator(true)
            .build()
            .map_err(|error| RuleError::Glob {
                pattern: text.to_owned(),
                problem: error.kind().to_string(),
            })?
            .compile_matcher();
        Ok(Self::Path { text: text.to_owned(), glob })
    }

    fn text(&self) -> &str {
        match self {
            Self::Command(pattern) => pattern.text(),
            Self::Path { text, .. } => text,
        }
    }
}

/// Whether the rules, as ones that allow, together cover the call.
pub(crate) fn allows(rules: &[Rule], tool: &str, subject: &Subject) -> bool {
    if rules.iter().any(|rule| rule.allows(tool, subject)) {
        return true;
    }
    let Subject::Command(command) = subject else { return false };
    let patterns = rules.iter().filter(|rule| rule.tool == tool).filter_map(Rule::command_pattern);
    patterns.clone().next().is_some()
        && all_allowed(patterns, command.text(), command.shell.reading())
}

impl Rule {
    /// True if the rule, as one that denies, keeps the content of a file from tools that read; the path is absolute. A rule
    /// without a pattern is about the tools and not about files.
    pub fn hides(&self, directory: &Path, path: &Path) -> bool {
        let target = || Subject::Read(Target::new(directory, &path.to_string_lossy()));
        self.pattern.is_some() && self.meets("FileRead", &target()) == Meets::Yes
    }

    /// The tool whose calls it is about.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The pattern of a rule for commands.
    pub(crate) fn command_pattern(&self) -> Option<&CommandPattern> {
        match &self.pattern {
            Some(Pattern::Command(pattern)) => Some(pattern),
            Some(Pattern::Path { .. }) | None => None,
        }
    }

    /// Whether this is a rule for the text of the command and no other.
    pub(crate) fn is_exactly(&self, tool: &str, subject: &Subject) -> bool {
        let Subject::Command(command) = subject else { return false };
        let text = self.pattern.as_ref().map(Pattern::text);
        self.tool == tool && text == Some(command.text()) && !command.text().contains('*')
    }

    /// Whether this rule, standing among the allow rules, covers the call.
    pub(crate) fn allows(&self, tool: &str, subject: &Subject) -> bool {
        if self.tool != tool {
            return false;
        }
        match (subject, &self.pattern) {
            (Subject::Read(target), pattern) => {
                self.may_open(target) && pattern.as_ref().is_none_or(|p| p.matches(target, ""))
            }
            (Subject::Write(target), pattern) => {
                self.may_open(target)
                    && pattern
                        .as_ref()
                        .is_none_or(|p| p.matches(target, "") && p.names_steering_of(target))
            }
            (Subject::Search(target), pattern) => {
                let below = format!("{ANY_NAME}/{ANY_NAME}");
                self.may_open(target)
                    && pattern.as_ref().is_none_or(|p| {
                        p.is_exactly(target)
                            || p.matches(target, ANY_NAME) && p.matches(target, &below)
                    })
            }
            (Subject::Command(command), Some(Pattern::Command(pattern))) => {
                all_allowed(std::iter::once(pattern), command.text(), command.shell.reading())
            }
            (
                Subject::Command(_) | Subject::Script(_) | Subject::Crew(_) | Subject::Unknown,
                None,
            ) => true,
            (Subject::Command(_), Some(Pattern::Path { .. }))
            | (Subject::Script(_) | Subject::Crew(_) | Subject::Unknown, Some(_)) => false,
        }
    }

    /// A secret is opened only by a rule whose own words name one.
    fn may_open(&self, target: &Target) -> bool {
        !target.secret || self.pattern.as_ref().is_some_and(|p| is_secret(p.text().as_ref()))
    }

    /// Whether this rule, standing among the deny or ask rules, covers any part of the call. A path
    /// pattern covers everything below what it matches.
    pub(crate) fn meets(&self, tool: &str, subject: &Subject) -> Meets {
        if self.tool != tool {
            return Meets::No;
        }
        let meets = match (subject, &self.pattern) {
            (Subject::Command(command), Some(Pattern::Command(pattern))) => {
                return pattern.meets(command.text(), command.shell.reading(), &command.directory);
            }
            (_, None) => true,
            (Subject::Read(target) | Subject::Write(target), Some(pattern)) => {
                pattern.matches_above(target)
            }
            (Subject::Search(target), Some(pattern)) => {
                pattern.matches_above(target)
                    || pattern.matches(target, ANY_NAME)
                    || pattern.is_below(target)
            }
            (Subject::Command(_), Some(Pattern::Path { .. }))
            | (Subject::Script(_) | Subject::Crew(_) | Subject::Unknown, Some(_)) => false,
        };
        if meets { Meets::Yes } else { Meets::No }
    }
}

impl Pattern {
    /// Whether the glob matches the target with `below` appended.
    fn matches(&self, target: &Target, below: &str) -> bool {
        let Self::Path { glob, .. } = self else { return false };
        self.base(target).is_some_and(|path| {
            if below.is_empty() { glob.is_match(path) } else { glob.is_match(path.join(below)) }
        })
    }

    /// Whether the glob matches the target or a folder above it.
    fn matches_above(&self, target: &Target) -> bool {
        let Self::Path { glob, .. } = self else { return false };
        self.base(target).is_some_and(|path| path.ancestors().any(|path| glob.is_match(path)))
    }

    /// Returns true if the pattern's own words have each name on the target's path by which the target can start programs. A pattern
    /// for a folder is not meant for what runs later in it.
    fn names_steering_of(&self, target: &Target) -> bool {
        let text = Path::new(self.text());
        let (below, words) = match &target.place {
            PathPlace::Outside(path) => (path, text),
            PathPlace::Inside(relative) => {
                let depth = relative.components().count();
                let directory = target.absolute.ancestors().nth(depth);
                let words = directory.and_then(|directory| text.strip_prefix(directory).ok());
                (relative, words.unwrap_or(text))
            }
        };
        let names = |path: &Path| -> Vec<String> {
            path.components()
                .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
                .collect()
        };
        let words = names(words);
        let is_named = |name: &String| is_steering(name.as_ref());
        let mut steering: Vec<String> = names(below).into_iter().filter(is_named).collect();
        if steering.is_empty() && is_steering(below) {
            // A program in a folder of programs, which no name alone tells.
            steering.push("bin".to_owned());
        }
        steering.iter().all(|name| words.contains(name))
    }

    /// Whether the pattern has no wildcard and is the target itself.
    fn is_exactly(&self, target: &Target) -> bool {
        let Self::Path { text, .. } = self else { return false };
        !text.contains(['*', '?', '[', '{', '\\']) && self.matches(target, "")
    }

    /// Whether the folder that the pattern names lies below the target.
    fn is_below(&self, target: &Target) -> bool {
        let Self::Path { text, .. } = self else { return false };
        let folders = literal_folders(text.strip_prefix("./").unwrap_or(text));
        !folders.is_empty()
            && self.base(target).is_some_and(|path| Path::new(&folders).starts_with(path))
    }

    /// The form of the target's path that this pattern speaks of: absolute, or relative where the
    /// target is inside the directory.
    fn base<'a>(&self, target: &'a Target) -> Option<&'a Path> {
        if self.text().starts_with('/') {
            return Some(&target.absolute);
        }
        match &target.place {
            PathPlace::Inside(relative) => Some(relative),
            PathPlace::Outside(_) => None,
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let text = |rule: &'_ Self| rule.pattern.as_ref().map(|pattern| pattern.text().to_owned());
        self.tool == other.tool && text(self) == text(other)
    }
}

impl Eq for Rule {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({})", self.tool, pattern.text()),
        }
    }
}

/// Three sets of rules. Deny beats ask, ask beats allow; the order inside a set has no meaning.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Calls that may run without a question.
    pub allow: Vec<Rule>,
    /// Calls that are asked about even where the mode or another rule allows them.
    pub ask: Vec<Rule>,
    /// Calls that never run.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Reads the three lists as they stand in a settings file; the first bad rule is the error.
    pub fn parse<S: AsRef<str>>(allow: &[S], ask: &[S], deny: &[S]) -> Result<Self, RuleError> {
        let read = |list: &[S]| -> Result<Vec<Rule>, RuleError> {
            list.iter().map(|text| text.as_ref().parse()).collect()
        };
        Ok(Self { allow: read(allow)?, ask: read(ask)?, deny: read(deny)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_written_as_it_was_read() {
        for text in
            ["Bash", "Bash(git log *)", "FileEdit(src/**)", "mcp__files__list", "Bash(f(x))"]
        {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_bad_rule_says_what_is_wrong() {
        let error = |text: &str| text.parse::<Rule>().unwrap_err().to_string();
        insta::assert_snapshot!(error(""), @"`` does not begin with a tool name (letters, digits, `_`, `-`, `.`, `:`)");
        insta::assert_snapshot!(error("(x)"), @"`(x)` does not begin with a tool name (letters, digits, `_`, `-`, `.`, `:`)");
        insta::assert_snapshot!(error("Bash(git log"), @"`Bash(git log` must end with `)` after its pattern");
        insta::assert_snapshot!(error("Bash(a) b"), @"`Bash(a) b` must end with `)` after its pattern");
        insta::assert_snapshot!(error("Bash()"), @"the pattern of `Bash` must have 1 to 1000 bytes, it has 0");
        insta::assert_snapshot!(error("bash(ls)"), @"`bash` is not a tool; did you mean `Bash`?");
        insta::assert_snapshot!(error("Agent(x)"), @"`Agent` cannot have a pattern: patterns are for Bash, FileEdit, FileRead, FileWrite, Glob and Grep");
        insta::assert_snapshot!(error("FileRead(~/x)"), @"the path pattern `~/x` must not use `~` or `..`; write the path from `/` or from the directory");
        insta::assert_snapshot!(error("FileRead(src/[a)"), @"the path pattern `src/[a` is not a glob: unclosed character class; missing ']'");
    }
}
