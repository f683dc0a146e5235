//! `tine ps`: agents as a list, the newest first.

use anstyle::Style;
use tine_model::AgentState;
use tine_runtime::AgentFilter;

use crate::cli::ListArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::fold::Fold;
use crate::render::place::place;
use crate::render::record::{AgentJson, Shown};
use crate::render::table::{Align, Cell, Table};
use tine_tui::age::age;
use tine_tui::words::{CYAN, DIM, RED, YELLOW, one_line};

pub(crate) async fn ps(context: &Context, args: ListArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    listing::mend_checkouts(context).await?;
    let filter = if args.all { AgentFilter::Kept } else { AgentFilter::Listed };
    let mut agents = listing::agents(context, filter).await?;
    listing::say_left_running(&agents);
    if args.json {
        agents.reverse();
        let agents: Vec<AgentJson<'_>> = agents.iter().map(Shown::to_json).collect();
        output::json(&agents)?;
    } else if agents.is_empty() {
        listing::say_empty(context).await?;
    } else {
        let columns = output::stdout_columns();
        let folds = columns.filter(|_| !args.all);
        let fold = folds.map(|_| Fold::of(&agents, None)).unwrap_or_default();
        agents.retain(|agent| !fold.agents.contains(&agent.record.id));
        agents.reverse();
        let table = table(context, &agents).without_empty(&["NAME", "FORKED-FROM"]);
        let table = table.narrowed(columns, &NARROWED, TITLE_COLUMNS);
        let folded = match fold.agents.len() {
            0 => String::new(),
            folded => format!("… {}\n", listing::told_of_fold(folded, "AGENT")),
        };
        output::write_paged(&format!("{}{folded}", table.to_text())).await?;
    }
    Ok(0)
}

/// Columns that a narrow screen does without, the first one first.
const NARROWED: [&str; 5] = ["MODEL", "FORKED-FROM", "AGE", "DIRECTORY", "KIND"];

/// Fewest columns of titles.
const TITLE_COLUMNS: usize = 24;

fn table(context: &Context, agents: &[Shown]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("ID", Left),
        ("NAME", Left),
        ("KIND", Left),
        ("STATE", Left),
        ("MODEL", Left),
        ("AGE", Right),
        ("USED", Right),
        ("FORKED-FROM", Left),
        ("DIRECTORY", Left),
        ("TITLE", Left),
    ]);
    let now_ms = context.runtime.ports().clock.now_ms();
    let home = std::env::home_dir();
    for agent in agents {
        let record = &agent.record;
        table.row([
            record.id.short().into(),
            one_line(record.name.as_deref().unwrap_or_default()).into(),
            agent.kind().into(),
            Cell::styled(agent.state(), state_style(record.state)),
            one_line(&record.settings.model.to_string()).into(),
            age(now_ms, record.created_ms).into(),
            age(now_ms, record.updated_ms).into(),
            agent.origin().unwrap_or_default().into(),
            place(&record.directory, &context.directory, home.as_deref()).into(),
            one_line(&agent.title().unwrap_or_default()).into(),
        ]);
    }
    table
}

/// The colour of a state, for all lists.
pub(super) fn state_style(state: AgentState) -> Style {
    match state {
        AgentState::Idle => Style::new(),
        AgentState::Running => CYAN,
        AgentState::Interrupted => YELLOW,
        AgentState::Dead => RED.effects(DIM.get_effects()),
    }
}
