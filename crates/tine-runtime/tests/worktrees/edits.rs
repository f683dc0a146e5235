//! What needs no question in a worktree of tine's own.

use std::sync::Arc;

use serde_json::json;
use tine_guard::Rules;
use tine_model::{Block, Role};
use tine_runtime::{ForkSpec, RunOptions};
use tine_testkit::{Answer, ScriptedModel};

use super::{own, repository, with_worktrees};
use crate::crew::{calls, say_with};
use crate::fixture::options;

/// What came of one call each to write inside, to write where programs would start, to write outside, and to run a command: a letter
/// each.
async fn went(options: &RunOptions, in_worktree: bool) -> String {
    let call = |id: &str, tool: &str, input: serde_json::Value| {
        (id.to_owned(), tool.to_owned(), input.to_string())
    };
    let write = |path: &str| json!({"file_path": path, "content": "new\n"});
    let (house, directory) = repository(ScriptedModel::new([
        Answer::text("common"),
        calls(&[
            call("a", "FileWrite", write("new.txt")),
            call("b", "FileWrite", write(".vscode/tasks.json")),
            call("c", "FileWrite", write("/srv/tine-test/outside.txt")),
            call("d", "Bash", json!({"command": "touch made"})),
        ]),
        Answer::text("Done."),
    ]))
    .await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    say_with(&house, root, "Hello.", options).await;
    let agent = match in_worktree {
        true => {
            let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
            house.runtime.fork(spec).await.unwrap().child
        }
        false => root,
    };
    say_with(&house, agent, "Work.", options).await;
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let results = fold.items().filter(|item| item.message.role() == Role::User);
    let results: Vec<char> = results
        .flat_map(|item| item.message.blocks().to_vec())
        .filter_map(|block| match block {
            Block::ToolResult { is_error, .. } => Some(if is_error { '-' } else { '+' }),
            _ => None,
        })
        .collect();
    results.into_iter().collect()
}

#[tokio::test]
async fn edits_are_free_in_a_worktree_of_tines_own_and_nothing_else_is() {
    // Nobody answers here, so that whatever is asked about is refused.
    assert_eq!(went(&options(), true).await, "+---");
    assert_eq!(went(&options(), false).await, "----");
    let mut asks = options();
    asks.permissions.accepts_worktree_edits = false;
    assert_eq!(went(&asks, true).await, "----");
    let mut denies = options();
    let deny = vec!["FileWrite(new.txt)".parse().unwrap()];
    denies.permissions.rules = Arc::new(Rules { deny, ..Rules::default() });
    assert_eq!(went(&denies, true).await, "----");
}
