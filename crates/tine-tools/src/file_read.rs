//! `FileRead`: a text file with line numbers.

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::disk;
use crate::file_write::check_seen;
use crate::place::Place;
use crate::show::{self, counted};
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec, blocking};

static SPEC: ToolSpec = ToolSpec {
    name: "FileRead",
    description: "Reads a text file and returns its lines with their numbers. Without `limit` at \
        most 2,000 lines are returned; go on with `offset`. Lines longer than 2,000 characters are \
        cut, and the cut is marked. Directories and binary files are refused.",
    schema: include_str!("schemas/FileRead.json"),
    effect: Effect::Reads,
};

/// Lines that one call returns when it does not say; enough for most source files.
const LINES_DEFAULT: u64 = 2_000;

/// Characters of a line that are shown; longer lines are nearly always generated.
const LINE_CHARACTERS_MAX: usize = 2_000;

/// How far into a file a NUL is looked for, as grep and git do.
const BINARY_SAMPLE_BYTES: usize = 8 * 1024;

/// Reads a text file with line numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileRead;

#[async_trait]
impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        blocking(place, Order::parse(input), cancel, |place, order, _| read(place, order)).await
    }
}

/// The whole text of a file that was read at this place and is still as it was then. Of any other nothing is told: the error says so,
/// in words for the model.
pub async fn known_text(place: &Place, file_path: &str) -> Result<String, String> {
    let (place, file_path) = (place.share(), file_path.to_owned());
    let read = move || {
        let spot = place.spot("file_path", &file_path)?;
        let shown = &spot.shown;
        let file = disk::find(&spot)?;
        let file = file.ok_or_else(|| Failure::new(format!("`{shown}` does not exist")))?;
        check_seen(&place, &spot, &file)?;
        let not_text = |_| Failure::new(format!("`{shown}` is not valid UTF-8"));
        String::from_utf8(file.content).map_err(not_text)
    };
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|error| format!("it was not read: {error}"))?.map_err(Failure::into_text)
}

struct Order {
    file_path: String,
    /// The first line, counted from 1.
    offset: u64,
    limit: u64,
}

impl Order {
    fn parse(input: &RawJson) -> Result<Self, Failure> {
        let arguments = Arguments::parse(SPEC.name, &["file_path", "offset", "limit"], input)?;
        Ok(Self {
            file_path: arguments.required_text("file_path")?.to_owned(),
            offset: arguments.count("offset", 0)?.unwrap_or(1).max(1),
            limit: arguments.count("limit", 1)?.unwrap_or(LINES_DEFAULT),
        })
    }
}

fn read(place: &Place, order: &Order) -> Result<String, Failure> {
    let spot = place.spot("file_path", &order.file_path)?;
    let shown = &spot.shown;
    let Some(file) = disk::find(&spot)? else {
        return Err(Failure::new(format!("`{shown}` does not exist{}", spot.behind_link())));
    };
    if let Some(kind) = binary_kind(&file.content) {
        let size = counted(file.content.len(), "byte", "bytes");
        return Err(Failure::new(format!("`{shown}` is not text but {kind}, {size}")));
    }
    let text = numbered(&file.content, order, shown)?;
    place.remember(spot.real, &file.content);
    Ok(text)
}

fn numbered(content: &[u8], order: &Order, shown: &str) -> Result<String, Failure> {
    if content.is_empty() {
        return Ok(format!("(`{shown}` is empty)"));
    }
    let text = String::from_utf8_lossy(content);
    let total = text.lines().count();
    let skipped = usize::try_from(order.offset - 1).unwrap_or(usize::MAX);
    if skipped >= total {
        let lines = counted(total, "line", "lines");
        return Err(Failure::new(format!("`{shown}` has only {lines}; `offset` is beyond them")));
    }
    let limit = usize::try_from(order.limit).unwrap_or(usize::MAX);
    let mut out = String::new();
    let mut next = skipped;
    for line in text.lines().skip(skipped).take(limit) {
        let line = show::line(line, LINE_CHARACTERS_MAX);
        if out.len() + line.len() > show::RESULT_BYTES_MAX && next > skipped {
            break;
        }
        next += 1;
        out.push_str(&format!("{next:>6}\t{line}\n"));
    }
    if next < total {
        let more = counted(total - next, "more line", "more lines");
        out.push_str(&format!("({more}; go on with offset {})\n", next + 1));
    }
    if matches!(text, std::borrow::Cow::Owned(_)) {
        out.push_str("(not valid UTF-8: the bytes that are not are shown as \u{fffd})\n");
    }
    if content.windows(2).any(|pair| pair == b"\r\n") {
        out.push_str("(lines end with CRLF)\n");
    }
    out.pop();
    Ok(out)
}

/// Beginnings of files that are not text.
const MAGIC: [(&[u8], &str); 14] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document made of one)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"\xca\xfe\xba\xbe", "a Java class or a universal binary"),
];

