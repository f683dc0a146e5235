//! A call's arguments as a filter reads them: flat, each key once, nothing that another host's tool
//! might take for a path beside the one that is judged.

use tine_model::RawJson;

use super::denial::{Denial, DenialCode};
use super::tool_names::{BASH, FILE_EDIT, FILE_READ, FILE_WRITE, GLOB, GREP, REPL};
use crate::arguments::Arguments;
use crate::call::shown;

/// Names under which hosts and models write the path of a call. Two of them in one call could mean two
/// paths, of which only one is judged.
const PATH_NAMES: [&str; 16] = words!(
    "file_path filepath path file filename file_name absolute_path abs_path target target_file target_path \
    notebook_path dest destination uri url"
);

/// A tool's own names for its path, of which the first is used by the built-in tool.
const FILE_PATH: &str = "file_path";

/// The canonical tools that filters know.
const TOOLS: [&str; 7] = [BASH, FILE_EDIT, FILE_READ, FILE_WRITE, GLOB, GREP, REPL];

/// What models of other hosts call them, in small letters without punctuation.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("write", "FileWrite"),
    ("writefile", "FileWrite"),
    ("create", "FileWrite"),
    ("createfile", "FileWrite"),
    ("edit", "FileEdit"),
    ("editfile", "FileEdit"),
    ("multiedit", "FileEdit"),
    ("strreplace", "FileEdit"),
    ("read", "FileRead"),
    ("readfile", "FileRead"),
    ("cat", "FileRead"),
    ("view", "FileRead"),
    ("shell", "Bash"),
    ("sh", "Bash"),
    ("terminal", "Bash"),
    ("ls", "Glob"),
    ("search", "Grep"),
    ("rg", "Grep"),
];

/// A call whose arguments are flat.
#[derive(Debug)]
pub(super) struct Fields(Arguments);

impl Fields {
    /// Reads the arguments; every way in which two readers could understand them differently is refused.
    pub(super) fn parse(input: &RawJson) -> Result<Self, Denial> {
        let arguments = Arguments::parse(input).map_err(bad)?;
        if let Some(field) = arguments.first_nested() {
            return Err(bad(format!(
                "the arguments must be flat, and `{}` holds a list or an object",
                shown(field)
            )));
        }
        Ok(Self(arguments))
    }

    /// Refuses fields other than `known`.
    pub(super) fn only(self, tool: &str, known: &[&str]) -> Result<Self, Denial> {
        let unknown = self.0.names().find(|name| !known.contains(name));
        let refusal = unknown.map(|name| {
            bad(format!(
                "{tool} does not know the argument `{}`; it takes {}",
                shown(name),
                known.join(", ")
            ))
        });
        refusal.map_or(Ok(self), Err)
    }

    /// Refuses a second path beside `file_path`.
    pub(super) fn with_one_path(self) -> Result<Self, Denial> {
        let paths: Vec<&str> = self.0.names().filter(|name| is_path_name(name)).collect();
        if let [first, second, ..] = paths.as_slice() {
            return Err(bad(format!(
                "`{}` and `{}` could both mean the path; give `{FILE_PATH}` alone",
                shown(first),
                shown(second)
            )));
        }
        Ok(self)
    }

    /// Every text in a field whose name means a path.
    pub(super) fn paths(&self) -> Result<Vec<&str>, Denial> {
        let names = self.0.names().filter(|name| is_path_name(name));
        let texts = names.map(|name| self.text(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(texts.into_iter().flatten().collect())
    }

    /// The text in a field; absent and null are the same.
    pub(super) fn text(&self, field: &str) -> Result<Option<&str>, Denial> {
        let text = self.0.text(field).map_err(bad)?;
        match text {
            Some(text) if text.contains('\0') => {
                Err(bad(format!("`{}` holds a NUL character", shown(field))))
            }
            text => Ok(text),
        }
    }

    /// Refuses a field that holds something else than a text; any text is content.
    pub(super) fn content(&self, field: &str) -> Result<(), Denial> {
        self.0.text(field).map(|_| ()).map_err(bad)
    }

    /// The text in a field that must be there and hold something.
    pub(super) fn required(&self, field: &str) -> Result<&str, Denial> {
        match self.text(field)? {
            None => Err(bad(format!("`{field}` is missing"))),
            Some(text) if text.trim().is_empty() => Err(bad(format!("`{field}` is empty"))),
            Some(text) => Ok(text),
        }
    }
}

fn bad(reason: impl Into<String>) -> Denial {
    Denial::new(DenialCode::Arguments, reason, "")
}

fn is_path_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    PATH_NAMES.iter().any(|path| path.replace('_', "") == plain)
}

/// The refusal of a name that is no canonical tool's, with the tool that was perhaps meant. `None` for a
/// canonical name, and for one that is like none of them.
pub(super) fn misspelled(tool: &str) -> Option<Denial> {
    if TOOLS.contains(&tool) {
        return None;
    }
    let plain: String = tool.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let canonical = TOOLS.into_iter().find(|name| name.to_ascii_lowercase() == plain);
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == plain).map(|(_, tool)| *tool);
    let meant = canonical.or(other)?;
    let reason = format!("there is no tool `{}`", shown(tool));
    Some(Denial::new(DenialCode::UnknownTool, reason, format!("Did you mean `{meant}`?")))
}

/// The refusal of a tool that is not among those of a run.
pub(super) fn refused(tool: &str, hint: &str) -> Denial {
    misspelled(tool).unwrap_or_else(|| {
        let reason = format!("this run may not call `{}`", shown(tool));
        Denial::new(DenialCode::ToolRefused, reason, hint)
    })
}
