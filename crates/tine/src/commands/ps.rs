//! `tine ps`: agents as a list, the newest first.

use anstyle::Style;
use tine_model::{AgentState, ContextMode};
use tine_store::AgentFilter;

use crate::cli::ListArgs;
use crate::commands::listing;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;
use crate::render::record::{AgentJson, Shown};
use crate::render::table::{Align, Cell, Table};
use tine_tui::age::age;
use tine_tui::words::{CYAN, DIM, RED, YELLOW, one_line};

pub(crate) async fn ps(context: &Context, args: ListArgs) -> Result<u8, Failure> {
    listing::recover(context).await?;
    listing::mend_checkouts(context).await?;
    let filter = if args.all { AgentFilter::Kept } else { AgentFilter::Listed };
    let mut agents = listing::agents(context, filter).await?;
    agents.reverse();
    listing::say_left_running(&agents);
    if args.json {
        let agents: Vec<AgentJson<'_>> = agents.iter().map(Shown::to_json).collect();
        output::json(&agents)?;
    } else if agents.is_empty() {
        listing::say_empty(context).await?;
    } else {
        let now_ms = context.runtime.ports().clock.now_ms();
        output::write_out(&table(&agents, now_ms).to_text())?;
    }
    Ok(0)
}

fn table(agents: &[Shown], now_ms: i64) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("ID", Left),
        ("NAME", Left),
        ("KIND", Left),
        ("STATE", Left),
        ("MODEL", Left),
        ("AGE", Right),
        ("FORKED-FROM", Left),
    ]);
    for agent in agents {
        let record = &agent.record;
        let mark = match (record.parent, record.context) {
            (None, _) => String::new(),
            (Some(_), ContextMode::Full) => " (forked)".to_owned(),
            (Some(_), ContextMode::Fresh) => " (fresh)".to_owned(),
            (Some(_), context) => format!(" (forked, {})", context.as_str()),
        };
        table.row([
            format!("{}{mark}", record.id.short()).into(),
            one_line(record.name.as_deref().unwrap_or_default()).into(),
            record.standing.as_str().into(),
            Cell::styled(agent.state(), state_style(record.state)),
            one_line(&record.settings.model.to_string()).into(),
            age(now_ms, record.created_ms).into(),
            agent.origin().unwrap_or_default().into(),
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
