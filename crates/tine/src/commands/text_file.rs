//! Texts that a command reads from a file or from standard input.

use std::io::Read;
use std::path::Path;

use crate::fail::Failure;
use crate::prompt::take_stdin;

/// Largest file that is read, in bytes: far above the longest conversation that a provider takes, and below what
/// would endanger the machine.
pub(super) const INPUT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The text of a file; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let name = match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    };
    if path.to_str() == Some("-") {
        take_stdin()?;
    }
    let failed = |error: std::io::Error| {
        Failure::input(format!("cannot read {name}"))
            .because(&error)
            .hint("give a file of messages, or `-` for standard input")
    };
    let mut bytes = Vec::new();
    let limit = INPUT_BYTES_MAX + 1;
    let read = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(limit).read_to_end(&mut bytes),
        _ => std::fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    if read.map_err(failed)? as u64 > INPUT_BYTES_MAX {
        return Err(Failure::input(format!("{name} is larger than 256 MiB"))
            .hint("no provider takes a conversation of this size; import its latest part"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::input(format!("{name} is not UTF-8 text (byte {at})"))
            .hint("convert it first, for instance with `iconv -t UTF-8`")
    })
}
