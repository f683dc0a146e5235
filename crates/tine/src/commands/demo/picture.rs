//! The page at the end: the tree, what the workers found, what the cache did, and what to do next.

use tine_model::TaskStatus;
use tine_runtime::FanTask;

use super::savings::Savings;
use super::story::{JOBS, MODEL, PROMPT};
use super::{Told, model_words};
use tine_tui::figures::{plural, span};
use tine_tui::words::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, cut, first_line, fit, harmless, styled,
};

/// Widest page: beyond it lines are harder to read, not better.
pub(super) const COLUMNS_MAX: usize = 110;

/// Lines of a report that are shown on a screen of at least so many rows. The whole page is longer than most screens; the
/// last part, the cache, should stay in sight.
const REPORT_LINES: [(usize, usize); 3] = [(45, 9), (30, 6), (0, 4)];

/// Columns of a worker's title.
const LABEL_COLUMNS: usize = 20;

/// What the page is made of.
pub(super) struct Page<'a> {
    pub(super) told: &'a Told,
    /// Whether the agents stay in the user's database.
    pub(super) kept: bool,
    pub(super) columns: usize,
    /// Rows of the screen that it is shown on, if it is.
    pub(super) rows: Option<usize>,
}

impl Page<'_> {
    /// The page, every line ended.
    pub(super) fn to_text(&self) -> String {
        let mut lines = vec![String::new(), heading("The tree")];
        lines.extend(self.tree());
        lines.extend([String::new(), heading("What the workers found")]);
        for (task, job) in self.told.fan.tasks.iter().zip(&JOBS) {
            lines.extend(self.report(task, job.title));
        }
        lines.extend([String::new(), heading("What the cache did")]);
        lines.extend(Savings { fan: &self.told.fan, room: self.room() }.lines());
        lines.push(String::new());
        lines.extend(self.next());
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn room(&self) -> usize {
        self.columns.min(COLUMNS_MAX).saturating_sub(1)
    }

    fn report_lines(&self) -> usize {
        let Some(rows) = self.rows else { return usize::MAX };
        let found = REPORT_LINES.iter().find(|(least, _)| rows >= *least);
        found.map_or(usize::MAX, |(_, lines)| *lines)
    }

    fn tree(&self) -> Vec<String> {
        let Told { root, looked, fan } = self.told;
        let did = work(looked.turns, looked.tool_uses);
        let mut lines = vec![format!(
            "{} {} {}",
            styled(CYAN, &root.short()),
            fit(&format!("root: {PROMPT}"), LABEL_COLUMNS + 16),
            styled(DIM, &did)
        )];
        for (index, (task, job)) in fan.tasks.iter().zip(&JOBS).enumerate() {
            let branch = if index + 1 == fan.tasks.len() { "└─" } else { "├─" };
            let (style, word) = match task.status {
                TaskStatus::Completed => (GREEN, "completed"),
                TaskStatus::Cancelled | TaskStatus::Interrupted | TaskStatus::Lost => {
                    (YELLOW, task.status.as_str())
                }
                _ => (RED, task.status.as_str()),
            };
            let time = span(u64::try_from(task.duration_ms).unwrap_or(0));
            lines.push(format!(
                "{branch} {} {} {} {}",
                styled(CYAN, &task.agent.short()),
                fit(job.title, LABEL_COLUMNS),
                styled(style, &fit(word, 12)),
                styled(DIM, &format!("{}, {time}", work(task.turns, task.tool_uses)))
            ));
        }
        lines
    }

    fn report(&self, task: &FanTask, title: &str) -> Vec<String> {
        let id = task.agent.short();
        let mut lines = vec![format!("{} {}", styled(BOLD, title), styled(DIM, &id))];
        let Some(report) = &task.report else {
            let why = task.error.as_deref().unwrap_or("it said nothing");
            lines.push(format!("  {}", styled(RED, &cut(&first_line(why), self.room() - 2))));
            return lines;
        };
        let found = harmless(report.result.as_deref().unwrap_or(&report.raw)).replace('\t', "  ");
        let found: Vec<&str> = found.lines().filter(|line| !line.trim().is_empty()).collect();
        let room = self.room().saturating_sub(2);
        let most = self.report_lines();
        lines.extend(found.iter().take(most).map(|line| format!("  {}", cut(line, room))));
        let more = found.len().saturating_sub(most);
        if more > 0 {
            let how = if self.kept { format!(": tine show {id}") } else { String::new() };
            let text = format!("… {}{how}", plural(more as u64, "more line"));
            lines.push(format!("  {}", styled(DIM, &text)));
        }
        let issues = report.issues.as_deref().filter(|issues| *issues != "none");
        if let Some(issues) = issues {
            lines.push(format!("  {}", styled(YELLOW, &cut(&first_line(issues), room))));
        }
        lines
    }

    fn next(&self) -> Vec<String> {
        let Told { root, fan, .. } = self.told;
        let mut steps = if self.kept {
            let worker = fan.tasks.first().map_or_else(|| root.short(), |task| task.agent.short());
            vec![
                (format!("tine tree {}", root.short()), "these agents are yours now"),
                (format!("tine show {worker}"), "what one of them inherited and did"),
                (format!("tine cost {}", root.short()), "what the tree cost"),
            ]
        } else {
            vec![(
                "tine demo --keep".to_owned(),
                "keeps the agents: tine tree, tine show, tine cost",
            )]
        };
        steps.extend([
            ("export ANTHROPIC_API_KEY=…".to_owned(), "or OPENAI_API_KEY: then it is a real model"),
            ("tine run \"Explain this.\"".to_owned(), "talk to an agent in this directory"),
            ("tine fan ID -d … -d …".to_owned(), "give it your own questions, in parallel"),
        ]);
        let mut lines = vec![heading("What next")];
        lines
            .push(styled(DIM, &cut(&format!("All this was {}.", model_words(MODEL)), self.room())));
        lines.extend(
            steps
                .iter()
                .map(|(command, why)| format!("  {} {}", fit(command, 27), styled(DIM, why))),
        );
        lines
    }
}

