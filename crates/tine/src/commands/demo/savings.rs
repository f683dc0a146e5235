//! What the cache did for the workers, in tokens and in money.

use tine_cache::{FanCost, Models};
use tine_model::Usage;
use tine_runtime::FanReport;

use tine_tui::figures::{grouped, money, plural};
use tine_tui::words::{BOLD, DIM, GREEN, RED, YELLOW, cut, fit, styled};

/// Columns of what stands left of a figure.
const LABEL_COLUMNS: usize = 20;

/// Columns of the table's figures, with their label.
const FIGURES_COLUMNS: usize = LABEL_COLUMNS + 36;

/// Columns of the longest bar.
const BAR_COLUMNS: usize = 40;

/// A fan, to be shown on lines of `room` columns.
pub(super) struct Savings<'a> {
    pub(super) fan: &'a FanReport,
    pub(super) room: usize,
}

impl Savings<'_> {
    /// Both parts.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.tokens();
        if let Some(cost) = &self.fan.cache.cost {
            lines.push(String::new());
            lines.extend(self.money(cost));
        }
        lines
    }

    fn tokens(&self) -> Vec<String> {
        let cache = &self.fan.cache;
        let requests: u64 = self.fan.tasks.iter().map(|task| u64::from(task.turns)).sum();
        let columns = self.room.saturating_sub(FIGURES_COLUMNS + 2).min(BAR_COLUMNS);
        let head = format!(
            "{:LABEL_COLUMNS$}{:>10}{:>10}{:>10}{:>6}  {}",
            "tokens", "read", "written", "uncached", "hit", "█ read ░ the rest"
        );
        let workers = self.fan.tasks.len();
        let mut lines = vec![
            styled(DIM, cut(&head, self.room).as_str()),
            figures(&format!("{workers} first requests"), &cache.first, columns),
            figures(&format!("all {requests} requests"), &cache.total, columns),
            String::new(),
        ];
        lines.extend(wrap(&self.inherited(), self.room));
        lines
    }

    /// The prefix in words: who wrote it, who read it.
    pub(super) fn inherited(&self) -> String {
        let firsts: Vec<Usage> = self
            .fan
            .tasks
            .iter()
            .filter_map(|task| task.requests.first().map(|first| first.usage))
            .collect();
        let reads = || firsts.iter().map(|usage| usage.read.unwrap_or(0));
        let (prefix, least) = (reads().max().unwrap_or(0), reads().min().unwrap_or(0));
        let whole = reads().filter(|read| *read == prefix).count();
        let all = grouped(prefix);
        match firsts.len() - whole {
            0 => format!(
                "Each worker inherited {all} tokens. They were in the cache already, once, from the root agent's own requests; all {whole} read them."
            ),
            1 => format!(
                "Each worker inherited {all} tokens. Every one of them was written once: {} by the root agent, the last {} by the worker that went first. The other {whole} read them all.",
                grouped(least),
                grouped(prefix - least)
            ),
            few => format!("Each worker inherited {all} tokens; {whole} read them all, {few} not."),
        }
    }

    fn money(&self, cost: &FanCost) -> Vec<String> {
        let model = self.fan.cache.priced_as.as_deref().unwrap_or(super::story::MODEL);
        let date = Models::bundled().date().to_owned();
        let rows = [
            ("as forks", cost.actual, GREEN),
            ("all of it cached", cost.ideal, DIM),
            ("as new conversations", cost.naive, YELLOW),
            ("without a cache", cost.uncached, RED),
        ];
        let most = rows.iter().map(|(_, dollars, _)| *dollars).fold(f64::MIN_POSITIVE, f64::max);
        let columns = BAR_COLUMNS.min(self.room.saturating_sub(LABEL_COLUMNS + 11)).max(1);
        let mut lines = wrap(
            &format!(
                "The same {}, at the prices of {model} ({date}), replies included:",
                plural(self.fan.tasks.len() as u64, "job")
            ),
            self.room,
        );
        lines.extend(rows.map(|(label, dollars, style)| {
            let bar = styled(style, &bar(dollars / most, columns));
            format!("{}{:>9}  {bar}", fit(label, LABEL_COLUMNS), money(dollars))
        }));
        lines.push(styled(BOLD, &saved(cost)));
        lines
    }
}

/// How much less was paid.
pub(super) fn saved(cost: &FanCost) -> String {
    let less =
        |than: f64| format!("{:.0}%", (1.0 - cost.actual / than.max(f64::MIN_POSITIVE)) * 100.0);
    format!(
        "{} less than as new conversations, {} less than without a cache.",
        less(cost.naive),
        less(cost.uncached)
    )
}

/// Prompts in figures, and as a bar: what the cache served, then the rest.
fn figures(label: &str, usage: &Usage, columns: usize) -> String {
    let hit = usage.hit_ratio();
    let percent = hit.map_or_else(|| "-".to_owned(), |hit| format!("{:.0}%", hit * 100.0));
    let served = if columns > 0 { bar(hit.unwrap_or(0.0), columns) } else { String::new() };
    let rest = "░".repeat(columns.saturating_sub(served.chars().count()));
    format!(
        "{label:LABEL_COLUMNS$}{:>10}{:>10}{:>10}{percent:>6}  {}{}",
        grouped(usage.read.unwrap_or(0)),
        grouped(usage.written()),
        grouped(usage.uncached),
        styled(GREEN, &served),
        styled(YELLOW, &rest)
    )
}

/// A bar of a share of `columns`, to an eighth of a column; never quite nothing.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * columns as f64 * 8.0).round().max(1.0) as usize;
    let mut text = "█".repeat(eighths / 8);
    match eighths % 8 {
        0 => {}
        part => text.extend(EIGHTHS.get(part)),
    }
    text
}

/// The text in lines of at most `columns` columns, broken between words.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_exact_to_an_eighth_and_never_nothing() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.0, 3), "▏");
        assert_eq!(bar(7.0, 2), "██");
    }
}