fn binary_kind(content: &[u8]) -> Option<&'static str> {
    let known = MAGIC.iter().find(|(start, _)| content.starts_with(start)).map(|(_, kind)| *kind);
    let sample = &content[..content.len().min(BINARY_SAMPLE_BYTES)];
    known.or_else(|| sample.contains(&0).then_some("binary data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::fixture::Fixture;

    #[tokio::test]
    async fn a_text_is_told_whole_where_it_was_read_and_has_not_changed() {
        let fixture = Fixture::new();
        fixture.write("a.txt", "one\ntwo\n");
        let unread = known_text(&fixture.place, "a.txt").await.unwrap_err();
        insta::assert_snapshot!(unread, @"`a.txt` exists and has not been read yet; read it with FileRead first");
        fixture.run(&FileRead, r#"{"file_path":"a.txt","limit":1}"#).await;
        assert_eq!(known_text(&fixture.place, "a.txt").await.unwrap(), "one\ntwo\n");
        fixture.write("a.txt", "other\n");
        assert!(known_text(&fixture.place, "a.txt").await.is_err());
        assert!(known_text(&fixture.place, "gone").await.is_err());
    }

    #[tokio::test]
    async fn lines_are_numbered_and_a_part_says_how_to_go_on() {
        let fixture = Fixture::new();
        fixture.write("a.txt", "one\ntwo\n\nfour");
        let read = |input| fixture.run(&FileRead, input);
        insta::assert_snapshot!(read(r#"{"file_path":"a.txt"}"#).await, @"
        1\tone
        2\ttwo
        3\t
        4\tfour
        ");
        insta::assert_snapshot!(read(r#"{"file_path":"./x/../a.txt","offset":2,"limit":2}"#).await, @"
             2\ttwo
             3\t
        (1 more line; go on with offset 4)
        ");
        insta::assert_snapshot!(read(r#"{"file_path":"a.txt","offset":9}"#).await, @"error: `a.txt` has only 4 lines; `offset` is beyond them");
    }

    #[tokio::test]
    async fn long_files_and_long_lines_are_cut_and_say_so() {
        let fixture = Fixture::new();
        fixture.write("long.txt", "x\n".repeat(2_010));
        let text = fixture.run(&FileRead, r#"{"file_path":"long.txt"}"#).await;
        insta::assert_snapshot!(text.lines().skip(1_999).collect::<Vec<_>>().join("\n"), @"
          2000\tx
        (10 more lines; go on with offset 2001)
        ");
        fixture.write("wide.txt", "y".repeat(2_500));
        let text = fixture.run(&FileRead, r#"{"file_path":"wide.txt"}"#).await;
        assert!(text.ends_with("yyy… (500 more characters)"));
        fixture.write("heavy.txt", format!("{}\n", "z".repeat(1_999)).repeat(500));
        let text = fixture.run(&FileRead, r#"{"file_path":"heavy.txt"}"#).await;
        insta::assert_snapshot!(text.lines().last().unwrap(), @"(451 more lines; go on with offset 50)");
    }

    #[tokio::test]
    async fn what_is_not_plain_text_is_named() {
        let fixture = Fixture::new();
        fixture.write("empty", "");
        fixture.write("latin1", b"caf\xe9\n");
        fixture.write("dos", "a\r\nb\r\n");
        fixture.write("picture", b"\x89PNG\r\n\x1a\n");
        fixture.write("data", b"ab\0c");
        std::fs::create_dir(fixture.path("folder")).unwrap();
        let mut outputs = Vec::new();
        for name in ["empty", "latin1", "dos", "picture", "data", "folder", "none", "dos/x"] {
            outputs.push(fixture.run(&FileRead, &format!(r#"{{"file_path":"{name}"}}"#)).await);
        }
        insta::assert_snapshot!(outputs.join("\n---\n"), @"
        (`empty` is empty)
        ---
             1\tcaf�
        (not valid UTF-8: the bytes that are not are shown as �)
        ---
             1\ta
             2\tb
        (lines end with CRLF)
        ---
        error: `picture` is not text but a PNG image, 8 bytes
        ---
        error: `data` is not text but binary data, 4 bytes
        ---
        error: `folder` is a directory; use Glob to list its files
        ---
        error: `none` does not exist
        ---
        error: cannot read `dos/x`: a part of the path is a file, not a directory
        ");
    }

    #[tokio::test]
    async fn a_pipe_is_refused_instead_of_waited_for() {
        let fixture = Fixture::new();
        let made = fixture.run(&crate::Bash, r#"{"command":"mkfifo pipe"}"#).await;
        assert!(!made.starts_with("error"), "{made}");
        insta::assert_snapshot!(fixture.run(&FileRead, r#"{"file_path":"pipe"}"#).await, @"error: `pipe` is not a regular file");
    }
}
