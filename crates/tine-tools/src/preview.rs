//! A change of a file before it is made, for whoever is asked about it. Nothing here writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use tine_model::RawJson;

use crate::{file_edit, file_write};

/// Largest file that is read to be shown, in bytes. A person reads no more, and a diff of more takes seconds.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file as it is and as a call would leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// There is no such file yet.
    New {
        /// Its content to be.
        after: String,
    },
    /// The file is there.
    Changed {
        /// Its content now.
        before: String,
        /// Its content to be.
        after: String,
    },
    /// It cannot be told. The reason is a fragment without a full stop.
    Unknown(String),
}

/// Compares the file that a call would write, as it is now and as it would be. None for tools that write no file. Blocks.
pub fn preview(tool: &str, input: &RawJson, directory: &Path) -> Option<Preview> {
    let made = match tool {
        "FileEdit" => file_edit::order(input).and_then(|order| {
            let before =
                content(&directory.join(&order.file_path))?.ok_or("there is no such file")?;
            Ok((Some(order.applied(&before)?), Some(before)))
        }),
        "FileWrite" => file_write::order(input).and_then(|(file_path, after)| {
            Ok((Some(after.into_bytes()), content(&directory.join(file_path))?))
        }),
        _ => return None,
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(match made {
        Ok((after, None)) => Preview::New { after: after.map(text).unwrap_or_default() },
        Ok((after, Some(before))) => {
            Preview::Changed { before: text(before), after: after.map(text).unwrap_or_default() }
        }
        Err(why) => Preview::Unknown(why),
    })
}

/// The bytes of a file; None where there is none.
fn content(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let told = |error: io::Error| format!("the file cannot be read: {error}");
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(told(error)),
        Ok(found) if !found.is_file() => return Err("there is something that is no file".into()),
        Ok(_) => {}
    }
    // Nobody waits for a pipe that has come to stand there since.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(told)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(told)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= FILE_BYTES_MAX => Ok(Some(bytes)),
        _ => Err("the file is too large to be shown here".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn previewed(directory: &Path, tool: &str, input: serde_json::Value) -> Preview {
        let input = RawJson::parse(&input.to_string()).unwrap();
        preview(tool, &input, directory).unwrap()
    }

    #[test]
    fn a_change_is_told_as_the_tool_would_make_it() {
        let directory = tempfile::tempdir().unwrap();
        let told = |tool, input| previewed(directory.path(), tool, input);
        let write = serde_json::json!({"file_path":"a","content":"new\n"});
        assert_eq!(told("FileWrite", write.clone()), Preview::New { after: "new\n".into() });
        fs::write(directory.path().join("a"), "one\r\ntwo\r\none\r\n").unwrap();
        let before = "one\r\ntwo\r\none\r\n".to_owned();
        let changed =
            |after: &str| Preview::Changed { before: before.clone(), after: after.into() };
        assert_eq!(told("FileWrite", write), changed("new\n"));
        let edit = |old: &str, all: bool| {
            let given = serde_json::json!({"file_path":"a","old_string":old,"new_string":"x","replace_all":all});
            told("FileEdit", given)
        };
        assert_eq!(edit("one\ntwo", false), changed("x\r\none\r\n"));
        assert_eq!(edit("one", true), changed("x\r\ntwo\r\nx\r\n"));
        for (old, all) in [("one", false), ("three", true)] {
            assert!(matches!(edit(old, all), Preview::Unknown(_)), "{old}");
        }
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let told = |path: &str| {
            let input = serde_json::json!({"file_path":path,"old_string":"a","new_string":"b"});
            previewed(directory.path(), "FileEdit", input)
        };
        assert_eq!(told("none"), Preview::Unknown("there is no such file".into()));
        assert_eq!(told("."), Preview::Unknown("there is something that is no file".into()));
        let large = fs::File::create(directory.path().join("large")).unwrap();
        large.set_len(FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(
            told("large"),
            Preview::Unknown("the file is too large to be shown here".into())
        );
        let read = RawJson::parse("{}").unwrap();
        assert_eq!(preview("Bash", &read, directory.path()), None);
    }
}
