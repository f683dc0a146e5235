//! Runs that another machine has, and lineages as they travel there.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tine_model::AgentId;

use crate::{Fence, NewEntry};

/// A run of an agent that was given away. Its agent and its task count as running, whether or not somebody here waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRun {
    /// The agent.
    pub agent: AgentId,
    /// The name of the run.
    pub run: String,
    /// The number of events of it that have been taken in.
    pub position: u64,
    /// The caller's own text, by which it goes on with the run; never looked into.
    pub detail: String,
    /// When it was given away, in milliseconds since the Unix epoch.
    pub begun_ms: i64,
    /// When its end was taken in; `None` while it is under way.
    pub ended_ms: Option<i64>,
}

/// Entries that have come back of a run.
#[derive(Debug, Clone)]
pub struct TakeIn<'a> {
    /// The agent.
    pub agent: AgentId,
    /// Its current lease.
    pub fence: Fence,
    /// The run.
    pub run: &'a str,
    /// The number of the event that brought them.
    pub position: u64,
    /// The entries.
    pub entries: &'a [NewEntry],
}

/// The rows of an agent and of those that it inherits from, to be put into an empty store of the same version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The rows of the ancestors, up to the fork point: siblings have the same.
    pub inherited: Rows,
    /// The agent's own.
    pub own: Rows,
}

impl Lineage {
    /// The rows in parts: those that later forks of the same conversation have as well, in pieces of at least `bytes` of JSON, and the
    /// rest. The pieces begin at the first entry, so that a longer conversation has the same ones and more.
    pub fn into_parts(self, bytes: usize) -> (Vec<Rows>, Rows) {
        let Self { inherited, own } = self;
        let version = own.version;
        let (mut shared, mut tables) = (Vec::new(), Vec::new());
        for table in inherited.tables {
            match table.table.as_str() {
                "heads" => shared.push(Rows { version, tables: vec![table] }),
                "entries" => {
                    let (pieces, rest) = table.pieces(bytes);
                    shared.extend(
                        pieces.into_iter().map(|piece| Rows { version, tables: vec![piece] }),
                    );
                    tables.push(rest);
                }
                // What an ancestor does changes its row.
                _ => tables.push(table),
            }
        }
        tables.extend(own.tables);
        (shared, Rows { version, tables })
    }
}

/// Rows of tables, ids included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The version of the tables.
    pub version: i64,
    pub(crate) tables: Vec<TableRows>,
}

/// Rows of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableRows {
    pub(crate) table: String,
    pub(crate) columns: Vec<String>,
    /// Bytes are objects with the one member `hex`.
    pub(crate) rows: Vec<Vec<Value>>,
}

impl TableRows {
    /// The rows in pieces of at least `bytes` of JSON, and those that are left.
    fn pieces(self, bytes: usize) -> (Vec<Self>, Self) {
        let Self { table, columns, rows } = self;
        let piece = |rows| Self { table: table.clone(), columns: columns.clone(), rows };
        let (mut pieces, mut open, mut length) = (Vec::new(), Vec::new(), 0);
        for row in rows {
            length += row.iter().map(|value| value.to_string().len()).sum::<usize>();
            open.push(row);
            if length >= bytes {
                pieces.push(piece(std::mem::take(&mut open)));
                length = 0;
            }
        }
        let rest = piece(open);
        (pieces, rest)
    }
}
