//! Changed files, commits and conflicts as lists and results print them.

use std::path::Path;

use serde::Serialize;
use tine_runtime::{
    Conflict, ConflictKind, ConflictPlace, FileChange, MadeCommit, Mended, MendedAs, Stage,
};

use crate::render::words::one_line;

/// The JSON shape of a changed file. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct FileJson {
    path: String,
    /// Where it was, if it was renamed.
    from: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed`, `type changed`, `mode changed`.
    status: String,
    /// Lines that came; `null` where it is not text.
    added: Option<u64>,
    /// Lines that went; `null` where it is not text.
    removed: Option<u64>,
}

impl From<&FileChange> for FileJson {
    fn from(file: &FileChange) -> Self {
        Self {
            path: shown_path(&file.path),
            from: file.from.as_deref().map(shown_path),
            status: file.status.to_string(),
            added: file.lines.map(|lines| lines.added),
            removed: file.lines.map(|lines| lines.removed),
        }
    }
}

/// The JSON shape of a commit. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct CommitJson {
    commit: String,
    subject: String,
    author: String,
}

impl From<&MadeCommit> for CommitJson {
    fn from(made: &MadeCommit) -> Self {
        let MadeCommit { commit, subject, author } = made.clone();
        Self { commit: commit.to_string(), subject, author }
    }
}

/// The JSON shape of a conflict. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct ConflictJson {
    path: String,
    /// Other files that have a part in it.
    others: Vec<String>,
    /// `content`, `add_add`, `binary`, `modify_delete`, `file_directory`, `mode`, `rename_rename`, `rename_delete`,
    /// `directory_rename`, `submodule`, or git's own words.
    kind: String,
    /// `commits`, `files` or `index`.
    place: &'static str,
    base: Option<StageJson>,
    ours: Option<StageJson>,
    theirs: Option<StageJson>,
    explanation: String,
}

/// One side's version of a file in conflict.
#[derive(Debug, Serialize)]
struct StageJson {
    /// `git cat-file -p` shows it.
    object: String,
}

impl From<&Stage> for StageJson {
    fn from(stage: &Stage) -> Self {
        Self { object: stage.object.clone() }
    }
}

impl From<&Conflict> for ConflictJson {
    fn from(conflict: &Conflict) -> Self {
        Self {
            path: shown_path(&conflict.path),
            others: conflict.others.iter().map(|path| shown_path(path)).collect(),
            kind: kind(&conflict.kind).to_owned(),
            place: match conflict.place {
                ConflictPlace::Commits => "commits",
                ConflictPlace::Files => "files",
                ConflictPlace::Index => "index",
            },
            base: conflict.base.as_ref().map(StageJson::from),
            ours: conflict.ours.as_ref().map(StageJson::from),
            theirs: conflict.theirs.as_ref().map(StageJson::from),
            explanation: conflict.explanation.clone(),
        }
    }
}

fn kind(kind: &ConflictKind) -> &str {
    match kind {
        ConflictKind::Content => "content",
        ConflictKind::AddAdd => "add_add",
        ConflictKind::Binary => "binary",
        ConflictKind::ModifyDelete => "modify_delete",
        ConflictKind::FileDirectory => "file_directory",
        ConflictKind::Mode => "mode",
        ConflictKind::RenameRename => "rename_rename",
        ConflictKind::RenameDelete => "rename_delete",
        ConflictKind::DirectoryRename => "directory_rename",
        ConflictKind::Submodule => "submodule",
        ConflictKind::Other(words) => words,
    }
}

/// What somebody can do about a conflict.
fn advice(conflict: &Conflict) -> &'static str {
    match (&conflict.kind, conflict.place) {
        (_, ConflictPlace::Commits) => "merge by hand, or `tine apply` the files",
        (_, ConflictPlace::Index) => "commit or unstage your version first",
        (ConflictKind::Content | ConflictKind::AddAdd, ConflictPlace::Files) => {
            "commit your version and merge, or `tine apply --conflicts` leaves marks"
        }
        (ConflictKind::Submodule, ConflictPlace::Files) => "update it by hand",
        (
            ConflictKind::Binary
            | ConflictKind::ModifyDelete
            | ConflictKind::FileDirectory
            | ConflictKind::Mode
            | ConflictKind::RenameRename
            | ConflictKind::RenameDelete
            | ConflictKind::DirectoryRename
            | ConflictKind::Other(_),
            ConflictPlace::Files,
        ) => "choose one of the two by hand, and `tine apply` the other files by name",
    }
}

/// A conflict on a line: the file, what it is about, what can be done. `written` says that it was applied all the same.
pub(crate) fn conflict_line(conflict: &Conflict, written: bool) -> String {
    let (path, about) = (shown_path(&conflict.path), one_line(&conflict.explanation));
    let kind = one_line(kind(&conflict.kind)).replace('_', "/");
    let advice = match (written, &conflict.kind) {
        (true, ConflictKind::Content | ConflictKind::AddAdd) => "look for marks in the file",
        (true, _) => "look at what is there now",
        (false, _) => advice(conflict),
    };
    format!("conflict  {path}: {kind}: {about}; {advice}")
}

/// A changed file on a line.
pub(crate) fn file_line(file: &FileChange) -> String {
    let path = shown_path(&file.path);
    let from = file.from.as_deref().map(|from| format!("{} → ", shown_path(from)));
    let lines = file.lines.map(|lines| format!("  +{} -{}", lines.added, lines.removed));
    let (from, lines) = (from.unwrap_or_default(), lines.unwrap_or_default());
    format!("  {}  {from}{path}{lines}", file.status)
}

/// What became of an earlier change that was cut short, for people.
pub(crate) fn mended_line(mended: &Mended) -> String {
    let what = match mended.outcome {
        MendedAs::TakenBack => "was taken back",
        MendedAs::Finished => "was finished",
        MendedAs::LetBe => "was let be, since HEAD has moved",
    };
    let mut line = format!("note: an earlier change that was cut short {what} first");
    for kept in &mended.kept {
        line.push_str(&format!("\nnote: {} is as somebody left it since", shown_path(&kept.path)));
        if let Some(before) = &kept.before {
            line.push_str(&format!("; what stood there before is in {}", shown_path(before)));
        }
    }
    line
}

/// A path as people and programs read it.
pub(crate) fn shown_path(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
