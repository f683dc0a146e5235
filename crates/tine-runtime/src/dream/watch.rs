//! The filter of a consolidation, which remembers what it let through and what it refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tine_fork::tool_filter::{
    AutoMemFilter, Denial, DenialCode, FilterError, ToolFilter, tool_names,
};
use tine_guard::redact;
use tine_model::RawJson;

/// Most refusals that a record keeps; a model that is refused more often says nothing new.
const REFUSED_MAX: usize = 50;

/// Longest refusal in a record, in characters.
const REFUSED_CHARS_MAX: usize = 300;

/// [`AutoMemFilter`], behind which no note is written that would hold a secret.
pub(super) struct WatchedFilter {
    memory: AutoMemFilter,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    written: BTreeSet<PathBuf>,
    refused: Vec<String>,
}

impl WatchedFilter {
    /// The filter for a memory directory, where relative paths of reads begin in `directory`.
    pub(super) fn new(memory: &Path, directory: &Path) -> Result<Self, FilterError> {
        let memory = AutoMemFilter::new(memory)?.in_directory(directory);
        Ok(Self { memory, seen: Mutex::default() })
    }

    /// The notes that it let calls write, as paths below the memory directory.
    pub(super) fn written(&self) -> BTreeSet<PathBuf> {
        self.seen().written.clone()
    }

    /// What it refused, as its model was told.
    pub(super) fn refused(&self) -> Vec<String> {
        self.seen().refused.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        self.memory.check(tool, input)?;
        let holds_secret = ["content", "new_string"]
            .iter()
            .filter_map(|field| input.text_at(field))
            .any(|text| redact(&text) != text);
        if holds_secret && is_write(tool) {
            Err(Denial::new(
                DenialCode::Secret,
                "the note would hold a key or a password",
                "Write it without: notes are read by every later agent.",
            ))
        } else {
            Ok(())
        }
    }

    fn note(&self, tool: &str, input: &RawJson, judged: &Result<(), Denial>) {
        let mut seen = self.seen();
        match judged {
            Ok(()) if is_write(tool) => {
                let path = input.text_at("file_path").map(PathBuf::from);
                let below = path.and_then(|path| self.below(&path));
                seen.written.extend(below);
            }
            Ok(()) => {}
            Err(denial) if seen.refused.len() < REFUSED_MAX => {
                let line = format!("{tool}: {}", denial.reason());
                seen.refused.push(line.chars().take(REFUSED_CHARS_MAX).collect());
            }
            Err(_) => {}
        }
    }

    /// The path below the memory directory, wherever links lead that stand before it.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let real = tine_guard::real_path(path).ok()?;
        let below = real.strip_prefix(self.memory.memory_dir()).ok()?;
        Some(below.to_owned())
    }
}

impl ToolFilter for WatchedFilter {
    fn allows(&self, tool: &str, input: &RawJson) -> bool {
        self.judge(tool, input).is_ok()
    }

    fn denial_message(&self, tool: &str, input: &RawJson) -> String {
        self.judge(tool, input).err().map_or_else(String::new, |denial| denial.to_string())
    }

    fn check(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let judged = self.judge(tool, input);
        self.note(tool, input, &judged);
        judged
    }
}

fn is_write(tool: &str) -> bool {
    [tool_names::FILE_WRITE, tool_names::FILE_EDIT].contains(&tool)
}
