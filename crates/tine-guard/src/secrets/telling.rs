//! The one look that tells most paths apart from secrets, because a walk asks for some hundred thousand of them.

use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::lists::{
    BEGINNINGS, COMMON_NAMES, ENDINGS, FILE_ENDINGS, FILE_NAMES, FOLDERS, KEY_BEGINNINGS, NAMES,
};

/// The end of the names of files in which shells keep what was typed.
pub(super) const HISTORY: &str = "_history";

/// A part of every name that tells. Of a name with an ending it is the beginning: `credentials-prod.json` is a copy of
/// `credentials.json`.
static PARTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let whole = NAMES.iter().chain(&COMMON_NAMES);
    let beginnings = whole.map(|name| match name.rsplit_once('.') {
        Some((beginning, _)) if !beginning.is_empty() => beginning,
        _ => name,
    });
    let others = FOLDERS.iter().chain(&ENDINGS).chain(&BEGINNINGS).chain(&KEY_BEGINNINGS);
    let parts = beginnings.chain(others.chain(&FILE_NAMES).chain(&FILE_ENDINGS).copied());
    AhoCorasick::builder().ascii_case_insensitive(true).build(parts.chain([HISTORY])).ok()
});

/// Returns false where no word of the path can be the name of a secret.
pub(super) fn may_tell(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    // Other letters than those of ASCII may be written differently and mean the same.
    !bytes.is_ascii() || PARTS.as_ref().is_none_or(|parts| parts.is_match(bytes))
}
