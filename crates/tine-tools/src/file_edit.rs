//! `FileEdit`: one exact text in a file replaced by another.
//!
//! It works on bytes, so a file in any encoding keeps every byte that is not replaced.

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::disk;
use crate::file_write::check_seen;
use crate::place::{Place, writing_turn};
use crate::show::{self, counted};
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec, blocking};

static SPEC: ToolSpec = ToolSpec {
    name: "FileEdit",
    description: "Replaces `old_string` by `new_string` in a file that was read with FileRead and \
        has not changed since. `old_string` must occur exactly once, character for character and \
        without the line numbers that FileRead shows; set `replace_all` to replace every occurrence.",
    schema: include_str!("schemas/FileEdit.json"),
    effect: Effect::Writes,
};

/// Line numbers that are listed when a text occurs more than once.
const OCCURRENCES_LISTED_MAX: usize = 10;

/// Characters of the nearest line that are shown.
const NEAREST_CHARACTERS_MAX: usize = 200;

/// Replaces an exact text in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileEdit;

#[async_trait]
impl Tool for FileEdit {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        blocking(place, Order::parse(input), cancel, |place, order, _| edit(place, order)).await
    }
}

/// Reads a call, for whoever is asked about it.
pub(crate) fn order(input: &RawJson) -> Result<Order, String> {
    Order::parse(input).map_err(Failure::into_text)
}

/// A call, read.
pub(crate) struct Order {
    pub(crate) file_path: String,
    old: String,
    new: String,
    replace_all: bool,
}

impl Order {
    fn parse(input: &RawJson) -> Result<Self, Failure> {
        let known = ["file_path", "old_string", "new_string", "replace_all"];
        let arguments = Arguments::parse(SPEC.name, &known, input)?;
        let order = Self {
            file_path: arguments.required_text("file_path")?.to_owned(),
            old: arguments.required_text("old_string")?.to_owned(),
            new: arguments.required_text("new_string")?.to_owned(),
            replace_all: arguments.flag("replace_all", false)?,
        };
        if order.old.is_empty() {
            let text = "`old_string` must not be empty; use FileWrite to write a whole file";
            return Err(Failure::new(text));
        }
        if order.old == order.new {
            return Err(Failure::new("`old_string` and `new_string` are the same"));
        }
        Ok(order)
    }

    /// The content as the call would leave it.
    pub(crate) fn applied(&self, content: &[u8]) -> Result<Vec<u8>, String> {
        let (after, _) = replaced(content, self, &self.file_path).map_err(Failure::into_text)?;
        Ok(after)
    }
}

fn edit(place: &Place, order: &Order) -> Result<String, Failure> {
    let spot = place.spot_to_write("file_path", &order.file_path)?;
    let shown = &spot.shown;
    let _turn = writing_turn(&spot.real);
    let Some(existing) = disk::find(&spot)? else {
        let gone = if place.forget(&spot.real) {
            "was removed since it was last read"
        } else {
            "does not exist"
        };
        return Err(Failure::new(format!("`{shown}` {gone}; use FileWrite to create it")));
    };
    check_seen(place, &spot, &existing)?;
    let (content, count) = replaced(&existing.content, order, shown)?;
    disk::replace(&existing, &content, shown)?;
    let difference = show::diff(&existing.content, &content);
    place.remember(spot.real, &content);
    let times = counted(count, "replacement", "replacements");
    Ok(format!("edited `{shown}` ({times})\n{difference}"))
}

