//! Loops that nothing ends.

use crate::shell::syntax::tree::{Command, Item, List, Node, Template};

/// Names of commands that hardly ever fail.
const SUCCEED: [&str; 6] = [":", "date", "echo", "printf", "sleep", "true"];

/// The name of the only command of a list.
fn only_name(list: &List) -> Option<&str> {
    match list.as_slice() {
        [Item { pipeline, .. }] => match pipeline.as_slice() {
            [Command { node: Node::Simple { words, .. }, .. }] => words.first()?.bare(),
            _ => None,
        },
        _ => None,
    }
}

/// True if a loop with this condition ends only where it is left.
pub(super) fn always(condition: &List, until: bool) -> bool {
    let Some(last) = condition.last() else { return true };
    let last: List = vec![last.clone()];
    match only_name(&last) {
        Some(name) if until => name == "false",
        Some("[" | "test") => last.iter().flat_map(|item| &item.pipeline).all(|command| {
            matches!(&command.node, Node::Simple { words, .. }
                if words.iter().all(|word| word.literal().is_some()))
        }),
        Some(name) => SUCCEED.contains(&name),
        None => matches!(
            last.first().map(|item| item.pipeline.as_slice()),
            Some([Command { node: Node::Compute(arithmetic), .. }]) if arithmetic.constant
        ),
    }
}

/// True if the commands of a loop may leave it.
pub(super) fn leaves(list: &List) -> bool {
    leaves_by(list, &["break", "exit", "return"])
}

fn leaves_by(list: &List, names: &[&str]) -> bool {
    list.iter().flat_map(|item| &item.pipeline).any(|command| match &command.node {
        Node::Simple { words, .. } => {
            words.first().and_then(Template::bare).is_some_and(|name| names.contains(&name))
        }
        Node::Group { list, .. } => leaves_by(list, names),
        // There `break` leaves the inner loop.
        Node::For { body, .. } | Node::Count { body, .. } | Node::Loop { body, .. } => {
            leaves_by(body, &["exit", "return"])
        }
        Node::If { arms, otherwise } => {
            let arm = |(condition, body): &(List, List)| {
                leaves_by(condition, names) || leaves_by(body, names)
            };
            arms.iter().any(arm) || otherwise.as_ref().is_some_and(|list| leaves_by(list, names))
        }
        Node::Case { arms, .. } => arms.iter().any(|(_, list)| leaves_by(list, names)),
        Node::Condition(_) | Node::Compute(_) | Node::Function(_) | Node::Coprocess(_) => false,
    })
}
