//! From columns to types and back. A value that no version of the program writes is damage, never a panic.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;
use sqlx::{Column as _, Decode, Row, Sqlite, Type, TypeInfo as _, ValueRef as _};
use tine_model::{
    AgentId, EntryId, NetworkReach, PermissionId, Reach, RequestId, Thinking, Usage, Writes,
};

use super::failure::corrupt;
use crate::{Result, StoreError};

/// Most tokens kept for one request. Far beyond any model, and low enough that no sum leaves 64 bits.
pub(super) const TOKENS_MAX: u64 = 1 << 40;

/// One row, read by position.
pub(super) struct Columns<'a> {
    path: &'a Path,
    row: SqliteRow,
}

impl<'a> Columns<'a> {
    pub(super) fn new(path: &'a Path, row: SqliteRow) -> Self {
        Self { path, row }
    }

    /// The store that it is in.
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn get<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
        &'r self,
        index: usize,
    ) -> Result<T> {
        self.row.try_get(index).map_err(|error| corrupt(self.path, error))
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.row.columns().iter().map(|column| column.name().to_owned()).collect()
    }

    /// All of it as JSON: bytes are objects with the one member `hex`.
    pub(super) fn values(&self) -> Result<Vec<Value>> {
        let value = |index| {
            let raw = self.row.try_get_raw(index).map_err(|error| corrupt(self.path, error))?;
            let kind = raw.type_info();
            Ok(match kind.name() {
                _ if raw.is_null() => Value::Null,
                "INTEGER" => Value::from(self.get::<i64>(index)?),
                "BLOB" => json!({ "hex": to_hex(self.get(index)?) }),
                _ => Value::from(self.get::<&str>(index)?),
            })
        };
        (0..self.row.len()).map(value).collect()
    }

    pub(super) fn agent(&self, index: usize) -> Result<AgentId> {
        Ok(AgentId::from_bytes(self.bytes(index)?))
    }

    pub(super) fn agent_or_null(&self, index: usize) -> Result<Option<AgentId>> {
        match self.get::<Option<&[u8]>>(index)? {
            Some(_) => self.agent(index).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn request(&self, index: usize) -> Result<RequestId> {
        Ok(RequestId::from_bytes(self.bytes(index)?))
    }

    pub(super) fn permission(&self, index: usize) -> Result<PermissionId> {
        Ok(PermissionId::from_bytes(self.bytes(index)?))
    }

    pub(super) fn entry_or_null(&self, index: usize) -> Result<Option<EntryId>> {
        Ok(self.get::<Option<i64>>(index)?.map(EntryId))
    }

    pub(super) fn bytes<const N: usize>(&self, index: usize) -> Result<[u8; N]> {
        let bytes: &[u8] = self.get(index)?;
        bytes.try_into().map_err(|_| self.damaged(index))
    }

    pub(super) fn unsigned<T: TryFrom<i64>>(&self, index: usize) -> Result<T> {
        T::try_from(self.get::<i64>(index)?).map_err(|_| self.damaged(index))
    }

    pub(super) fn unsigned_or_null<T: TryFrom<i64>>(&self, index: usize) -> Result<Option<T>> {
        match self.get::<Option<i64>>(index)? {
            Some(_) => self.unsigned(index).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a word of a closed vocabulary.
    pub(super) fn word<T>(&self, index: usize, read: fn(&str) -> Option<T>) -> Result<T> {
        read(self.get(index)?).ok_or_else(|| self.damaged(index))
    }

    pub(super) fn word_or_null<T>(
        &self,
        index: usize,
        read: fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.get::<Option<&str>>(index)? {
            Some(_) => self.word(index, read).map(Some),
            None => Ok(None),
        }
    }

    /// Six columns from `first`; parts that must be known are zero where they are NULL.
    pub(super) fn usage(&self, first: usize) -> Result<Usage> {
        Ok(Usage {
            uncached: self.unsigned_or_null(first)?.unwrap_or(0),
            write_short: self.unsigned_or_null(first + 1)?,
            write_long: self.unsigned_or_null(first + 2)?,
            read: self.unsigned_or_null(first + 3)?,
            output: self.unsigned_or_null(first + 4)?.unwrap_or(0),
            reasoning: self.unsigned_or_null(first + 5)?,
        })
    }

    pub(super) fn damaged(&self, index: usize) -> StoreError {
        use sqlx::Column;
        let column = self.row.columns().get(index).map_or("?", |column| column.name());
        corrupt(self.path, format!("unknown value in column `{column}`"))
    }
}

/// The six columns of [`Columns::usage`].
pub(super) fn usage_columns(usage: Option<&Usage>) -> [Option<i64>; 6] {
    let tokens = |count: u64| count.min(TOKENS_MAX) as i64;
    match usage {
        None => [None; 6],
        Some(usage) => [
            Some(tokens(usage.uncached)),
            usage.write_short.map(tokens),
            usage.write_long.map(tokens),
            usage.read.map(tokens),
            Some(tokens(usage.output)),
            usage.reasoning.map(tokens),
        ],
    }
}

/// A count as SQLite keeps it.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A reach as an object of JSON: its word, the directory of notes, more directories, and hosts with their ports.
pub(super) fn reach_to_text(reach: &Reach) -> String {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let notes = match &reach.writes {
        Writes::Notes(notes) => Some(text(notes)),
        Writes::Anywhere | Writes::Directory | Writes::Nowhere => None,
    };
    let writable: Vec<String> = reach.writable.iter().map(|path| text(path)).collect();
    let word = reach.as_str();
    let network: Vec<String> = reach.network.destinations().map(ToString::to_string).collect();
    json!({ "writes": word, "notes": notes, "writable": writable, "network": network }).to_string()
}

pub(super) fn reach_from_text(text: &str) -> Option<Reach> {
    let value: Value = serde_json::from_str(text).ok()?;
    let notes = || Some(Writes::Notes(PathBuf::from(value.get("notes")?.as_str()?)));
    let writes = match value.get("writes")?.as_str()? {
        "open" => Writes::Anywhere,
        "directory" => Writes::Directory,
        "read-only" => Writes::Nowhere,
        "notes" => notes()?,
        _ => return None,
    };
    let paths = value.get("writable")?.as_array()?.iter();
    let writable = paths.map(|path| path.as_str().map(PathBuf::from)).collect::<Option<_>>()?;
    let network = match writes {
        Writes::Anywhere => NetworkReach::none(),
        Writes::Directory | Writes::Nowhere | Writes::Notes(_) => {
            network_from(value.get("network")?)?
        }
    };
    Some(Reach { writes, writable, network })
}

/// Earlier versions have kept whether there is a network at all.
fn network_from(value: &Value) -> Option<NetworkReach> {
    match value {
        Value::Bool(false) => Some(NetworkReach::none()),
        Value::Bool(true) => Some(NetworkReach::internet()),
        Value::Array(hosts) => hosts.iter().try_fold(NetworkReach::none(), |all, host| {
            all.and(&host.as_str()?.parse().ok()?).ok()
        }),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
    }
}

const ADAPTIVE: &str = "adaptive";

pub(super) fn thinking_to_text(thinking: Thinking) -> String {
    match thinking {
        Thinking::Adaptive => ADAPTIVE.to_owned(),
        Thinking::Budget(tokens) => tokens.to_string(),
    }
}

pub(super) fn thinking_from_text(text: &str) -> Option<Thinking> {
    match text {
        ADAPTIVE => Some(Thinking::Adaptive),
        tokens => tokens.parse().ok().map(Thinking::Budget),
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of a text of hexadecimal digits; `None` where it is none.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| digit.try_into().ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_of_an_earlier_version_is_understood() {
        let read = |writes: &str, network: &str| {
            let text = format!(
                r#"{{"writes":"{writes}","notes":null,"writable":[],"network":{network}}}"#
            );
            reach_from_text(&text)
        };
        assert_eq!(read("open", "true"), Some(Reach::open()));
        assert_eq!(read("directory", "false"), Some(Reach::directory()));
        let online = Reach { network: NetworkReach::internet(), ..Reach::directory() };
        assert_eq!(read("directory", "true"), Some(online));
        assert_eq!(read("directory", r#"["fix the bug"]"#), None);
        assert_eq!(read("directory", "3"), None);
    }
}
