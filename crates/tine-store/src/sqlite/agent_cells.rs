//! Agents as SQLite hands them over: each as one array of JSON, and in lists many of them to an answer, for the reason that `packed.rs`
//! gives.

use std::path::Path;

use serde::Deserialize;
use tine_model::{
    AgentId, AgentRecord, AgentState, ContextMode, Effort, EntryId, ModelSettings, Standing,
    StopKind,
};

use super::column::{Columns, reach_from_text, thinking_from_text};
use super::connection::Reading;
use super::failure::corrupt;
use crate::{AgentFilter, Result};

/// Agents in one answer.
const AGENTS_MAX: i64 = 512;

/// The cells of an agent `a`, in the order of [`Cells`].
macro_rules! agent_cells {
    () => {
        "json_array(a.seq, hex(a.id), a.name, hex(a.parent), a.fork_point, a.standing, a.state, \
         a.context, a.model, a.max_tokens, a.thinking, a.effort, hex(a.head), a.directory, a.depth, \
         a.created_ms, a.updated_ms, a.stop, a.reach, a.title, a.failure)"
    };
}
pub(super) use agent_cells;

/// The array, which is read by the order of its fields.
#[derive(Deserialize)]
struct Cells {
    seq: i64,
    id: String,
    name: Option<String>,
    /// Empty for a root.
    parent: String,
    fork_point: Option<i64>,
    standing: String,
    state: String,
    context: String,
    model: String,
    max_tokens: i64,
    thinking: Option<String>,
    effort: Option<String>,
    head: String,
    directory: String,
    depth: i64,
    created_ms: i64,
    updated_ms: i64,
    stop: Option<String>,
    reach: String,
    title: Option<String>,
    failure: Option<String>,
}

/// Reads the cells of one agent, the row's only column.
pub(super) fn read_agent(row: &Columns<'_>) -> Result<AgentRecord> {
    let cells: Cells =
        serde_json::from_str(row.get(0)?).map_err(|error| corrupt(row.path(), error))?;
    record(row.path(), cells)
}

/// Reads the agents of a list, in the order in which they were made.
pub(super) async fn read_agents(
    read: &mut Reading<'_>,
    filter: AgentFilter,
) -> Result<Vec<AgentRecord>> {
    macro_rules! list {
        ($condition:literal) => {
            concat!(
                "SELECT json_group_array(json(cells)) FROM (SELECT ",
                agent_cells!(),
                " AS cells FROM agents a WHERE a.seq > ?1",
                $condition,
                " ORDER BY a.seq LIMIT ?2)"
            )
        };
    }
    let sql = match filter {
        AgentFilter::All => list!(""),
        AgentFilter::Kept => list!(" AND a.reaped_ms IS NULL"),
        AgentFilter::Listed => list!(" AND a.state <> 'dead' AND a.standing <> 'hidden'"),
    };
    let (mut after, mut agents) = (i64::MIN, Vec::new());
    loop {
        let row = read.one(sqlx::query(sql).bind(after).bind(AGENTS_MAX)).await?;
        let path = read.path();
        let Some(row) = row else { return Ok(agents) };
        let text: &str = row.get(0)?;
        let mut some: Vec<Cells> =
            serde_json::from_str(text).map_err(|error| corrupt(path, error))?;
        // The order in an array is not promised.
        some.sort_unstable_by_key(|cells| cells.seq);
        let Some(last) = some.last() else { return Ok(agents) };
        after = last.seq;
        for cells in some {
            agents.push(record(path, cells)?);
        }
    }
}

fn record(path: &Path, cells: Cells) -> Result<AgentRecord> {
    let damaged = |column: &str| corrupt(path, format!("unknown value in column `{column}`"));
    let id =
        |text: &str, column| bytes(text).map(AgentId::from_bytes).ok_or_else(|| damaged(column));
    Ok(AgentRecord {
        id: id(&cells.id, "id")?,
        name: cells.name,
        title: cells.title,
        parent: match cells.parent.as_str() {
            "" => None,
            parent => Some(id(parent, "parent")?),
        },
        fork_point: cells.fork_point.map(EntryId),
        standing: Standing::from_name(&cells.standing).ok_or_else(|| damaged("standing"))?,
        state: AgentState::from_name(&cells.state).ok_or_else(|| damaged("state"))?,
        failure: cells.failure,
        context: ContextMode::from_name(&cells.context).ok_or_else(|| damaged("context"))?,
        settings: ModelSettings {
            model: cells.model.parse().map_err(|_| damaged("model"))?,
            max_tokens: cells.max_tokens.try_into().map_err(|_| damaged("max_tokens"))?,
            thinking: known(cells.thinking, thinking_from_text)
                .ok_or_else(|| damaged("thinking"))?,
            effort: known(cells.effort, Effort::from_name).ok_or_else(|| damaged("effort"))?,
        },
        head: bytes(&cells.head).ok_or_else(|| damaged("head"))?,
        directory: cells.directory,
        reach: reach_from_text(&cells.reach).ok_or_else(|| damaged("reach"))?,
        depth: cells.depth.try_into().map_err(|_| damaged("depth"))?,
        stop: known(cells.stop, StopKind::from_name).ok_or_else(|| damaged("stop"))?,
        created_ms: cells.created_ms,
        updated_ms: cells.updated_ms,
    })
}

/// Reads a word where there is one; `None` for one that is not known.
fn known<T>(text: Option<String>, read: fn(&str) -> Option<T>) -> Option<Option<T>> {
    match text {
        None => Some(None),
        Some(text) => read(&text).map(Some),
    }
}

/// The bytes that SQL's `hex` has written; `None` where they are not so many.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (digits, rest) = text.as_bytes().as_chunks::<2>();
    if digits.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(digits) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
