//! The page at the end: what each worker changed, who is best, what came of applying that, what the cache did, and what to do next.

use tine_runtime::{BroughtOutcome, Work};
use unicode_width::UnicodeWidthStr as _;

use super::Told;
use super::story::{BEGUN, BEGUN_NOTE, MEANWHILE, MODEL, WAYS};
use crate::commands::demo::model_words;
use crate::commands::demo::picture::{COLUMNS_MAX, heading};
use crate::commands::demo::savings::{Savings, saved, wrap};
use crate::commands::pick::{Names, table};
use crate::render::change::file_line;
use tine_tui::figures::plural;
use tine_tui::words::{BOLD, DIM, GREEN, RED, YELLOW, cut, fit, harmless, styled};

/// Lines of each file's change that are shown.
const LINES_SHOWN: usize = 3;

/// Columns of a line of the paragraph, which is followed by where it comes from.
const PARAGRAPH_COLUMNS: usize = 42;

/// Columns of a command to go on with.
const COMMAND_COLUMNS: usize = 36;

/// What the page is made of.
pub(super) struct Page<'a> {
    pub(super) told: &'a Told,
    /// Whether the agents and the demo's repository stay.
    pub(super) kept: bool,
    pub(super) columns: usize,
}

impl Page<'_> {
    /// The page, every line ended.
    pub(super) fn to_text(&self) -> String {
        let told = self.told;
        let mut lines =
            vec![String::new(), heading("What each worker changed, from the same start")];
        for ((work, way), task) in told.works.iter().zip(WAYS).zip(&told.fan.tasks) {
            let id = task.agent.short();
            lines.push(format!("{} {}", styled(BOLD, way), styled(DIM, &id)));
            lines.extend(self.work(work));
        }
        lines.extend([String::new(), heading("Who passes the check, and changed least")]);
        lines.extend(
            table(&told.candidates, &Names::new(), None)
                .lines()
                .map(|line| within(line, self.room())),
        );
        if told.taken.is_some() {
            let rule = "* Of those that pass, the fewest lines; of equals, the cheapest.";
            lines.push(styled(DIM, rule));
        }
        lines.extend([String::new(), heading("Applied where somebody had gone on")]);
        lines.extend(self.taken());
        lines.extend([String::new(), heading("What the cache did")]);
        let room = self.room();
        lines.extend(wrap(&Savings { fan: &told.fan, room }.inherited(), room));
        lines.extend(told.fan.cache.cost.as_ref().map(saved));
        lines.push(String::new());
        lines.extend(self.next());
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn room(&self) -> usize {
        self.columns.min(COLUMNS_MAX).saturating_sub(1)
    }

    /// The list of files with their bars, and how each of them begins to differ.
    fn work(&self, work: &Work) -> Vec<String> {
        let room = self.room().saturating_sub(2);
        let files = work.stat.lines().filter(|line| line.contains(" | "));
        let mut lines: Vec<String> =
            files.map(|line| format!("  {}", bars(&harmless(line.trim()), room))).collect();
        if lines.is_empty() {
            lines.push(styled(YELLOW, "  nothing"));
        }
        lines.extend(excerpt(&String::from_utf8_lossy(&work.patch), room));
        lines
    }

    fn taken(&self) -> Vec<String> {
        let Some((agent, brought)) = &self.told.taken else {
            return vec![styled(RED, "nobody's work is good; nothing was applied")];
        };
        let (short, came) = (agent.short(), &brought.came);
        if came.outcome != BroughtOutcome::Written {
            let conflicts = plural(came.conflicts.len() as u64, "conflict");
            return vec![styled(RED, &format!("{conflicts}; nothing was changed"))];
        }
        let mut lines = vec![format!("{} of {short}", plural(came.files.len() as u64, "file"))];
        lines.extend(came.files.iter().map(|file| cut(&file_line(file), self.room())));
        lines.push(format!("{} now ends:", self.told.file));
        lines.extend(self.told.paragraph.iter().map(|line| {
            let from = match line.as_str() {
                BEGUN | BEGUN_NOTE => "staged before the fork",
                MEANWHILE => "by hand after it, not staged",
                _ => "from the worker",
            };
            format!("  {} {}", fit(&harmless(line), PARAGRAPH_COLUMNS), styled(DIM, from))
        }));
        lines.push(if self.told.index_is_kept {
            styled(GREEN, "What was staged is staged as it was, and nothing else.")
        } else {
            styled(YELLOW, "What is staged has changed.")
        });
        lines
    }

    fn next(&self) -> Vec<String> {
        let Told { root, checkout, taken, candidates, .. } = self.told;
        let mut lines = vec![heading("What next")];
        let model = format!("All this was {}.", model_words(MODEL));
        lines.push(styled(DIM, &cut(&model, self.room())));
        if !self.kept {
            lines.push(step("tine demo --worktrees --keep", "keeps the repository and the agents"));
            lines
                .push(step("tine pick AGENT -d TEXT --check CMD", "the same with a task of yours"));
            return lines;
        }
        let path = harmless(&checkout.to_string_lossy());
        lines.push(format!("The repository is kept in {path}"));
        let root = root.short();
        let other = candidates
            .iter()
            .map(|one| one.agent)
            .find(|agent| taken.as_ref().is_none_or(|(taken, _)| taken != agent));
        lines.push(step(&format!("git -C {path} diff"), ""));
        lines.push(step(&format!("tine tree {root}"), "these agents are yours now"));
        if let Some(other) = other {
            lines.push(step(&format!("tine diff {}", other.short()), "what another one changed"));
        }
        if let Some((taken, _)) = taken {
            let undo = format!("tine apply --undo {}", taken.short());
            lines.push(step(&undo, "takes the applied work back"));
        }
        lines
    }
}

