//! What lies over the conversation on a screen, as text.

use ansi_to_tui::IntoText as _;

use crate::age::age;
use crate::app::{App, COMMANDS, Overlay, Page, rows, state_word, title};
use crate::figures::plural;
use crate::words::{harmless, one_line};

/// Characters by which a fork stands further in than its parent, in the picture and here.
const BRANCH_CHARACTERS: usize = 3;

/// The page as lines.
pub(super) fn text(app: &App, overlay: &Overlay) -> String {
    match overlay {
        Overlay::Tree(tree) => agents(app, tree.shows_dead),
        Overlay::Help(_) => help(),
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
fn agents(app: &App, shows_dead: bool) -> String {
    let rows = rows(&app.agents, shows_dead);
    let mut lines =
        vec![format!("{}; /resume NAME goes to one", plural(rows.len() as u64, "agent"))];
    for row in &rows {
        let Some(agent) = app.record(row.agent) else { continue };
        let depth = row.branch.chars().count() / BRANCH_CHARACTERS;
        let task = app.tasks.get(&row.agent);
        let state = if app.runs(row.agent) { "running" } else { state_word(agent, task) };
        let here = if app.focus == Some(row.agent) { ", you are here" } else { "" };
        let said = task.map(|task| task.description.as_deref().unwrap_or(&task.directive));
        let said = said.map_or(String::new(), |said| format!(": {}", one_line(said)));
        lines.push(format!(
            "{}{}, {state}, {}, {} ago{here}{said}",
            "  ".repeat(depth),
            one_line(&title(agent)),
            agent.settings.model,
            age(app.now_ms, agent.updated_ms),
        ));
    }
    lines.join("\n")
}

fn help() -> String {
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
    lines.push("A letter alone on a line answers a question that is put.".to_owned());
    lines.push(
        "Ctrl+C interrupts the turn that you see; twice where none runs, or Ctrl+D, leaves."
            .to_owned(),
    );
    lines.join("\n")
}
