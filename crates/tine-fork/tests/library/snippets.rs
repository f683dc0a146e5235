//! The two calls that the fork library tine began with shows in its own documentation, word for word but for one field: a
//! `timeout` is an `Option` here, since a fork may have no limit.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tine_fork::{
    AllowAllFilter, AutoMemFilter, CacheSafeParams, DefaultForkSubagent, DelegateMode, ForkParams,
    ForkSubagent, QuerySource, tool_filter,
};
use tine_model::{Message, RawJson};
use tine_testkit::Answer;

use crate::house::{House, model};

type Done = Result<(), Box<dyn Error>>;

/// Shows: a fork is made of all its fields in one literal, and its end is taken from its handle.
#[tokio::test(start_paused = true)]
async fn a_fork_is_written_as_a_literal() -> Done {
    let House { parent: parent_ctx, tools: tool_dispatcher, request: parent_chat_request, .. } =
        House::new("anthropic/m");
    let llm = model([Answer::text("ok")]);

    let cache_safe = CacheSafeParams::from_parent_request(&parent_chat_request);
    let handle = DefaultForkSubagent::new()
        .fork(ForkParams {
            parent_ctx,
            llm,
            tool_dispatcher,
            prompt_messages: vec![Message::user("go")],
            cache_safe,
            tool_filter: Arc::new(AllowAllFilter),
            query_source: QuerySource::Custom("docs_example"),
            fork_label: "docs_example".into(),
            overrides: None,
            max_turns: 10,
            on_message: None,
            skip_transcript: true,
            mode: DelegateMode::ForkAndForget,
            timeout: Some(Duration::from_secs(300)),
            external_abort: None,
        })
        .await?;
    let mut handle = handle;
    let result = handle.take_completion().unwrap().await?;

    assert_eq!((result.source.as_str(), result.label.as_str()), ("docs_example", "docs_example"));
    assert_eq!(result.into_text()?, "ok");
    Ok(())
}

/// Shows: a memory run's filter is one field of that literal, and knows its seven tools by names that have constants.
#[tokio::test(start_paused = true)]
async fn a_memory_run_is_written_as_a_literal() -> Done {
    let House { parent: parent_ctx, tools: tool_dispatcher, request: parent_request, .. } =
        House::new("anthropic/m");
    let llm = model([Answer::text("ok")]);
    let world = tempfile::tempdir()?;

    let memory_dir = world.path().join("memory");
    std::fs::create_dir_all(&memory_dir)?;
    let filter = Arc::new(AutoMemFilter::new(&memory_dir)?);
    let handle = DefaultForkSubagent::new()
        .fork(ForkParams {
            parent_ctx,
            llm,
            tool_dispatcher,
            prompt_messages: vec![Message::user("/dream")],
            cache_safe: CacheSafeParams::from_parent_request(&parent_request),
            tool_filter: filter.clone(),
            query_source: QuerySource::AutoDream,
            fork_label: "auto_dream".into(),
            overrides: None,
            max_turns: 30,
            on_message: None,
            skip_transcript: true,
            mode: DelegateMode::ForkAndForget,
            timeout: Some(std::time::Duration::from_secs(300)),
            external_abort: None,
        })
        .await?;

    assert_eq!(handle.join().await?.source, QuerySource::AutoDream);
    use tool_filter::ToolFilter;
    use tool_filter::tool_names::{BASH, FILE_EDIT, FILE_READ, FILE_WRITE, GLOB, GREP, REPL};
    let path = memory_dir.join("new.md").display().to_string();
    let calls = [
        (BASH, r#"{"command":"ls"}"#.to_owned()),
        (FILE_EDIT, format!(r#"{{"file_path":"{path}","old_string":"a","new_string":"b"}}"#)),
        (FILE_READ, format!(r#"{{"file_path":"{path}"}}"#)),
        (FILE_WRITE, format!(r#"{{"file_path":"{path}","content":"a"}}"#)),
        (GLOB, r#"{"pattern":"*.md"}"#.to_owned()),
        (GREP, r#"{"pattern":"a"}"#.to_owned()),
        (REPL, r#"{"code":"1"}"#.to_owned()),
    ];
    for (tool, input) in calls {
        assert!(filter.allows(tool, &RawJson::parse(&input)?), "{tool}");
    }
    Ok(())
}