/// A line with styles, without them where it has to be cut.
fn within(line: &str, room: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    let short = cut(&plain, room);
    if short == plain { line.to_owned() } else { short }
}

/// A command, whole whatever its length, and what it does.
fn step(command: &str, why: &str) -> String {
    format!("  {command:COMMAND_COLUMNS$} {}", styled(DIM, why))
}

/// A line of git's list of files, with as much of its bar as there is room for in the colours that git gives it.
fn bars(line: &str, room: usize) -> String {
    let end = line.trim_end_matches(['+', '-']);
    let bar = line.strip_prefix(end).unwrap_or_default();
    let (plus, minus) = bar.split_at(bar.find('-').unwrap_or(bar.len()));
    let name = cut(end, room);
    let plus: String = plus.chars().take(room.saturating_sub(name.width())).collect();
    let rest = room.saturating_sub(name.width() + plus.len());
    let minus: String = minus.chars().take(rest).collect();
    format!("{name}{}{}", styled(GREEN, &plus), styled(RED, &minus))
}

/// The first lines of each file's change that say something, and how many more there are.
fn excerpt(patch: &str, room: usize) -> Vec<String> {
    let (mut lines, mut shown, mut more, mut is_change) = (Vec::new(), 0, 0, false);
    for line in patch.lines() {
        match line.as_bytes() {
            [b'd', b'i', b'f', b'f', b' ', ..] => {
                (shown, is_change) = (0, false);
            }
            [b'@', b'@', ..] => is_change = true,
            [b'+' | b'-', rest @ ..] if is_change && !rest.is_empty() => {
                if shown == LINES_SHOWN {
                    more += 1;
                    continue;
                }
                shown += 1;
                let style = if line.starts_with('+') { GREEN } else { RED };
                lines.push(format!("  {}", styled(style, &cut(&harmless(line), room))));
            }
            _ => {}
        }
    }
    if more > 0 {
        lines.push(styled(DIM, &format!("  … {}", plural(more, "more line"))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_by_its_first_lines() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,5 @@\n-old\n+new\u{1b}[2J\n+\n+two\n+three\n same\ndiff --git a/b b/b\n+++ b/b\n@@ -0,0 +1 @@\n+in b\n";
        let text = excerpt(patch, 78).join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        -old
        +new\u{1b}[2J
        +two
        +in b
        … 1 more line
        ");
    }

    #[test]
    fn a_bar_has_the_colours_of_what_came_and_what_went() {
        let check = |line, room, expected: &str| assert_eq!(bars(line, room), expected, "{line}");
        let (plus, minus) = (styled(GREEN, "++"), styled(RED, "-"));
        check("a.txt | 3 ++-", 80, &format!("a.txt | 3 {plus}{minus}"));
        check("a.txt | 3 +++--", 12, &format!("a.txt | 3 {plus}{}", styled(RED, "")));
        let bar = anstream::adapter::strip_str(&bars("a.bin | Bin", 80)).to_string();
        assert_eq!(bar, "a.bin | Bin");
    }
}
