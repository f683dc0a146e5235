//! Files that a person hands to an agent with a prompt: each `@path` in it that names one.
//!
//! What is handed over is a copy: the file as it was when the prompt was sent, in a block of its own before the words. Only what a person
//! typed is read so, never what a model or a tool wrote.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use tine_fork::envelope::{escape_frame_tags, unescape_frame_tags};
use tine_guard::is_secret;
use tine_model::AgentId;

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Most bytes of one file that are handed over: it is sent with every request from then on.
pub const ATTACHED_BYTES_MAX: u64 = 128 * 1024;

/// Most files that one prompt hands over.
const FILES_MAX: usize = 20;

/// The tag that a file stands in.
const ENVELOPE: &str = "attached-file";

/// The tag of earlier versions. It stands in stored conversations.
const OLDER_ENVELOPE: &str = "file";

/// What a path ends with in a sentence.
const PUNCTUATION: [char; 9] = ['.', ',', ';', ':', '!', '?', ')', ']', '"'];

/// Words for an agent, and what is handed over with them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// Files as they are now.
    pub files: Vec<AttachedFile>,
}

impl Prompt {
    /// The texts for the model: the files, then the words.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let files = self.files.iter().map(ToString::to_string);
        files.chain([self.text]).collect()
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text, files: Vec::new() }
    }
}

/// A file in a conversation. [`fmt::Display`] writes it as the model reads it; [`Self::parse`] reads that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// Where it is, as the person named it.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl AttachedFile {
    /// Reads a text that is nothing but a file, also in the frame of earlier versions, which escaped nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = |envelope: &str| {
            let begin = text.strip_prefix('<')?.strip_prefix(envelope)?.strip_prefix(" path=\"")?;
            let (path, rest) = begin.split_once("\">\n")?;
            let text = rest.strip_suffix('>')?.strip_suffix(envelope)?.strip_suffix("\n</")?;
            Some((path.to_owned(), text.to_owned()))
        };
        if let Some((path, text)) = parts(OLDER_ENVELOPE) {
            return Some(Self { path, text });
        }
        let (path, text) = parts(ENVELOPE)?;
        let plain = |text: String| unescape_frame_tags(&text).into_owned();
        Some(Self { path: plain(path), text: plain(text) })
    }
}

impl fmt::Display for AttachedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, text) = (escape_frame_tags(&self.path), escape_frame_tags(&self.text));
        write!(f, "<{ENVELOPE} path=\"{path}\">\n{text}\n</{ENVELOPE}>")
    }
}

/// A file that was named and is not handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is, as the person named it.
    pub path: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not handed over: {}", self.path, self.why)
    }
}

impl Runtime {
    /// A prompt with the files that it names, below the agent's directory or anywhere. A word behind `@` that is no file is a word;
    /// one that looks as if a file was meant is told of.
    /// Files that look like secrets stay out, and so do those that are no text or longer than [`ATTACHED_BYTES_MAX`].
    pub async fn attach(
        &self,
        agent: AgentId,
        text: String,
    ) -> Result<(Prompt, Vec<LeftOut>), RuntimeError> {
        if !text.contains('@') {
            return Ok((Prompt::from(text), Vec::new()));
        }
        let directory = PathBuf::from(self.store().agent(agent).await?.directory);
        let work = move || attached(&directory, text);
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| RuntimeError::Panicked("reading files for a prompt"))
    }
}

fn attached(directory: &Path, text: String) -> (Prompt, Vec<LeftOut>) {
    let mut prompt = Prompt::from(text);
    let mut left_out = Vec::new();
    for named in named(&prompt.text) {
        let Some((path, file)) = found(directory, named) else {
            let missing = missing(directory, named).filter(|missing| !left_out.contains(missing));
            left_out.extend(missing);
            continue;
        };
        if prompt.files.iter().any(|known| known.path == path) {
            continue;
        }
        match read(&file) {
            _ if prompt.files.len() == FILES_MAX => {
                left_out.push(LeftOut { path, why: format!("there are {FILES_MAX} already") });
            }
            Ok(text) => prompt.files.push(AttachedFile { path, text }),
            Err(why) => left_out.push(LeftOut { path, why }),
        }
    }
    (prompt, left_out)
}

