//! What the demo of worktrees says to its agents, and what the user of the story does. What the agents answer is in the simulator's
//! scenario `worktrees`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use tine_runtime::Check;

/// The simulator's scenario.
pub(super) const SCENARIO: &str = "worktrees";

/// The model that all agents of the demo have.
pub(super) const MODEL: &str = "sim/worktrees";

/// What the root agent is told. The scenario knows it by these words.
pub(super) const PROMPT: &str = "Begin to tell where this repository comes from.";

/// What every worker is told. The scenario knows each by the way that follows.
const BRIEF: &str = "Write TIMELINE.md from this repository's history, one line for each part, and link it in the paragraph that was begun.";

/// The four ways; the last one's worker forgets the link.
pub(super) const WAYS: [&str; 4] = ["every commit", "by month", "by person", "by year"];

/// The line with which the root agent begins its paragraph.
pub(super) const BEGUN: &str = "Where all this comes from:";

/// The line that it writes below.
pub(super) const BEGUN_NOTE: &str = "(begun, and not committed)";

/// What a person writes into the same file after the workers have begun.
pub(super) const MEANWHILE: &str = "(written by hand, after the fork)";

/// Largest file that is searched for the paragraph, in bytes. Those that introduce a repository are far smaller.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The check reads two files and asks git for a few commits.
const CHECK_TIME_MAX: Duration = Duration::from_secs(60);

/// A worker's directive.
pub(super) fn directive(way: &str) -> String {
    format!("{BRIEF} Way: {way}.")
}

/// The file at the top of the checkout in which the root agent has begun.
pub(super) fn begun(checkout: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(checkout)? {
        let entry = entry?;
        let about = entry.metadata()?;
        let (Ok(name), true) = (entry.file_name().into_string(), about.is_file()) else { continue };
        // The check names it to a shell.
        if !name.chars().all(|sign| sign.is_ascii_alphanumeric() || "._-".contains(sign)) {
            continue;
        }
        if about.len() <= FILE_BYTES_MAX
            && String::from_utf8_lossy(&fs::read(entry.path())?).contains(BEGUN)
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// A person goes on in the same file, without staging it.
pub(super) fn write_on(file: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(format!("{MEANWHILE}\n").as_bytes())
}

/// The last lines of the file, from the beginning of the paragraph.
pub(super) fn paragraph(file: &Path) -> io::Result<Vec<String>> {
    let text = fs::read(file)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().skip_while(|line| *line != BEGUN).map(str::to_owned).collect())
}

/// Says whether work is good: the file links the timeline, which names commits, and all of those exist.
pub(super) fn check(file: &str) -> Check {
    let command = format!(
        r#"grep -q 'TIMELINE.md' '{file}' || {{ echo '{file} does not link TIMELINE.md'; exit 1; }}
kinds=$(sed -n 's/^- `\([0-9a-f]*\)`.*/\1/p' TIMELINE.md | git cat-file --batch-check='%(objecttype)' | sort -u)
test "$kinds" = commit || {{ echo 'TIMELINE.md does not name commits alone:' $kinds; exit 1; }}"#
    );
    Check { command, time_max: CHECK_TIME_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paragraph_is_found_and_written_on() {
        let checkout = tempfile::tempdir().unwrap();
        assert_eq!(begun(checkout.path()).unwrap(), None);
        fs::create_dir(checkout.path().join("src")).unwrap();
        fs::write(checkout.path().join("a"), b"\xff").unwrap();
        let file = checkout.path().join("README");
        fs::write(&file, format!("# A\n\n{BEGUN}\n(begun)\n")).unwrap();
        assert_eq!(begun(checkout.path()).unwrap().as_deref(), Some("README"));
        write_on(&file).unwrap();
        assert_eq!(paragraph(&file).unwrap(), [BEGUN, "(begun)", MEANWHILE]);
    }
}