/// A line above a part.
pub(super) fn heading(text: &str) -> String {
    styled(BOLD.underline(), text)
}

fn work(turns: u32, tool_uses: u32) -> String {
    format!("{}, {}", plural(u64::from(turns), "turn"), plural(u64::from(tool_uses), "call"))
}

#[cfg(test)]
mod tests {
    use tine_cache::{FanCost, Models, Situation, plan};
    use tine_fork::run::RunReport;
    use tine_fork::worker::Report;
    use tine_model::{AgentId, Outcome, Usage};
    use tine_runtime::{CacheReport, FanReport};

    use super::*;

    fn usage(written: u64, read: u64) -> Usage {
        Usage { write_short: Some(written), read: Some(read), output: 100, ..Usage::default() }
    }

    fn task(index: u8, job: &str, text: &str) -> FanTask {
        let first = if index == 0 { usage(400, 9_900) } else { usage(300, 10_000) };
        FanTask {
            agent: AgentId::from_random([index; 16]),
            directive: job.to_owned(),
            status: TaskStatus::Completed,
            outcome: "completed".to_owned(),
            report: Some(Report::parse(text)),
            error: None,
            usage: usage(1_000, 31_000),
            requests: vec![tine_model::Spent { started_ms: 0, usage: first }],
            turns: 3,
            tool_uses: 2,
            flags: Vec::new(),
            duration_ms: 1_500,
            worktree: None,
        }
    }

