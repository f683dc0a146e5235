//! `FileWrite`: a whole file, new or replaced.

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::disk::{self, Existing};
use crate::ground::Spot;
use crate::place::{Content, Place, writing_turn};
use crate::show::{self, counted};
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec, blocking};

static SPEC: ToolSpec = ToolSpec {
    name: "FileWrite",
    description: "Writes a whole file, and the folders above it where they are missing. A file that \
        already exists must have been read with FileRead, and must not have changed since. Use \
        FileEdit to change a part of a file.",
    schema: include_str!("schemas/FileWrite.json"),
    effect: Effect::Writes,
};

/// Writes a whole file in one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileWrite;

#[async_trait]
impl Tool for FileWrite {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        blocking(place, parse(input), cancel, |place, order, _| write(place, order)).await
    }
}

/// Path and content of a call, for whoever is asked about it.
pub(crate) fn order(input: &RawJson) -> Result<(String, String), String> {
    parse(input).map_err(Failure::into_text)
}

fn parse(input: &RawJson) -> Result<(String, String), Failure> {
    let arguments = Arguments::parse(SPEC.name, &["file_path", "content"], input)?;
    let file_path = arguments.required_text("file_path")?.to_owned();
    Ok((file_path, arguments.required_text("content")?.to_owned()))
}

fn write(place: &Place, (file_path, content): &(String, String)) -> Result<String, Failure> {
    let content = content.as_bytes();
    let spot = place.spot_to_write("file_path", file_path)?;
    let shown = &spot.shown;
    let _turn = writing_turn(&spot.real);
    let Some(existing) = disk::find(&spot)? else {
        if place.forget(&spot.real) {
            return Err(Failure::new(format!(
                "`{shown}` was removed since it was last read; write it again if it should be there all the same"
            )));
        }
        disk::create(&spot, content)?;
        place.remember(spot.real, content);
        let lines =
            counted(content.split_inclusive(|byte| *byte == b'\n').count(), "line", "lines");
        return Ok(format!("created `{shown}` ({lines})"));
    };
    check_seen(place, &spot, &existing)?;
    if existing.content == content {
        return Ok(format!("`{shown}` already has this content"));
    }
    disk::replace(&existing, content, shown)?;
    let difference = show::diff(&existing.content, content);
    place.remember(spot.real, content);
    Ok(format!("replaced `{shown}`\n{difference}"))
}

