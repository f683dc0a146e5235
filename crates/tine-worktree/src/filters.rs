//! Programs that git's settings name for the files of a checkout: filters and merge drivers.
//!
//! They run behind a wall, whoever named them: what they start may lie in the checkout. Where no wall can stand, those of the user's own
//! settings run as they are if their program lies outside, and no other does.
//!
//! A filter whose program is not there, such as that of LFS where it is not installed, is switched off: the checkout holds what git
//! holds, pointers for instance, and so does a worktree of it. With the filter every look at them would fail.

use std::collections::BTreeSet;
use std::path::Path;

use tine_tools::{GitProgram, ProgramWall};

use crate::error::WorktreeError;
use crate::git::Git;

/// What a filter runs.
const FILTER_COMMANDS: [&str; 3] = ["clean", "smudge", "process"];

/// Names of settings that name a program, in the words of git's own expressions.
const NAMED: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$";

/// Scopes of settings that are the user's. Source: git-config(1), `--show-scope`.
const OWN_SCOPES: [&str; 2] = ["system", "global"];

/// Settings that rule which programs git runs in a checkout.
#[derive(Debug, Default)]
pub(crate) struct ProgramSettings {
    pub(crate) settings: Vec<(String, String)>,
    wall: Option<ProgramWall>,
    programs: Vec<GitProgram>,
    unknown: Option<String>,
}

impl ProgramSettings {
    /// These, and no wall.
    pub(crate) fn plain(settings: Vec<(String, String)>) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Nobody knows which programs there are, so none may be run, and no git.
    pub(crate) fn unknown(error: &WorktreeError) -> Self {
        Self { unknown: Some(error.to_string()), ..Self::default() }
    }

    /// The words of git, with the programs' own commands in the place of the wall's.
    pub(crate) fn plainly(&self, said: &str) -> String {
        let walled = self.wall.iter().flat_map(ProgramWall::settings);
        walled.zip(&self.programs).fold(said.to_owned(), |said, ((_, walled), program)| {
            said.replace(walled.as_str(), &program.command)
        })
    }

    /// Why a program was not run; `None` while all were.
    pub(crate) fn failure(&self) -> Option<String> {
        let failed = || self.wall.as_ref()?.failure();
        let failed =
            || Some(format!("no wall stands around a program of git's settings: {}", failed()?));
        self.unknown.clone().or_else(failed)
    }
}

/// A setting that names a program.
struct Named {
    program: GitProgram,
    is_own: bool,
}

/// The settings of a checkout that name a program, in the order in which git reads them.
fn named(git: &Git) -> Result<Vec<Named>, WorktreeError> {
    let look = ["config", "--null", "--show-scope", "--includes", "--get-regexp", NAMED];
    let (_, said) = git.answer(look, &[])?;
    let mut said = said.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(scope), Some(entry)) = (said.next(), said.next()) {
        let entry = String::from_utf8_lossy(entry);
        // A setting without a value names nothing.
        let Some((setting, command)) = entry.split_once('\n') else { continue };
        let program = GitProgram { setting: setting.to_owned(), command: command.to_owned() };
        found.retain(|known: &Named| known.program.setting != setting);
        let is_own = OWN_SCOPES.iter().any(|own| own.as_bytes() == scope);
        found.push(Named { program, is_own });
    }
    found.retain(|named| !named.program.command.is_empty());
    Ok(found)
}

/// Names of a checkout's own settings that have git run a program on its files, sorted; the user's are not among them.
pub fn programs_in_settings(directory: &Path) -> Result<Vec<String>, WorktreeError> {
    let strange = named(&Git::at(directory))?.into_iter().filter(|named| !named.is_own);
    let names: BTreeSet<String> = strange.map(|named| named.program.setting).collect();
    Ok(names.into_iter().collect())
}

