//! Budgets on the command line: caps from options and settings, and what is said of them.

use tine_model::{AgentId, Cap, CapReached};
use tine_runtime::{BudgetRow, OnBudget};
use tine_tui::figures::{grouped, money, plural, span};

use crate::cli::{Changes, MICRO, TreeCaps, micro_usd, milliseconds};
use crate::config::{BudgetTable, Config, Setting};
use crate::context::Context;
use crate::fail::{BUDGET, Failure, raise};
use crate::output;

/// Every cap, in the order in which they are shown.
pub(crate) const CAPS: [Cap; 5] = [Cap::Tokens, Cap::Money, Cap::Time, Cap::Agents, Cap::Running];

/// What a run does at a cap: a person at a terminal can raise it, a script is told at once.
pub(crate) fn on_budget(args: &TreeCaps) -> OnBudget {
    if args.wait_for_budget || output::stderr_is_terminal() {
        OnBudget::Pause
    } else {
        OnBudget::End
    }
}

/// The caps of a new tree: those of the settings and of the command line; the latter win.
pub(crate) fn of_new_tree(config: &Config, changes: Changes) -> Result<Changes, Failure> {
    let given = |cap: Cap| changes.iter().any(|(changed, _)| *changed == cap);
    let usual = defaults(&config.budget)?.into_iter();
    let mut caps: Changes = usual.map(|(cap, most, _)| (cap, Some(most))).collect();
    caps.retain(|(cap, _)| !given(*cap));
    caps.extend(changes.iter().filter(|(_, most)| most.is_some()));
    Ok(caps)
}

/// Gives a new tree its caps, if there are any.
pub(crate) async fn begin(context: &Context, root: AgentId, caps: Changes) -> Result<(), Failure> {
    if !caps.is_empty() {
        let row = context.runtime.set_budget(root, caps).await?;
        warn_of_unknown_prices(context, &row).await?;
    }
    Ok(())
}

/// Changes the caps of the tree of an agent that exists, and says so.
pub(crate) async fn change(
    context: &Context,
    agent: AgentId,
    changes: Changes,
) -> Result<(), Failure> {
    if changes.is_empty() {
        return Ok(());
    }
    let before = context.runtime.budget(agent).await?;
    let row = context.runtime.set_budget(agent, changes.clone()).await?;
    warn_of_unknown_prices(context, &row).await?;
    for (cap, most) in changes {
        let old = before.as_ref().and_then(|before| before.caps.get(cap));
        if old == most {
            continue;
        }
        let root = row.root.short();
        let words = |most: Option<u64>| most.map_or("none".to_owned(), |most| amount(cap, most));
        output::say(&match before {
            None => format!("budget of tree {root}: {} {}", cap.as_str(), words(most)),
            Some(_) => {
                format!(
                    "budget of tree {root}: {} {}, was {}",
                    cap.as_str(),
                    words(most),
                    words(old)
                )
            }
        });
    }
    Ok(())
}

/// A cap of money does not hold where nothing is known of the price.
async fn warn_of_unknown_prices(context: &Context, row: &BudgetRow) -> Result<(), Failure> {
    if row.caps.micro_usd.is_some() {
        let model = context.runtime.agent(row.root).await?.settings.model.to_string();
        if !context.runtime.ports().facts.facts(&model).prices.is_known() {
            output::say(&format!(
                "warning: the price of {model} is unknown, so that a budget of money does not hold it back"
            ));
            output::say("hint: give its prices in models.toml, or limit the tokens");
        }
    }
    Ok(())
}

/// The caps that the settings give to new trees, and who says so; of several files the lowest counts, so that a project's can
/// only narrow the user's.
pub(crate) fn defaults(tables: &[Setting<BudgetTable>]) -> Result<Vec<(Cap, u64, &str)>, Failure> {
    let mut caps: Vec<(Cap, u64, &str)> = Vec::new();
    for Setting { value: table, origin } in tables {
        let bad = |key: &str, hint: &str| {
            Failure::input(format!("budget.{key} from {origin} makes no sense")).hint(hint)
        };
        let usd = table.usd.map(|usd| {
            micro_usd(usd).ok_or_else(|| bad("usd", "it is an amount of USD, such as 2.5"))
        });
        let time = table.time.as_deref().map(|time| {
            let hint = "it is a number and a unit, such as 90s, 30m, 1h or 2d";
            milliseconds(time).ok_or_else(|| bad("time", hint))
        });
        let running = match table.running {
            Some(0) => return Err(bad("running", "it is a whole number from 1 on")),
            running => running,
        };
        let set = [
            (Cap::Tokens, table.tokens),
            (Cap::Money, usd.transpose()?),
            (Cap::Time, time.transpose()?),
            (Cap::Agents, table.agents),
            (Cap::Running, running),
        ];
        for (cap, most) in set.into_iter().filter_map(|(cap, most)| Some((cap, most?))) {
            match caps.iter_mut().find(|(known, ..)| *known == cap) {
                Some((_, lowest, _)) if *lowest <= most => {}
                Some(known) => *known = (cap, most, origin),
                None => caps.push((cap, most, origin)),
            }
        }
    }
    Ok(caps)
}