    fn told() -> Told {
        let long = "Scope: s\nResult: one\n  two\n  three\u{1b}[2J\n  four\nfive\nIssues: a few";
        let mut tasks =
            vec![task(0, "a", long), task(1, "b", "Result: short"), task(2, "c", "free text")];
        tasks.extend([task(3, "d", ""), task(4, "e", "x"), task(5, "f", "x")]);
        if let Some(failed) = tasks.last_mut() {
            (failed.status, failed.report) = (TaskStatus::Failed, None);
            failed.error = Some("the provider is overloaded".to_owned());
        }
        let (mut first, mut total) = (Usage::default(), Usage::default());
        for task in &tasks {
            first += task.requests[0].usage;
            total += task.usage;
        }
        let cost = FanCost {
            actual: 0.1,
            naive: 0.3,
            leader_first: 0.1,
            warm: 0.095,
            ideal: 0.09,
            uncached: 0.8,
        };
        let facts = Models::bundled().facts(super::super::story::MODEL);
        let cache = CacheReport {
            plan: plan(&Situation::default(), &facts),
            forks: vec![Some(cost); tasks.len()],
            held: None,
            first,
            total,
            priced_as: Some("anthropic/some-model".to_owned()),
            cost: Some(cost),
        };
        let root = AgentId::from_random([9; 16]);
        let looked = RunReport {
            outcome: Outcome::Completed,
            messages: Vec::new(),
            usage: usage(10_000, 30_000),
            requests: Vec::new(),
            turns: 5,
            tool_uses: 7,
            denials: tine_fork::tools::Denials::default(),
            error: None,
            reached: None,
        };
        Told { root, looked, fan: FanReport { parent: root, fork_point: None, tasks, cache } }
    }

    fn page(kept: bool, columns: usize, rows: Option<usize>) -> String {
        let told = told();
        let text = Page { told: &told, kept, columns, rows }.to_text();
        anstream::adapter::strip_str(&text).to_string().replace(Models::bundled().date(), "[DATE]")
    }

    #[test]
    fn the_page_shows_tree_reports_cache_and_money() {
        insta::assert_snapshot!(page(true, 80, Some(24)), @r#"

        The tree
        09090909 root: Get to know this directory.    5 turns, 7 calls
        ├─ 00000000 sizes by language    completed    3 turns, 2 calls, 1.5 s
        ├─ 01010101 longest files        completed    3 turns, 2 calls, 1.5 s
        ├─ 02020202 open ends            completed    3 turns, 2 calls, 1.5 s
        ├─ 03030303 recent history       completed    3 turns, 2 calls, 1.5 s
        ├─ 04040404 tests                completed    3 turns, 2 calls, 1.5 s
        └─ 05050505 directories, copies  failed       3 turns, 2 calls, 1.5 s

        What the workers found
        sizes by language 00000000
          one
            two
            three\u{1b}[2J
            four
          … 1 more line: tine show 00000000
          a few
        longest files 01010101
          short
        open ends 02020202
          free text
        recent history 03030303
        tests 04040404
          x
        directories, copies 05050505
          the provider is overloaded

        What the cache did
        tokens                    read   written  uncached   hit  █ read ░ the rest
        6 first requests        59,900     1,900         0   97%  ████████████████████▍
        all 18 requests        186,000     6,000         0   97%  ████████████████████▍

        Each worker inherited 10,000 tokens. Every one of them was written once: 9,900
        by the root agent, the last 100 by the worker that went first. The other 5 read
        them all.

        The same 6 jobs, at the prices of anthropic/some-model ([DATE]), replies
        included:
        as forks              $0.1000  █████
        all of it cached      $0.0900  ████▌
        as new conversations  $0.3000  ███████████████
        without a cache       $0.8000  ████████████████████████████████████████
        67% less than as new conversations, 88% less than without a cache.

        What next
        All this was sim/demo: the simulator, not a model.
          tine tree 09090909          these agents are yours now
          tine show 00000000          what one of them inherited and did
          tine cost 09090909          what the tree cost
          export ANTHROPIC_API_KEY=…  or OPENAI_API_KEY: then it is a real model
          tine run "Explain this."    talk to an agent in this directory
          tine fan ID -d … -d …       give it your own questions, in parallel
        "#);
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        use unicode_width::UnicodeWidthStr;
        for columns in [80, 100, 200] {
            for line in page(false, columns, None).lines() {
                assert!(line.width() < columns, "{columns}: {line}");
            }
        }
    }
}