/// The content after the edit, and how many places were replaced.
fn replaced(content: &[u8], order: &Order, shown: &str) -> Result<(Vec<u8>, usize), Failure> {
    let (mut old, mut new) = (order.old.clone(), order.new.clone());
    let mut places = occurrences(content, old.as_bytes());
    if places.is_empty() && old.contains('\n') && !old.contains('\r') {
        // FileRead shows lines without their ends, so in a CRLF file a model writes plain LF.
        let (old_crlf, new_crlf) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
        places = occurrences(content, old_crlf.as_bytes());
        (old, new) = (old_crlf, new_crlf);
    }
    match places.len() {
        0 => return Err(no_match(content, &order.old, shown)),
        1 => {}
        _ if order.replace_all => {}
        _ => return Err(many_matches(content, &places, shown)),
    }
    let mut out = Vec::with_capacity(content.len());
    let mut rest = 0;
    for place in &places {
        out.extend_from_slice(&content[rest..*place]);
        out.extend_from_slice(new.as_bytes());
        rest = place + old.len();
    }
    out.extend_from_slice(&content[rest..]);
    Ok((out, places.len()))
}

/// Where `needle` begins, without overlaps.
fn occurrences(content: &[u8], needle: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut free_from = 0;
    for (place, window) in content.windows(needle.len()).enumerate() {
        if place >= free_from && window == needle {
            places.push(place);
            free_from = place + needle.len();
        }
    }
    places
}

