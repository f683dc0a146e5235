//! What lies over the conversation on a screen, as text.

use ansi_to_tui::IntoText as _;

use crate::age::age;
use crate::app::{App, COMMANDS, Overlay, Page, Tree, called};
use crate::figures::plural;
use crate::words::{harmless, one_line};

/// Most conversations of the picker that are told.
const PICKED_MAX: usize = 20;

/// The page as lines.
pub(super) fn text(app: &App, overlay: &Overlay) -> String {
    match overlay {
        Overlay::Tree(tree) => agents(app, tree),
        Overlay::Help(page) => help(&page.wanted),
        Overlay::Page(Page { title, text, .. }) => {
            let lines = text.into_text().map(|text| {
                let lines = text.lines.iter().map(|line| line.to_string().trim_end().to_owned());
                lines.collect::<Vec<_>>().join("\n")
            });
            // Colours that cannot be read are no reason to show nothing.
            format!("{title}\n{}", lines.unwrap_or_else(|_| text.clone()))
        }
        Overlay::Side(page) => {
            let said = page.error.as_deref().unwrap_or(&page.answer);
            format!(
                "{}\n(beside the conversation; nothing of it is kept)",
                harmless(said).trim_end()
            )
        }
    }
}

/// All agents, forks below their parents and further in.
fn agents(app: &App, tree: &Tree) -> String {
    let head = if tree.is_picker {
        "Conversations, this directory first, the last used first".to_owned()
    } else {
        plural(tree.rows.len() as u64, "agent")
    };
    let mut lines = vec![format!("{head}; /resume NAME goes to one")];
    let shown = if tree.is_picker { PICKED_MAX } else { usize::MAX };
    for row in tree.rows.iter().take(shown) {
        let Some(agent) = app.record(row.agent) else { continue };
        let mut parts = vec![
            one_line(&called(agent)),
            app.kind(agent).to_owned(),
            app.doing(agent).words().to_owned(),
        ];
        parts.extend(app.facts.cost(agent.id).map(|cost| match cost.as_str() {
            "?" => "cost unknown".to_owned(),
            cost => format!("cost {cost}"),
        }));
        parts.extend(
            app.facts.cached(agent.id).map(|share| format!("{share}% of all requests cached")),
        );
        let files = app.facts.files(agent.id);
        parts.extend(files.map(|files| plural(u64::from(files), "changed file")));
        parts.extend(agent.fork_point.map(|entry| format!("forked at {entry}")));
        parts.push(agent.settings.model.to_string());
        parts.push(format!("{} ago", age(app.now_ms, agent.updated_ms)));
        if tree.is_picker {
            parts.push(app.place_of(agent));
            parts.extend((row.folded > 0).then(|| plural(row.folded as u64, "fork")));
        }
        if app.focus == Some(row.agent) {
            parts.push("you are here".to_owned());
        }
        let title = app.title_of(row.agent).map_or(String::new(), |title| format!(": {title}"));
        lines.push(format!("{}{}{title}", "  ".repeat(row.depth), parts.join(", ")));
    }
    let left_out = tree.rows.len().saturating_sub(shown);
    if left_out > 0 {
        lines.push(format!("and {}: /ps shows all", plural(left_out as u64, "older one")));
    }
    lines.join("\n")
}

fn help(wanted: &str) -> String {
    let mut lines = vec!["Commands".to_owned()];
    for command in COMMANDS {
        let names: Vec<String> = command.names.iter().map(|name| format!("/{name}")).collect();
        let usage = match command.usage {
            "" => String::new(),
            usage => format!(" {usage}"),
        };
        lines.push(format!("  {}{usage}: {}", names.join(", "), command.help));
    }
    lines.push("A backslash at the end of a line lets it go on in the next one.".to_owned());
    lines.push(
        "At a question y, n or the number of a choice answers it; other words mean no, and are told to the agent that you see. Words for another that asks: /answer n REASON."
            .to_owned(),
    );
    lines.push(
        "Ctrl+C interrupts the turn that you see; twice where none runs, or Ctrl+D, leaves."
            .to_owned(),
    );
    lines.retain(|line| line.to_lowercase().contains(&wanted.to_lowercase()));
    if lines.is_empty() {
        lines.push(format!("nothing here has `{}`", one_line(wanted)));
    }
    lines.join("\n")
}
