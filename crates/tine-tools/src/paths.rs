//! Paths as a call writes them, made absolute.
//!
//! `..` is resolved in the text, by the guard's own rule, so that what was judged is what is
//! opened. Nothing here decides whether a path may be used.

use std::path::{Path, PathBuf};

use tine_guard::normalise;

use crate::tool::Failure;

/// The longest path the system takes (`PATH_MAX` on Linux, with its final NUL).
const PATH_BYTES_MAX: usize = 4_095;

/// Makes `text` absolute from `directory`.
pub(crate) fn resolve(directory: &Path, field: &str, text: &str) -> Result<PathBuf, Failure> {
    if text.is_empty() {
        return Err(Failure::new(format!("`{field}` must not be empty")));
    }
    if text.contains('\0') {
        return Err(Failure::new(format!("`{field}` must not contain a NUL character")));
    }
    if text == "~" || text.starts_with("~/") {
        return Err(Failure::new(format!(
            "`{field}` begins with `~`, which is not expanded here; write the whole path"
        )));
    }
    let path = normalise(&directory.join(text));
    if path.as_os_str().len() > PATH_BYTES_MAX {
        return Err(Failure::new(format!("`{field}` is longer than {PATH_BYTES_MAX} bytes")));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_in_their_text() {
        let check = |text: &str, expected: &str| {
            let path = resolve(Path::new("/srv/app"), "file_path", text).unwrap();
            assert_eq!(path, Path::new(expected), "{text}");
        };
        check("a/./b//c", "/srv/app/a/b/c");
        check("../b", "/srv/b");
        check("/../../x", "/x");
        check("~x", "/srv/app/~x");
    }

    #[test]
    fn paths_that_cannot_be_opened_are_refused() {
        let error = |text: &str| resolve(Path::new("/w"), "path", text).unwrap_err();
        assert_eq!(error(""), Failure::new("`path` must not be empty"));
        assert_eq!(error("a\0b"), Failure::new("`path` must not contain a NUL character"));
        assert_eq!(error(&"a/".repeat(3_000)), Failure::new("`path` is longer than 4095 bytes"));
        assert_eq!(
            error("~/x"),
            Failure::new(
                "`path` begins with `~`, which is not expanded here; write the whole path"
            )
        );
    }
}