/// The words behind `@` signs that begin a word.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter_map(|word| {
        word.trim_start_matches(['(', '[', '"']).strip_prefix('@').filter(|name| !name.is_empty())
    })
}

/// The file of this name, or of this name without what ends a sentence.
fn found(directory: &Path, name: &str) -> Option<(String, PathBuf)> {
    let mut name = name;
    loop {
        let path = directory.join(name);
        if !name.contains('"') && path.is_file() {
            return Some((name.to_owned(), path));
        }
        name = name.strip_suffix(PUNCTUATION).filter(|shorter| !shorter.is_empty())?;
    }
}

/// A name that looks as if a file was meant: of a directory, or with a dot or a slash in it. Others, such as `@alice` and
/// `@property`, are words.
fn missing(directory: &Path, name: &str) -> Option<LeftOut> {
    let path = name.trim_end_matches(PUNCTUATION);
    let why = match directory.join(path).is_dir() {
        _ if path.is_empty() => return None,
        true => "it is a directory",
        false if path.contains(['.', '/']) => "there is no such file; it was sent as words",
        false => return None,
    };
    Some(LeftOut { path: path.to_owned(), why: why.to_owned() })
}

fn read(path: &Path) -> Result<String, String> {
    let real = std::fs::canonicalize(path).map_err(|error| error.to_string())?;
    if is_secret(path) || is_secret(&real) {
        return Err("it looks like a secret".to_owned());
    }
    let file = std::fs::File::open(&real).map_err(|error| error.to_string())?;
    let mut text = String::new();
    // One more than may be, to know whether there is more.
    let read = file.take(ATTACHED_BYTES_MAX + 1).read_to_string(&mut text);
    match read {
        Ok(bytes) if bytes as u64 > ATTACHED_BYTES_MAX => {
            Err(format!("it is longer than {} KiB", ATTACHED_BYTES_MAX / 1024))
        }
        Ok(_) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err("it is no text".to_owned())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_that_a_prompt_names_come_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(directory.path().join(name), text);
        write("a.rs", b"fn main() {}").unwrap();
        write("b.bin", &[0xff, 0xfe]).unwrap();
        write(".env", b"KEY=1").unwrap();
        let long = ATTACHED_BYTES_MAX as usize + 1;
        write("long.txt", "x".repeat(long).as_bytes()).unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        let text = "Compare @a.rs, (@a.rs) with @b.bin @.env @long.txt; ask @alice or me@a.rs @ \
             about @src, @src/no.rs and (@src/no.rs)";
        let (prompt, left_out) = attached(directory.path(), text.to_owned());
        let files: Vec<String> = prompt.files.iter().map(ToString::to_string).collect();
        let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(format!("{}\n{}", files.join("\n"), left_out.join("\n")), @r#"
        <attached-file path="a.rs">
        fn main() {}
        </attached-file>
        b.bin is not handed over: it is no text
        .env is not handed over: it looks like a secret
        long.txt is not handed over: it is longer than 128 KiB
        src is not handed over: it is a directory
        src/no.rs is not handed over: there is no such file; it was sent as words
        "#);
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let read = AttachedFile::parse("<file path=\"a.rs\">\nif a &lt; b\n</file>");
        let file = AttachedFile { path: "a.rs".to_owned(), text: "if a &lt; b".to_owned() };
        assert_eq!(read, Some(file));
    }

    proptest! {
        #[test]
        fn a_file_comes_back(path in "[a-z/. ]{1,20}", text in "(?s)(.|</?attached-file>\n|&lt;){0,80}") {
            let file = AttachedFile { path, text };
            prop_assert_eq!(AttachedFile::parse(&file.to_string()), Some(file));
        }

        #[test]
        fn any_text_is_read_or_is_none(text in "(?s)(<attached-file path=\")?.{0,40}(\">\n)?.{0,40}(\n</attached-file>)?") {
            let _ = AttachedFile::parse(&text);
        }
    }
}
