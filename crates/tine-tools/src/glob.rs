//! `Glob`: the files whose path matches a pattern.

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::disk::{self, Kind};
use crate::place::Place;
use crate::show::Lines;
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec, blocking};
use crate::walk::{FilePattern, Walk, unreadable_note};

static SPEC: ToolSpec = ToolSpec {
    name: "Glob",
    description: "Lists files whose path matches a pattern such as `**/*.rs` or `src/*.{ts,tsx}`, \
        in path order, at most 500. A pattern without a slash is about the file name at any depth. \
        Files that git ignores are left out, and so are hidden ones unless the pattern names them.",
    schema: include_str!("schemas/Glob.json"),
    effect: Effect::Reads,
};

/// Paths that one call lists; a longer list is not read by anybody.
const PATHS_MAX: usize = 500;

/// Lists files by pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        blocking(place, parse(input), cancel, list).await
    }
}

fn parse(input: &RawJson) -> Result<(String, String), Failure> {
    let arguments = Arguments::parse(SPEC.name, &["pattern", "path"], input)?;
    let pattern = arguments.required_text("pattern")?.to_owned();
    Ok((pattern, arguments.text("path")?.unwrap_or(".").to_owned()))
}

fn list(
    place: &Place,
    (pattern, path): &(String, String),
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let spot = place.spot("path", path)?;
    let shown = &spot.shown;
    if disk::kind(&spot, "list")? != Kind::Folder {
        return Err(Failure::new(format!("`{shown}` is not a directory; read it with FileRead")));
    }
    // Models write whole paths; one that begins with the root says nothing else than the rest of it.
    let root = spot.written.to_str();
    let below = root.and_then(|root| pattern.strip_prefix(root)?.strip_prefix('/'));
    let pattern = FilePattern::parse("pattern", below.unwrap_or(pattern))?;
    let walk = Walk { spot: &spot, hidden: pattern.wants_hidden(), types: None, cancel };
    let found = walk.files(|path| pattern.matches(path))?;
    let mut lines = Lines::new(PATHS_MAX);
    for file in &found.files {
        lines.push(place.show(&spot.written.join(file)));
    }
    let text = if lines.is_empty() {
        format!("no file in `{shown}` matches")
    } else {
        lines.finish("narrow the pattern to see them")
    };
    Ok(text + unreadable_note(found.unreadable).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::fixture::Fixture;

    fn project() -> Fixture {
        let fixture = Fixture::new();
        for name in [
            "src/b.rs",
            "src/a.rs",
            "src/deep/c.rs",
            "README.md",
            "target/x.rs",
            ".github/ci.yml",
            ".git/config",
        ] {
            fixture.write(name, "x");
        }
        fixture.write(".gitignore", "/target\n");
        fixture
    }

    #[tokio::test]
    async fn files_are_listed_in_path_order_as_git_sees_them() {
        let fixture = project();
        let glob = async |pattern: &str, path: &str| {
            let input = serde_json::json!({ "pattern": pattern, "path": path }).to_string();
            fixture.run(&Glob, &input).await.replace('\n', " ")
        };
        insta::assert_snapshot!(glob("**/*.rs", ".").await, @"src/a.rs src/b.rs src/deep/c.rs");
        insta::assert_snapshot!(glob("*.rs", ".").await, @"src/a.rs src/b.rs src/deep/c.rs");
        insta::assert_snapshot!(glob("src/*.{rs,md}", ".").await, @"src/a.rs src/b.rs");
        insta::assert_snapshot!(glob("**/*", "src").await, @"src/a.rs src/b.rs src/deep/c.rs");
        insta::assert_snapshot!(glob(".github/*", ".").await, @".github/ci.yml");
        insta::assert_snapshot!(glob("**/.*", ".").await, @".gitignore");
        let whole = format!("{}/src/deep/*", fixture.place.directory().display());
        insta::assert_snapshot!(glob(&whole, ".").await, @"src/deep/c.rs");
        insta::assert_snapshot!(glob("*.py", ".").await, @"no file in `.` matches");
    }

    #[tokio::test]
    async fn a_bad_pattern_or_place_is_explained() {
        let fixture = project();
        let glob = |input| fixture.run(&Glob, input);
        insta::assert_snapshot!(glob(r#"{"pattern":"src/[a"}"#).await, @"error: `pattern` is not a file pattern: error parsing glob 'src/[a': unclosed character class; missing ']'");
        insta::assert_snapshot!(glob(r#"{"pattern":"../*"}"#).await, @"error: `pattern` must not leave the directory of the search; say with `path` where to start");
        insta::assert_snapshot!(glob(r#"{"pattern":"*","path":"README.md"}"#).await, @"error: `README.md` is not a directory; read it with FileRead");
        insta::assert_snapshot!(glob(r#"{"pattern":"*","path":"none"}"#).await, @"error: cannot list `none`: it does not exist");
        insta::assert_snapshot!(glob(r#"{"path":"."}"#).await, @"error: `pattern` is missing; it must be a string");
    }

    #[tokio::test]
    async fn a_long_list_is_cut_and_counted() {
        let fixture = Fixture::new();
        for number in 0..510 {
            fixture.write(&format!("{number:03}"), "");
        }
        let output = fixture.run(&Glob, r#"{"pattern":"*"}"#).await;
        assert_eq!(output.lines().count(), 501);
        insta::assert_snapshot!(output.lines().last().unwrap(), @"… 10 more (narrow the pattern to see them)");
    }

    #[tokio::test]
    async fn a_cancelled_walk_says_so() {
        let fixture = project();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let input = RawJson::parse(r#"{"pattern":"*"}"#).unwrap();
        let output = Glob.run(&fixture.place, &input, &cancel).await;
        assert_eq!(output, ToolOutput::failed("cancelled"));
    }
}
