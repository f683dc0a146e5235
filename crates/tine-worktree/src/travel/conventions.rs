//! Settings of a user and of a repository by which the same files are the same state on another machine.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::TravelError;
use crate::error::WorktreeError;
use crate::fault;
use crate::git::Git;
use crate::repository::Repository;
use crate::wary;

/// Most characters of a person's name or address.
const PERSON_CHARACTERS_MAX: usize = 256;

/// The file beside git's own that has the user's attributes, which count least.
const ATTRIBUTES: &str = "tine-attributes";

/// Settings for the authors of commits, line ends and ignored files. Programs that settings name are not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conventions {
    /// `user.name`.
    pub name: Option<String>,
    /// `user.email`.
    pub email: Option<String>,
    /// `core.autocrlf`: `true`, `false` or `input`.
    pub auto_crlf: Option<String>,
    /// `core.eol`: `lf`, `crlf` or `native`.
    pub line_end: Option<String>,
    /// Patterns of ignored files that no commit has: the user's, then the repository's.
    pub ignored: String,
    /// The user's attributes of files.
    pub attributes: String,
    /// The repository's own attributes of files, which count most.
    pub own_attributes: String,
}

impl Conventions {
    /// Those of a repository and of its user.
    pub fn of(repository: &Repository) -> Result<Self, WorktreeError> {
        let git = repository.git();
        let setting = |name: &str| -> Result<Option<String>, WorktreeError> {
            let (is_set, said) = git.answer(["config", "--get", name], &[])?;
            Ok(is_set.then(|| String::from_utf8_lossy(&said).trim().to_owned()))
        };
        let info = repository.common_dir().join("info");
        let ignored =
            [text(users(&git, "core.excludesFile", "ignore")?), text(Some(info.join("exclude")))];
        Ok(Self {
            name: setting("user.name")?,
            email: setting("user.email")?,
            auto_crlf: setting("core.autocrlf")?.filter(|value| is_auto_crlf(value)),
            line_end: setting("core.eol")?.filter(|value| is_line_end(value)),
            ignored: ignored.concat(),
            attributes: text(users(&git, "core.attributesFile", "attributes")?),
            own_attributes: text(Some(info.join("attributes"))),
        })
    }

    /// The part by which machines differ that may not share a repository of objects.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", (&self.name, &self.email, &self.auto_crlf, &self.line_end))
    }

    /// Makes them those of a repository that is tine's own, in place of the user's.
    pub(super) fn set(&self, repository: &Repository) -> Result<(), WorktreeError> {
        self.check()?;
        let common_dir = repository.common_dir();
        let attributes = common_dir.join(ATTRIBUTES);
        let nothing = PathBuf::from("/dev/null");
        let git = repository.git();
        for (name, value) in [
            ("user.name", self.name.as_deref().map(Into::into)),
            ("user.email", self.email.as_deref().map(Into::into)),
            ("core.autocrlf", Some(self.auto_crlf.as_deref().unwrap_or("false").into())),
            ("core.eol", Some(self.line_end.as_deref().unwrap_or("native").into())),
            ("core.excludesFile", Some(nothing.into_os_string())),
            ("core.attributesFile", Some(attributes.clone().into_os_string())),
        ] {
            if let Some(value) = value {
                git.run(["config".into(), "--local".into(), name.into(), value])?;
            }
        }
        let info = common_dir.join("info");
        fault::step()
            .and_then(|()| fs::create_dir_all(&info))
            .map_err(|source| WorktreeError::file("make the directory", &info, source))?;
        for (file, text) in [
            (info.join("exclude"), &self.ignored),
            (info.join("attributes"), &self.own_attributes),
            (attributes, &self.attributes),
        ] {
            fs::write(&file, text).map_err(|source| WorktreeError::file("write", &file, source))?;
        }
        Ok(())
    }

    /// Refuses values that git would not take, or that would be more than a value.
    fn check(&self) -> Result<(), TravelError> {
        let is_person = |text: &&String| {
            text.chars().count() <= PERSON_CHARACTERS_MAX && !text.contains(char::is_control)
        };
        let are_good = [&self.name, &self.email].into_iter().flatten().all(|text| is_person(&text))
            && self.auto_crlf.as_deref().is_none_or(is_auto_crlf)
            && self.line_end.as_deref().is_none_or(is_line_end);
        if are_good { Ok(()) } else { Err(TravelError::refused("its settings are not known")) }
    }
}

fn is_auto_crlf(value: &str) -> bool {
    ["true", "false", "input"].contains(&value)
}

fn is_line_end(value: &str) -> bool {
    ["lf", "crlf", "native"].contains(&value)
}

/// The file that a setting names, or git's usual one of this name.
fn users(git: &Git, setting: &str, usual: &str) -> Result<Option<PathBuf>, WorktreeError> {
    let (is_set, said) = git.answer(["config", "--type=path", "--get", setting], &[])?;
    if is_set {
        let said = said.strip_suffix(b"\n").unwrap_or(&said);
        return Ok(Some(crate::git::path(said)));
    }
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let own = std::env::var_os("XDG_CONFIG_HOME").filter(|own| !own.is_empty());
    Ok(own.map(PathBuf::from).or_else(home).map(|own| own.join("git").join(usual)))
}

/// The text of a file, with a line end behind it; nothing where there is none, or no text of a sensible size.
fn text(file: Option<PathBuf>) -> String {
    let read = |file: &Path| String::from_utf8(wary::note(file).ok()?).ok();
    match file.as_deref().and_then(read) {
        Some(text) if !text.is_empty() && !text.ends_with('\n') => text + "\n",
        Some(text) => text,
        None => String::new(),
    }
}