/// An amount of a cap.
pub(crate) fn amount(cap: Cap, count: u64) -> String {
    match cap {
        Cap::Tokens | Cap::Agents | Cap::Running => grouped(count),
        Cap::Money => money(usd(count)),
        Cap::Time => span(count),
    }
}

/// Millionths as USD.
pub(crate) fn usd(micro: u64) -> f64 {
    micro as f64 / MICRO
}

/// What is used up, in a line.
pub(crate) fn used_up(reached: &CapReached) -> String {
    let CapReached { cap, used, most } = *reached;
    match cap {
        Cap::Tokens => format!("{} of {} are spent", grouped(used), plural(most, "token")),
        Cap::Money => format!("{} of {} are spent", money(usd(used)), money(usd(most))),
        Cap::Time => format!("its time of {} is up", span(most)),
        Cap::Agents => format!("{} of {} are made", grouped(used), plural(most, "worker")),
        Cap::Running => format!("{} are before it in line", plural(used, "worker")),
    }
}

/// What is said while a run waits at a cap.
pub(crate) fn paused(reached: &CapReached, agent: &str) -> String {
    match reached.cap {
        Cap::Running => format!("waits for its turn: {}", used_up(reached)),
        Cap::Tokens | Cap::Money | Cap::Time | Cap::Agents => format!(
            "paused, the budget of the tree is used up: {}; {} lets it go on",
            used_up(reached),
            raise(reached.cap, agent)
        ),
    }
}

/// The error of a run, or of a fan, that ended at a cap.
pub(crate) fn ended(reached: &CapReached, agent: &str) -> Failure {
    Failure::coded(BUDGET, format!("the budget of the tree is used up: {}", used_up(reached)))
        .hint(format!("{} raises it", raise(reached.cap, agent)))
}

/// What is used of every cap that is set, on one line.
pub(crate) fn in_a_line(row: &BudgetRow, now_ms: i64) -> String {
    let parts = CAPS.into_iter().filter_map(|cap| {
        let most = row.caps.get(cap)?;
        let used = row.used(cap, now_ms);
        Some(match cap {
            Cap::Tokens => format!("{} of {}", grouped(used), plural(most, "token")),
            Cap::Money => format!("{} of {}", money(usd(used)), money(usd(most))),
            Cap::Time => format!("{} of {}", span(used), span(most)),
            Cap::Agents => format!("{} of {}", grouped(used), plural(most, "worker")),
            Cap::Running => format!("{} of {} running", grouped(used), grouped(most)),
        })
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "no cap".to_owned() } else { parts.join(" · ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(table: &str, origin: &str) -> Setting<BudgetTable> {
        Setting { value: toml::from_str(table).unwrap(), origin: origin.to_owned() }
    }

    #[test]
    fn of_two_files_the_lower_cap_counts() {
        let user = set("tokens = 500\ntime = \"1h\"", "user");
        let project = set("tokens = 900\ntime = \"5m\"\nusd = 1.5\nagents = 0", "project");
        let tables = [user, project];
        let caps = defaults(&tables).unwrap();
        let expected = [
            (Cap::Tokens, 500, "user"),
            (Cap::Time, 300_000, "project"),
            (Cap::Money, 1_500_000, "project"),
            (Cap::Agents, 0, "project"),
        ];
        assert_eq!(caps, expected);
        for bad in ["usd = -1.0", "usd = nan", "time = \"soon\"", "running = 0"] {
            let text = defaults(&[set(bad, "/c.toml")]).unwrap_err().text();
            assert!(text.contains(" from /c.toml makes no sense\nhint: "), "{text}");
        }
    }

    #[test]
    fn a_run_that_waits_says_for_what_and_how_to_go_on() {
        let told = |cap, used, most| paused(&CapReached { cap, used, most }, "1a2b");
        insta::assert_snapshot!([
            told(Cap::Tokens, 20_100, 20_000),
            told(Cap::Money, 1_020_000, 1_000_000),
            told(Cap::Time, 61_000, 60_000),
            told(Cap::Running, 2, 2),
        ].join("\n"), @"
        paused, the budget of the tree is used up: 20,100 of 20,000 tokens are spent; `tine budget 1a2b --tokens N` lets it go on
        paused, the budget of the tree is used up: $1.02 of $1.00 are spent; `tine budget 1a2b --usd USD` lets it go on
        paused, the budget of the tree is used up: its time of 1 min 0 s is up; `tine budget 1a2b --time TIME` lets it go on
        waits for its turn: 2 workers are before it in line
        ");
    }
}