fn line_number(content: &[u8], place: usize) -> usize {
    content[..place].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn many_matches(content: &[u8], places: &[usize], shown: &str) -> Failure {
    let lines: Vec<String> = places
        .iter()
        .take(OCCURRENCES_LISTED_MAX)
        .map(|place| line_number(content, *place).to_string())
        .collect();
    let more = if places.len() > OCCURRENCES_LISTED_MAX { ", …" } else { "" };
    Failure::new(format!(
        "`old_string` occurs {} times in `{shown}` (lines {}{more}); add lines around it to make it \
         unique, or set `replace_all`",
        places.len(),
        lines.join(", ")
    ))
}

fn no_match(content: &[u8], old: &str, shown: &str) -> Failure {
    let text = String::from_utf8_lossy(content);
    let wanted = old.lines().find(|line| !line.trim().is_empty()).unwrap_or(old);
    let nearest = text
        .lines()
        .enumerate()
        .map(|(index, line)| (likeness(line, wanted), index, line))
        .filter(|(likeness, ..)| *likeness > 0)
        .max_by_key(|(likeness, index, _)| (*likeness, std::cmp::Reverse(*index)));
    let hint = match nearest {
        Some((_, index, line)) if line == wanted => {
            format!("; line {} begins like it, what follows differs", index + 1)
        }
        Some((_, index, line)) => {
            let blanks = line.trim() == wanted.trim();
            let blanks = if blanks { " (only the blanks differ)" } else { "" };
            let line = show::line(line, NEAREST_CHARACTERS_MAX);
            format!("; the nearest line is {}: `{line}`{blanks}", index + 1)
        }
        None => "; no line is like it".to_owned(),
    };
    Failure::new(format!("`old_string` does not occur in `{shown}`{hint}"))
}

/// How much two lines have in common at their beginning and end, blanks around them aside; nothing
/// below half of the wanted line, so that no unrelated line is offered.
fn likeness(line: &str, wanted: &str) -> usize {
    let (line, wanted) = (line.trim().as_bytes(), wanted.trim().as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = line.iter().zip(wanted).take_while(same).count();
    let shorter = line.len().min(wanted.len());
    let tail = line.iter().rev().zip(wanted.iter().rev()).take_while(same).count();
    let common = head + tail.min(shorter - head);
    if common * 2 >= wanted.len().max(1) { common } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileRead;
    use crate::place::fixture::Fixture;

    async fn fixture(content: impl AsRef<[u8]>) -> Fixture {
        let fixture = Fixture::new();
        fixture.write("a.rs", content);
        fixture.run(&FileRead, r#"{"file_path":"a.rs"}"#).await;
        fixture
    }

    fn order(old: &str, new: &str, replace_all: bool) -> String {
        let fields = serde_json::json!({
            "file_path": "a.rs", "old_string": old, "new_string": new, "replace_all": replace_all
        });
        fields.to_string()
    }

    #[tokio::test]
    async fn a_unique_text_is_replaced_and_the_difference_shown() {
        let fixture = fixture("fn a() {}\nfn b() {\n    1\n}\n").await;
        let output = fixture.run(&FileEdit, &order("    1\n", "    2\n", false)).await;
        insta::assert_snapshot!(output, @"
        edited `a.rs` (1 replacement)
        @@ -1,4 +1,4 @@
         fn a() {}
         fn b() {
        -    1
        +    2
         }
        ");
        let output = fixture.run(&FileEdit, &order("fn ", "pub fn ", true)).await;
        insta::assert_snapshot!(output, @"
        edited `a.rs` (2 replacements)
        @@ -1,4 +1,4 @@
        -fn a() {}
        -fn b() {
        +pub fn a() {}
        +pub fn b() {
             2
         }
        ");
        assert_eq!(fixture.read("a.rs"), "pub fn a() {}\npub fn b() {\n    2\n}\n");
    }

    #[tokio::test]
    async fn a_text_that_is_not_unique_or_not_there_is_explained() {
        let fixture = fixture("let x = 1;\n\tlet yes = 2;\nlet x = 1;\n").await;
        let edit = async |old: &str| fixture.run(&FileEdit, &order(old, "new", false)).await;
        insta::assert_snapshot!(edit("let x").await, @"error: `old_string` occurs 2 times in `a.rs` (lines 1, 3); add lines around it to make it unique, or set `replace_all`");
        insta::assert_snapshot!(edit("    let yes = 2;").await, @"error: `old_string` does not occur in `a.rs`; the nearest line is 2: `\tlet yes = 2;` (only the blanks differ)");
        insta::assert_snapshot!(edit("let x = 1;\nlet z").await, @"error: `old_string` does not occur in `a.rs`; line 1 begins like it, what follows differs");
        insta::assert_snapshot!(edit("let yes = 3;").await, @"error: `old_string` does not occur in `a.rs`; the nearest line is 2: `\tlet yes = 2;`");
        insta::assert_snapshot!(edit("something else").await, @"error: `old_string` does not occur in `a.rs`; no line is like it");
        insta::assert_snapshot!(edit("").await, @"error: `old_string` must not be empty; use FileWrite to write a whole file");
        insta::assert_snapshot!(edit("new").await, @"error: `old_string` and `new_string` are the same");
    }

    #[tokio::test]
    async fn a_file_that_was_not_read_or_is_not_there_is_left_alone() {
        let fixture = fixture("1").await;
        fixture.write("a.rs", "2");
        insta::assert_snapshot!(fixture.run(&FileEdit, &order("2", "3", false)).await, @"error: `a.rs` has changed since it was last read (line 1 changed); read it again with FileRead");
        std::fs::remove_file(fixture.path("a.rs")).unwrap();
        insta::assert_snapshot!(fixture.run(&FileEdit, &order("2", "3", false)).await, @"error: `a.rs` was removed since it was last read; use FileWrite to create it");
        insta::assert_snapshot!(fixture.run(&FileEdit, &order("2", "3", false)).await, @"error: `a.rs` does not exist; use FileWrite to create it");
    }

    #[tokio::test]
    async fn line_ends_and_foreign_bytes_survive() {
        let fixture = fixture(b"a\r\nb\r\nc\xe9\r\n").await;
        let output = fixture.run(&FileEdit, &order("a\nb\n", "a\nx\n", false)).await;
        assert!(output.starts_with("edited"), "{output}");
        assert_eq!(std::fs::read(fixture.path("a.rs")).unwrap(), b"a\r\nx\r\nc\xe9\r\n");
    }

    #[test]
    fn occurrences_do_not_overlap() {
        assert_eq!(occurrences(b"aaaa", b"aa"), [0, 2]);
        assert_eq!(occurrences(b"a", b"aa"), Vec::<usize>::new());
    }
}
