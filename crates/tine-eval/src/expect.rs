//! What is expected of a run. Plain data and its reading from TOML; [`crate::judge`] compares.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use regex::Regex;
use serde::Deserialize;
use tine_model::Outcome;

/// What is expected of one run of a case. Everything that is said must hold.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// How it ends.
    pub outcome: OutcomeName,
    /// What it says at its end.
    pub report: ReportExpect,
    /// What it calls.
    pub tool_calls: CallExpect,
    /// What its directory holds in the end, by relative path.
    pub files: BTreeMap<String, FileExpect>,
    /// Most that it costs. A model without a known price fails.
    pub max_cost_usd: Option<f64>,
    /// Most tokens, prompt and output together.
    pub max_tokens: Option<u64>,
    /// Most answered requests.
    pub max_turns: Option<u32>,
}

/// How a run may end: the words of [`Outcome::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeName {
    /// [`Outcome::Completed`].
    #[default]
    Completed,
    /// [`Outcome::TurnLimit`].
    TurnLimit,
    /// [`Outcome::LengthCut`].
    LengthCut,
    /// [`Outcome::Refused`].
    Refused,
    /// [`Outcome::TimedOut`].
    TimedOut,
    /// [`Outcome::Failed`].
    Failed,
    /// However it likes.
    Any,
}

impl OutcomeName {
    /// Whether this is how a run ended.
    pub fn is(self, outcome: &Outcome) -> bool {
        self == Self::Any || self.as_str() == outcome.as_str()
    }

    /// The word in suites.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TurnLimit => "turn_limit",
            Self::LengthCut => "length_cut",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Any => "any",
        }
    }
}

/// What the last own text of a fork is like.
#[derive(Debug, Clone, Default)]
pub struct ReportExpect {
    /// Texts that stand in it, whatever their case.
    pub contains: Vec<String>,
    /// Patterns that match somewhere in it.
    pub matches: Vec<Pattern>,
    /// Texts that do not stand in it, whatever their case.
    pub absent: Vec<String>,
    /// Whether it has a `Scope:` part.
    pub has_scope: Option<bool>,
}

/// Which calls are made.
#[derive(Debug, Clone, Default)]
pub struct CallExpect {
    /// Each of them at least once.
    pub must: Vec<CallPattern>,
    /// None of them.
    pub must_not: Vec<CallPattern>,
    /// At least so many calls of any tool.
    pub min: Option<u32>,
    /// At most so many calls of any tool.
    pub max: Option<u32>,
}

/// A call: `Tool`, or `Tool(text)` for one whose arguments hold that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPattern {
    /// The tool's name.
    pub tool: String,
    /// What stands in its arguments, as JSON text.
    pub containing: Option<String>,
}

impl TryFrom<String> for CallPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (tool, containing) = match text.split_once('(') {
            None => (text.as_str(), None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').unwrap_or_default())),
        };
        if tool.is_empty() || containing == Some("") {
            Err(format!("`{text}` is no call: a call is `Tool` or `Tool(text)`"))
        } else {
            Ok(Self { tool: tool.to_owned(), containing: containing.map(str::to_owned) })
        }
    }
}

impl std::fmt::Display for CallPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.containing {
            None => f.write_str(&self.tool),
            Some(text) => write!(f, "{}({text})", self.tool),
        }
    }
}

/// What a file is like in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileExpect {
    /// It is there or not.
    Present(bool),
    /// It is there, and this is true of its text.
    Text {
        /// These stand in it.
        contains: Vec<String>,
        /// These do not, whatever their case.
        absent: Vec<String>,
    },
}

/// A checked regular expression.
#[derive(Debug, Clone)]
pub struct Pattern(pub Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // The last line says what is wrong; those before draw it.
        let last = |error: regex::Error| {
            let text = error.to_string();
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        };
        let wrong = |error| format!("`{text}` is not a regular expression: {}", last(error));
        Regex::new(&text).map(Self).map_err(wrong)
    }
}

/// What is expected, as it stands in the file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawExpect {
    outcome: OutcomeName,
    report: RawReport,
    tool_calls: RawCalls,
    files: BTreeMap<String, RawFile>,
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    max_turns: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawReport {
    contains: Option<Texts>,
    matches: Option<Texts>,
    absent: Option<Texts>,
    has_scope: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawCalls {
    must: Option<Texts>,
    must_not: Option<Texts>,
    min: Option<u32>,
    max: Option<u32>,
}

/// One text, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Texts {
    One(String),
    List(Vec<String>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text or a list of texts that the file contains, a table of `contains` and `absent`, or whether it is there"
)]
enum RawFile {
    Present(bool),
    Contains(Texts),
    Table(RawText),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawText {
    contains: Option<Texts>,
    absent: Option<Texts>,
}

fn list(texts: Option<Texts>) -> Vec<String> {
    match texts {
        None => Vec::new(),
        Some(Texts::One(text)) => vec![text],
        Some(Texts::List(texts)) => texts,
    }
}

fn all<T: TryFrom<String, Error = String>>(texts: Option<Texts>) -> Result<Vec<T>, String> {
    list(texts).into_iter().map(T::try_from).collect()
}

impl RawExpect {
    /// The error is a sentence about the value that is wrong.
    pub(crate) fn checked(self) -> Result<Expect, String> {
        let Self { outcome, report, tool_calls, files, .. } = self;
        if let Some(path) = files.keys().find(|path| !is_inside(path)) {
            return Err(format!("`{path}` is no path inside the case's directory"));
        }
        let file = |(path, file)| {
            let file = match file {
                RawFile::Present(present) => FileExpect::Present(present),
                RawFile::Contains(texts) => {
                    FileExpect::Text { contains: list(Some(texts)), absent: Vec::new() }
                }
                RawFile::Table(RawText { contains, absent }) => {
                    FileExpect::Text { contains: list(contains), absent: list(absent) }
                }
            };
            (path, file)
        };
        Ok(Expect {
            outcome,
            report: ReportExpect {
                contains: list(report.contains),
                matches: all(report.matches)?,
                absent: list(report.absent),
                has_scope: report.has_scope,
            },
            tool_calls: CallExpect {
                must: all(tool_calls.must)?,
                must_not: all(tool_calls.must_not)?,
                min: tool_calls.min,
                max: tool_calls.max,
            },
            files: files.into_iter().map(file).collect(),
            max_cost_usd: self.max_cost_usd,
            max_tokens: self.max_tokens,
            max_turns: self.max_turns,
        })
    }
}

/// Whether a path leads nowhere but down.
fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    path.components().all(|part| matches!(part, Component::Normal(_)))
        && path.components().next().is_some()
}