/// Settings by which the programs of the checkout at `top` are run as they may be.
pub(crate) fn settings_for(
    git: &Git,
    top: &Path,
    common_dir: &Path,
) -> Result<ProgramSettings, WorktreeError> {
    let (mut there, mut missing) = (Vec::new(), BTreeSet::new());
    for named in named(git)? {
        let GitProgram { setting, command } = &named.program;
        let is_missing = program(command).is_some_and(|program| !git.can_run(program));
        match filter(setting).filter(|_| is_missing) {
            Some(filter) => {
                missing.insert(filter.to_owned());
            }
            None => there.push(named),
        }
    }
    there.retain(|named| filter(&named.program.setting).is_none_or(|name| !missing.contains(name)));
    let off = |name: &String| {
        let commands = FILTER_COMMANDS.map(|of| (format!("filter.{name}.{of}"), String::new()));
        commands.into_iter().chain([(format!("filter.{name}.required"), "false".to_owned())])
    };
    let mut settings: Vec<(String, String)> = missing.iter().flat_map(off).collect();
    if there.is_empty() {
        return Ok(ProgramSettings::plain(settings));
    }
    let programs: Vec<GitProgram> = there.iter().map(|named| named.program.clone()).collect();
    let wall = match ProgramWall::new(top, common_dir, &programs) {
        Ok(wall) => {
            settings.extend_from_slice(wall.settings());
            Some(wall)
        }
        Err(error) => {
            let refused = there.iter().filter(|named| !(named.is_own && is_outside(named, top)));
            settings.extend(refused.flat_map(|named| refusal(&named.program.setting, &error)));
            None
        }
    };
    Ok(ProgramSettings { settings, wall, programs, unknown: None })
}

/// Settings by which git says why it does not run the program of this one, and goes no further.
fn refusal(setting: &str, why: &impl std::fmt::Display) -> impl Iterator<Item = (String, String)> {
    let said = format!(
        "the program that the setting {setting} names is run behind a wall alone, and none can stand here: {why}"
    );
    let command = format!("echo '{}' >&2; exit 1", said.replace('\'', "").replace('%', "%%"));
    let required = filter(setting).map(|name| (format!("filter.{name}.required"), "true".into()));
    [(setting.to_owned(), command)].into_iter().chain(required)
}

/// Returns true if the program of a setting is surely none of the checkout.
fn is_outside(named: &Named, top: &Path) -> bool {
    program(&named.program.command).is_some_and(|program| {
        let path = Path::new(program);
        match path.components().count() {
            1 => !path.is_absolute(),
            _ => path.is_absolute() && !path.starts_with(top),
        }
    })
}

/// The name of the filter whose command the setting is.
fn filter(setting: &str) -> Option<&str> {
    let (name, of) = setting.strip_prefix("filter.")?.rsplit_once('.')?;
    FILTER_COMMANDS.contains(&of).then_some(name)
}

/// The program that a command begins with; `None` where only a shell can tell.
fn program(command: &str) -> Option<&str> {
    let word = command.split_whitespace().next()?;
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+".contains(letter);
    word.chars().all(is_plain).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_are_programs() {
        assert_eq!(program("git-lfs filter-process"), Some("git-lfs"));
        for command in ["", "'git lfs' clean", "$HOME/bin/f", "(sed s/a/b/)", "f() { cat; }; f"] {
            assert_eq!(program(command), None, "{command}");
        }
    }

    #[test]
    fn where_no_wall_stands_only_programs_from_outside_run() {
        let is_outside = |command: &str| {
            let program = GitProgram { setting: String::new(), command: command.to_owned() };
            is_outside(&Named { program, is_own: true }, Path::new("/home/user/x"))
        };
        assert!(is_outside("git-lfs clean -- %f") && is_outside("/usr/bin/x"));
        for command in ["./tools/clean", "tools/clean", "/home/user/x/tools/clean", "$x", "a;b"] {
            assert!(!is_outside(command), "{command}");
        }
    }
}
