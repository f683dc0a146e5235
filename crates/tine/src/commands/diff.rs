//! `tine diff`: what an agent has changed in its worktree.

use std::os::unix::ffi::OsStrExt as _;

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::Work;

use crate::cli::DiffArgs;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::change::{CommitJson, FileJson, json_path, quoted_path};
use crate::render::worktree::{say_gone, unseen};
use tine_tui::words::{BOLD, CYAN, DIM, GREEN, RED, harmless, one_line, styled};

/// Characters of a commit's name that people see.
const COMMIT_CHARACTERS: usize = 8;

/// The JSON shape of what was changed. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct DiffJson {
    agent: String,
    /// Whether the agent still runs.
    running: bool,
    files: Vec<FileJson>,
    /// The commits that it made, the oldest first.
    commits: Vec<CommitJson>,
    /// Files that changed and are not committed as they stand.
    uncommitted: Vec<String>,
    /// Ignored files that changed; they do not come with `apply`.
    ignored: Vec<String>,
    /// Files that changed only in what git does not see; they do not come with `apply`.
    filtered: Vec<String>,
    /// Ignored files and directories that were made; they go with the worktree.
    made: Vec<String>,
    /// Folders of other repositories in the worktree that have files; they are not part of the work.
    repositories: Vec<String>,
    /// The state of this: `ready` (in the worktree), `kept` (it was removed, and refs keep it), `vanished` (it was removed unchanged) or
    /// `gone` (somebody removed the files, and this is what was last kept).
    standing: &'static str,
}

impl DiffJson {
    fn of(agent: AgentId, work: &Work) -> Self {
        Self {
            agent: agent.to_string(),
            running: work.runs,
            files: work.changes.files.iter().map(FileJson::from).collect(),
            commits: work.changes.commits.iter().map(CommitJson::from).collect(),
            uncommitted: work.changes.uncommitted.iter().map(|path| json_path(path)).collect(),
            ignored: work.unseen.ignored.iter().map(|path| json_path(path)).collect(),
            filtered: work.unseen.filtered.iter().map(|path| json_path(path)).collect(),
            made: work.unseen.made.iter().map(|path| json_path(path)).collect(),
            repositories: work.unseen.repositories.iter().map(|path| json_path(path)).collect(),
            standing: work.standing.as_str(),
        }
    }
}

pub(crate) async fn diff(context: &Context, args: DiffArgs) -> Result<u8, Failure> {
    let agent = context.agent(&args.agent).await?;
    super::listing::mend_checkouts(context).await?;
    let record = context.runtime.own_worktree(agent).await?;
    let paths = super::bring::in_checkout(context, &record, &args.paths)?;
    let work = context.runtime.work_of(agent, paths).await?;
    if args.json {
        output::json(&DiffJson::of(agent, &work))?;
    } else if args.null {
        let names =
            work.changes.files.iter().flat_map(|file| [file.path.as_os_str().as_bytes(), b"\0"]);
        output::bytes(&names.collect::<Vec<_>>().concat())?;
    } else if work.changes.files.is_empty() {
        output::say(if work.unseen.is_empty() {
            "nothing changed"
        } else {
            "nothing changed that git sees"
        });
    } else if args.stat {
        output::write_out(&harmless(&work.stat))?;
    } else if args.name_only {
        let names = work.changes.files.iter().map(|file| format!("{}\n", quoted_path(&file.path)));
        output::write_out(&names.collect::<String>())?;
    } else if !output::stdout_is_terminal() {
        // Byte for byte: files need not be text.
        output::bytes(&work.patch)?;
    } else {
        let head = if args.patch { String::new() } else { head(&work) };
        output::write_out(&format!("{head}{}", coloured(&String::from_utf8_lossy(&work.patch))))?;
    }
    if !args.json {
        unseen(&work.unseen).iter().for_each(|line| output::say(&format!("note: {line}")));
    }
    if !args.json {
        say_gone(work.standing, agent);
    }
    if work.runs && !args.json {
        output::say(&format!("note: {} still runs; this is how far it is", agent.short()));
    }
    Ok(0)
}

/// Commits and files, above the patch.
fn head(work: &Work) -> String {
    let line = |made: &tine_runtime::MadeCommit| {
        let name: String = made.commit.as_str().chars().take(COMMIT_CHARACTERS).collect();
        format!("{} {}\n", styled(CYAN, &name), one_line(&made.subject))
    };
    let commits: String = work.changes.commits.iter().map(line).collect();
    format!("{commits}{}\n", harmless(&work.stat))
}

/// A patch in the colours that git gives it.
pub(super) fn coloured(patch: &str) -> String {
    let line = |line: &str| {
        let style = match line.as_bytes() {
            [b'@', b'@', ..] => CYAN,
            [b'd', b'i', b'f', b'f', b' ', ..] => BOLD,
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
            [b'+', ..] => GREEN,
            [b'-', ..] => RED,
            [b' ', ..] | [] => anstyle::Style::new(),
            _ => DIM,
        };
        format!("{}\n", styled(style, &harmless(line)))
    };
    patch.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_cannot_drive_the_terminal() {
        let text = coloured("diff --git a/a b/a\n@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n same\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        diff --git a/a b/a
        @@ -1 +1 @@
        -old
        +new\u{1b}[2J
         same
        ");
        assert!(text.contains(&styled(GREEN, "+new\\u{1b}[2J")));
    }
}
