//! Changed files, commits and conflicts as lists and results print them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::Serialize;
use tine_runtime::{
    Conflict, ConflictKind, ConflictPlace, FileChange, MadeCommit, Mended, MendedAs, Stage,
};

use tine_guard::is_unseen;
use tine_tui::words::one_line;

/// The JSON shape of a changed file. Others rely on it: fields are only ever added.
#[derive(Debug, Serialize)]
pub(crate) struct FileJson {
    path: String,
    /// Its bytes in hex, only where it is not UTF-8, so that `path` is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// Where it was, if it was renamed.
    from: Option<String>,
    /// The same of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_bytes: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed`, `type changed`, `mode changed`.
    status: String,
    /// Lines that came; `null` where it is not text.
    added: Option<u64>,
    /// Lines that went; `null` where it is not text.
    removed: Option<u64>,
    /// The target of a link that is new or leads elsewhere than before; only there.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// Only for a file that some program runs by its name: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_programs: Option<bool>,
    /// Only for a file that tells tine or its agents what to do: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    steers_agents: Option<bool>,
}

impl From<&FileChange> for FileJson {
    fn from(file: &FileChange) -> Self {
        Self {
            path: json_path(&file.path),
            path_bytes: path_bytes(&file.path),
            from: file.from.as_deref().map(json_path),
            from_bytes: file.from.as_deref().and_then(path_bytes),
            status: file.status.to_string(),
            added: file.lines.map(|lines| lines.added),
            removed: file.lines.map(|lines| lines.removed),
            link: file.link.as_deref().map(json_path),
            starts_programs: starts_programs(file).then_some(true),
            steers_agents: steers_agents(file).then_some(true),
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
    /// Its bytes in hex, only where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
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
            path: json_path(&conflict.path),
            path_bytes: path_bytes(&conflict.path),
            others: conflict.others.iter().map(|path| json_path(path)).collect(),
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

/// What a conflict is about, in few words.
fn about(conflict: &Conflict) -> String {
    let words = match &conflict.kind {
        ConflictKind::Content => "both changed the same lines",
        ConflictKind::AddAdd => "both added it",
        ConflictKind::Binary => "both changed it, and it is not text",
        ConflictKind::ModifyDelete if conflict.ours.is_some() => {
            "changed here, deleted by the work"
        }
        ConflictKind::ModifyDelete => "deleted here, changed by the work",
        ConflictKind::FileDirectory => "a file on one side, a directory on the other",
        ConflictKind::Mode => "a file on one side, a link on the other",
        ConflictKind::RenameRename => "renamed to different places",
        ConflictKind::RenameDelete => "renamed on one side, deleted on the other",
        ConflictKind::DirectoryRename => "one side renamed a directory that the other works in",
        ConflictKind::Submodule => "both changed a submodule",
        ConflictKind::Other(_) => &conflict.explanation,
    };
    one_line(words)
}

/// A conflict on a line: the file, and what it is about.
pub(crate) fn conflict_line(conflict: &Conflict) -> String {
    let place = match conflict.place {
        ConflictPlace::Files => "",
        ConflictPlace::Commits => " (in commits)",
        ConflictPlace::Index => " (staged)",
    };
    format!("conflict  {}: {}{place}", shown_path(&conflict.path), about(conflict))
}

/// The same where an apply is taken back.
pub(crate) fn undo_conflict_line(conflict: &Conflict) -> String {
    format!("conflict  {}: changed since it was applied", shown_path(&conflict.path))
}

/// A changed file on a line.
pub(crate) fn file_line(file: &FileChange) -> String {
    let path = shown_path(&file.path);
    let from = file.from.as_deref().map(|from| format!("{} → ", shown_path(from)));
    let lines = match &file.link {
        Some(target) => Some(format!(" -> {}", shown_path(target))),
        None => file.lines.map(|lines| format!("  +{} -{}", lines.added, lines.removed)),
    };
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

/// Returns true for a file that came and that tells tine or its agents what to do.
pub(crate) fn steers_agents(file: &FileChange) -> bool {
    file.mode.is_some() && tine_guard::steers_agents(&file.path)
}

/// Returns true for a file that came and that some program runs by its name.
pub(crate) fn starts_programs(file: &FileChange) -> bool {
    file.mode.is_some() && !steers_agents(file) && tine_guard::starts_programs(&file.path)
}

/// A path as it is, for JSON, which escapes what needs it. What is not UTF-8 is told by [`path_bytes`].
pub(crate) fn json_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The bytes of a path in hex, where it is not UTF-8.
fn path_bytes(path: &Path) -> Option<String> {
    match path.to_str() {
        Some(_) => None,
        None => {
            Some(path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
        }
    }
}

/// A path on a line for programs: as it is, or as git quotes it, in `"` with `\` and octal bytes, where it has anything in it that
/// is no plain character. Letters of any script are plain.
pub(crate) fn quoted_path(path: &Path) -> String {
    let (mut inside, mut is_plain) = (String::new(), true);
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            let short = match character {
                '"' | '\\' => Some(character),
                '\n' => Some('n'),
                '\t' => Some('t'),
                '\r' => Some('r'),
                _ => None,
            };
            is_plain &= short.is_none() && !is_unseen(character);
            match short {
                Some(short) => inside.extend(['\\', short]),
                None if is_unseen(character) => {
                    octal(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut inside);
                }
                None => inside.push(character),
            }
        }
        is_plain &= chunk.invalid().is_empty();
        octal(chunk.invalid(), &mut inside);
    }
    if is_plain { inside } else { format!("\"{inside}\"") }
}

fn octal(bytes: &[u8], text: &mut String) {
    bytes.iter().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
}

/// A path as people read it.
pub(crate) fn shown_path(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_path_on_a_line_can_be_read_back_to_the_byte() {
        let quoted = |bytes: &[u8]| quoted_path(Path::new(OsStr::from_bytes(bytes)));
        let all: [&[u8]; 8] = [
            b"src/a b.rs",
            "größe.txt".as_bytes(),
            b"a\nb\tc",
            b"say \"hi\"\\",
            b"\x1b[2J",
            b"bad\xff",
            b"bad\xfe",
            "\u{202e}evil".as_bytes(),
        ];
        insta::assert_snapshot!(all.map(quoted).join("\n"), @r#"
        src/a b.rs
        größe.txt
        "a\nb\tc"
        "say \"hi\"\\"
        "\033[2J"
        "bad\377"
        "bad\376"
        "\342\200\256evil"
        "#);
    }
}
