//! Reading a stretch of a log, many rows to an answer. Row by row, the driver's work for each one (a message between two
//! threads, a copy of each column) is more than SQLite's: 10,000 rows took 40 ms that way, and half of that this way.

use tine_model::{AgentId, EntryId};

use super::connection::Reading;
use super::failure::corrupt;
use crate::{EntryKind, EntryRow, Result};

/// Rows in one answer: enough that the cost of an answer no longer shows.
const ROWS_MAX: i64 = 256;

/// Longest body that travels in an answer with others. Longer ones (images, documents) come alone, so that an answer
/// stays below 4 MiB and far from SQLite's limit on the length of a text.
const BODY_BYTES_MAX: i64 = 16 * 1024;

/// Stands for the length of a body that comes alone.
const ALONE: &str = "-";

/// Column by column, each as one text: joining the columns of a row first takes SQLite twice as long. Bodies are not escaped,
/// since the lengths say where they end. All columns see the rows in the same order, which is not promised to be that of ids.
const STRETCH: &str = "SELECT count(*), max(id), group_concat(id, ' '), group_concat(kind, ' '), \
     group_concat(at_ms, ' '), \
     group_concat(CASE WHEN octet_length(body) <= ?4 THEN octet_length(body) ELSE '-' END, ' '), \
     group_concat(CASE WHEN octet_length(body) <= ?4 THEN body ELSE '' END, '') \
     FROM (SELECT id, kind, at_ms, body FROM entries \
     WHERE agent = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?5)";

/// Appends the agent's own rows after `after`, up to and with `upto`, to `entries`.
pub(super) async fn read_own(
    read: &mut Reading<'_>,
    agent: AgentId,
    after: i64,
    upto: i64,
    entries: &mut Vec<EntryRow>,
) -> Result<()> {
    let mut after = after;
    loop {
        let sql = sqlx::query(STRETCH)
            .bind(agent.as_bytes().as_slice())
            .bind(after)
            .bind(upto)
            .bind(BODY_BYTES_MAX)
            .bind(ROWS_MAX);
        let Some(row) = read.one(sql).await? else { return Ok(()) };
        let path = read.path();
        let (count, last): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        let Some(last) = last else { return Ok(()) };
        let texts = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?];
        let damaged = || corrupt(path, format!("unreadable entries of agent {agent}"));
        let mut stretch = unpack(agent, texts).ok_or_else(damaged)?;
        stretch.sort_by_key(|(entry, _)| entry.id);
        for (mut entry, is_alone) in stretch {
            if is_alone {
                entry.body = read_body(read, entry.id).await?;
            }
            entries.push(entry);
        }
        if count < ROWS_MAX {
            return Ok(());
        }
        after = last;
    }
}

async fn read_body(read: &mut Reading<'_>, entry: EntryId) -> Result<String> {
    let sql = sqlx::query("SELECT body FROM entries WHERE id = ?").bind(entry.0);
    match read.one(sql).await? {
        Some(row) => row.get(0),
        None => Err(corrupt(read.path(), format!("entry {entry} is gone"))),
    }
}

/// Takes an answer apart; marks the rows whose bodies are still to be read. `None` when it is none of ours.
fn unpack(agent: AgentId, texts: [&str; 5]) -> Option<Vec<(EntryRow, bool)>> {
    let [ids, kinds, times, lengths, mut bodies] = texts;
    let (mut kinds, mut times) = (kinds.split(' '), times.split(' '));
    let mut lengths = lengths.split(' ');
    let mut entries = Vec::new();
    for id in ids.split(' ') {
        let length = lengths.next()?;
        let is_alone = length == ALONE;
        let length = if is_alone { 0 } else { length.parse().ok()? };
        let (body, rest) = bodies.split_at_checked(length)?;
        bodies = rest;
        let entry = EntryRow {
            id: EntryId(id.parse().ok()?),
            agent,
            kind: EntryKind::from_name(kinds.next()?)?,
            body: body.to_owned(),
            at_ms: times.next()?.parse().ok()?,
        };
        entries.push((entry, is_alone));
    }
    bodies.is_empty().then_some(entries)
}