/// Refuses to touch a file that the agent does not know as it is now.
pub(crate) fn check_seen(place: &Place, spot: &Spot, existing: &Existing) -> Result<(), Failure> {
    let shown = &spot.shown;
    let Some(seen) = place.seen(&spot.real) else {
        return Err(Failure::new(format!(
            "`{shown}` exists and has not been read yet; read it with FileRead first"
        )));
    };
    match Content::of(&existing.content).change_since(&seen) {
        Some(change) => Err(Failure::new(format!(
            "`{shown}` has changed since it was last read{change}; read it again with FileRead"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileRead;
    use crate::place::fixture::Fixture;

    #[tokio::test]
    async fn a_new_file_is_created_with_its_folders_and_counts_as_read() {
        let fixture = Fixture::new();
        let write = |input| fixture.run(&FileWrite, input);
        insta::assert_snapshot!(write(r#"{"file_path":"a/b/c.txt","content":"x\ny\n"}"#).await, @"created `a/b/c.txt` (2 lines)");
        insta::assert_snapshot!(write(r#"{"file_path":"a/b/c.txt","content":"x\nz\n"}"#).await, @"
        replaced `a/b/c.txt`
        @@ -1,2 +1,2 @@
         x
        -y
        +z
        ");
        insta::assert_snapshot!(write(r#"{"file_path":"a/b/c.txt","content":"x\nz\n"}"#).await, @"`a/b/c.txt` already has this content");
        assert_eq!(fixture.read("a/b/c.txt"), "x\nz\n");
    }

    #[tokio::test]
    async fn an_existing_file_must_be_known_as_it_is() {
        let fixture = Fixture::new();
        fixture.write("a", "1");
        let order = r#"{"file_path":"a","content":"2"}"#;
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"error: `a` exists and has not been read yet; read it with FileRead first");
        fixture.run(&FileRead, r#"{"file_path":"a"}"#).await;
        fixture.write("a", "other");
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"error: `a` has changed since it was last read (line 1 changed); read it again with FileRead");
        assert_eq!(fixture.read("a"), "other");
    }

    #[tokio::test]
    async fn a_file_that_somebody_removed_is_made_again_only_knowingly() {
        let fixture = Fixture::new();
        fixture.write("a", "1");
        fixture.run(&FileRead, r#"{"file_path":"a"}"#).await;
        std::fs::remove_file(fixture.path("a")).unwrap();
        let order = r#"{"file_path":"a","content":"2"}"#;
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"error: `a` was removed since it was last read; write it again if it should be there all the same");
        assert!(!fixture.path("a").exists());
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"created `a` (1 line)");
        // And what somebody made meanwhile is not overwritten.
        std::fs::remove_file(fixture.path("a")).unwrap();
        fixture.run(&FileWrite, order).await;
        fixture.write("a", "theirs");
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"error: `a` exists and has not been read yet; read it with FileRead first");
        assert_eq!(fixture.read("a"), "theirs");
    }

    #[tokio::test]
    async fn a_fork_knows_what_was_read_and_not_what_its_parent_wrote_since() {
        let fixture = Fixture::new();
        fixture.write("a", "1");
        fixture.write("b", "1");
        fixture.run(&FileRead, r#"{"file_path":"a"}"#).await;
        fixture.run(&FileRead, r#"{"file_path":"b"}"#).await;
        let child = fixture.place.fork();
        let order = r#"{"file_path":"a","content":"2"}"#;
        assert!(fixture.run(&FileWrite, order).await.starts_with("replaced"));
        let as_child = async |order: &str| {
            let input = tine_model::RawJson::parse(order).unwrap();
            FileWrite.run(&child, &input, &CancellationToken::new()).await.text
        };
        insta::assert_snapshot!(as_child(r#"{"file_path":"a","content":"3"}"#).await, @"`a` has changed since it was last read (line 1 changed); read it again with FileRead");
        assert!(as_child(r#"{"file_path":"b","content":"3"}"#).await.starts_with("replaced"));
        let order = r#"{"file_path":"b","content":"4"}"#;
        insta::assert_snapshot!(fixture.run(&FileWrite, order).await, @"error: `b` has changed since it was last read (line 1 changed); read it again with FileRead");
        assert_eq!((fixture.read("a"), fixture.read("b")), ("2".to_owned(), "3".to_owned()));
    }

    #[tokio::test]
    async fn of_many_that_write_at_once_one_wins_and_the_others_read_again() {
        const WRITERS: usize = 8;
        for round in 0..20 {
            let fixture = Fixture::new();
            fixture.write("a", "old");
            // Places of their own, as those of agents that run in one process.
            let places: Vec<Place> =
                (0..WRITERS).map(|_| Place::new(fixture.place.directory()).unwrap()).collect();
            let mut writers = tokio::task::JoinSet::new();
            for (number, place) in places.into_iter().enumerate() {
                place.remember(fixture.path("a").canonicalize().unwrap(), b"old");
                writers.spawn(async move {
                    let order = format!(r#"{{"file_path":"a","content":"{round} {number}"}}"#);
                    let input = tine_model::RawJson::parse(&order).unwrap();
                    let output = FileWrite.run(&place, &input, &CancellationToken::new()).await;
                    (number, output.text)
                });
            }
            let outputs = writers.join_all().await;
            let won: Vec<_> =
                outputs.iter().filter(|(_, text)| text.starts_with("replaced")).collect();
            assert_eq!(won.len(), 1, "{outputs:?}");
            assert_eq!(fixture.read("a"), format!("{round} {}", won[0].0));
        }
    }

    #[tokio::test]
    async fn what_was_read_through_a_link_may_be_written_at_its_target() {
        let fixture = Fixture::new();
        fixture.write("real", "1\n");
        std::os::unix::fs::symlink("real", fixture.path("link")).unwrap();
        fixture.run(&FileRead, r#"{"file_path":"link"}"#).await;
        let output = fixture.run(&FileWrite, r#"{"file_path":"real","content":"2\n"}"#).await;
        assert!(output.starts_with("replaced"), "{output}");
    }

    #[tokio::test]
    async fn directories_and_bad_parents_are_refused() {
        let fixture = Fixture::new();
        fixture.write("file", "1");
        let write = |input| fixture.run(&FileWrite, input);
        insta::assert_snapshot!(write(r#"{"file_path":".","content":""}"#).await, @"error: `.` is a directory; use Glob to list its files");
        insta::assert_snapshot!(write(r#"{"file_path":"file/x","content":""}"#).await, @"error: cannot read `file/x`: a part of the path is a file, not a directory");
        insta::assert_snapshot!(write(r#"{"file_path":"x"}"#).await, @"error: `content` is missing; it must be a string");
    }
}
