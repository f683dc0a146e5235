//! No work: a task that asks for it, and no call.

use super::terms::{DOING, LOOKING, is_same_path, orders, paths};
use super::{Act, Evidence, acts};

/// A task asks for work when it orders to change something; and when it orders to look something up or names a file, unless every
/// file that it names was opened before the fork: then the answer was inherited, which is what a fork is for. Tasks that ask for
/// words alone, such as `Summarise what we decided`, need no call. A call that failed is work: it was tried.
pub(super) fn no_work(evidence: &Evidence<'_>) -> Option<String> {
    if !evidence.acts.is_empty() || !evidence.is_completed() {
        return None;
    }
    let task = evidence.task();
    let orders = orders(task);
    let one_of = |verbs: &[&str]| orders.iter().find(|order| verbs.contains(&order.as_str()));
    let named: Vec<String> = paths(task).collect();
    let asked = match (one_of(&DOING), one_of(&LOOKING).or(named.first())) {
        (Some(order), _) => order,
        (None, Some(_)) if !named.is_empty() && were_opened(&named, evidence) => return None,
        (None, asked) => asked?,
    };
    Some(format!("the task asks for work (`{asked}`) and no tool was called"))
}

/// Whether inherited calls name all of these files and were answered.
fn were_opened(named: &[String], evidence: &Evidence<'_>) -> bool {
    let inherited = acts(evidence.inherited);
    let is_answered = |act: &&Act| !act.is_error && !act.answer.is_empty();
    let opened: Vec<String> =
        inherited.iter().filter(is_answered).flat_map(|act| paths(&act.input)).collect();
    named.iter().all(|name| opened.iter().any(|file| is_same_path(file, name)))
}
