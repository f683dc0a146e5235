//! `Grep`: the lines or files that match a regular expression, with ripgrep's engine in process.

mod search;

use async_trait::async_trait;
use ignore::types::{Types, TypesBuilder};
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::place::Place;
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec, blocking};
use crate::walk::FilePattern;

static SPEC: ToolSpec = ToolSpec {
    name: "Grep",
    description: "Searches file contents with a regular expression (Rust syntax, as in ripgrep). \
        `output_mode` is `files_with_matches` (the default), `content` (matching lines with their \
        numbers) or `count`. Narrow the search with `path`, `glob` or `type`. Files that git ignores, \
        binary files and hidden files are left out unless `path` or `glob` names them.",
    schema: include_str!("schemas/Grep.json"),
    effect: Effect::Reads,
};

/// Fields that the schema declares, then the spellings of the command line that models know.
const KNOWN: [&str; 14] = [
    "pattern",
    "path",
    "glob",
    "type",
    "output_mode",
    "case_insensitive",
    "context",
    "head_limit",
    "multiline",
    "-i",
    "-n",
    "-A",
    "-B",
    "-C",
];

/// Result lines when the call does not say: about what fits beside a conversation.
const RESULTS_DEFAULT: u64 = 250;

/// Lines of context on each side; whoever wants more wants the file.
const CONTEXT_LINES_MAX: u64 = 100;

/// Searches file contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        blocking(place, Order::parse(input), cancel, search::run).await
    }
}

/// What the model wants to see of the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Files,
    Content,
    Count,
}

struct Order {
    pattern: String,
    path: String,
    glob: Option<FilePattern>,
    types: Option<Types>,
    mode: Mode,
    case_insensitive: bool,
    multiline: bool,
    numbers: bool,
    before: usize,
    after: usize,
    results_max: usize,
}

impl Order {
    fn parse(input: &RawJson) -> Result<Self, Failure> {
        let arguments = Arguments::parse(SPEC.name, &KNOWN, input)?;
        let context = match context(&arguments, "context")? {
            Some(lines) => Some(lines),
            None => context(&arguments, "-C")?,
        };
        let results_max = arguments.count("head_limit", 1)?.unwrap_or(RESULTS_DEFAULT);
        Ok(Self {
            pattern: arguments.required_text("pattern")?.to_owned(),
            path: arguments.text("path")?.unwrap_or(".").to_owned(),
            glob: arguments
                .text("glob")?
                .map(|text| FilePattern::parse("glob", text))
                .transpose()?,
            types: arguments.text("type")?.map(file_type).transpose()?,
            mode: mode(arguments.text("output_mode")?)?,
            case_insensitive: arguments.flag("case_insensitive", false)?
                || arguments.flag("-i", false)?,
            multiline: arguments.flag("multiline", false)?,
            numbers: arguments.flag("-n", true)?,
            before: context_or(&arguments, "-B", context)?,
            after: context_or(&arguments, "-A", context)?,
            results_max: usize::try_from(results_max).unwrap_or(usize::MAX),
        })
    }
}

fn mode(text: Option<&str>) -> Result<Mode, Failure> {
    match text {
        None | Some("files_with_matches") => Ok(Mode::Files),
        Some("content") => Ok(Mode::Content),
        Some("count") => Ok(Mode::Count),
        Some(other) => Err(Failure::new(format!(
            "`output_mode` must be files_with_matches, content or count, not {other:?}"
        ))),
    }
}

fn context(arguments: &Arguments, field: &str) -> Result<Option<usize>, Failure> {
    match arguments.count(field, 0)? {
        Some(lines) if lines > CONTEXT_LINES_MAX => {
            Err(Failure::new(format!("`{field}` must be at most {CONTEXT_LINES_MAX}, not {lines}")))
        }
        lines => Ok(lines.and_then(|lines| usize::try_from(lines).ok())),
    }
}

fn context_or(
    arguments: &Arguments,
    field: &str,
    otherwise: Option<usize>,
) -> Result<usize, Failure> {
    Ok(context(arguments, field)?.or(otherwise).unwrap_or(0))
}

fn file_type(name: &str) -> Result<Types, Failure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    builder.build().map_err(|_| {
        Failure::new(format!(
            "`type` {name:?} is not known; use a name such as rust, py, js, ts, go, java, c, cpp, md, \
             or a `glob`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::place::fixture::Fixture;

    fn project() -> Fixture {
        let fixture = Fixture::new();
        fixture.write("src/a.rs", "fn one() {\n    work();\n}\n\nfn two() {}\n");
        fixture.write("src/b.py", "def one():\n    WORK()\n");
        fixture.write("target/x.rs", "fn one() {}\n");
        fixture.write(".gitignore", "/target\n");
        fixture.write(".github/ci.yml", "run: one\n");
        fixture.write("data.bin", b"one\0two\n");
        fixture
    }

    #[tokio::test]
    async fn each_mode_shows_the_matches_in_its_way() {
        let fixture = project();
        let grep = |input| fixture.run(&Grep, input);
        insta::assert_snapshot!(grep(r#"{"pattern":"one"}"#).await, @"
        src/a.rs
        src/b.py
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"fn|def","output_mode":"count"}"#).await, @"
        src/a.rs: 2 lines
        src/b.py: 1 line
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"work","output_mode":"content","-i":true}"#).await, @"
        src/a.rs:2:    work();
        src/b.py:2:    WORK()
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"work","output_mode":"content","context":1}"#).await, @"
        src/a.rs-1-fn one() {
        src/a.rs:2:    work();
        src/a.rs-3-}
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"fn","output_mode":"content","-A":1,"-n":false}"#).await, @"
        src/a.rs:fn one() {
        src/a.rs-    work();
        --
        src/a.rs:fn two() {}
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"\\{.*\\}","multiline":true,"output_mode":"content","path":"src"}"#).await, @"
        src/a.rs:1:fn one() {
        src/a.rs:2:    work();
        src/a.rs:3:}
        src/a.rs:4:
        src/a.rs:5:fn two() {}
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"nowhere"}"#).await, @"no match in `.`");
    }

    #[tokio::test]
    async fn the_search_is_narrowed_by_place_name_and_type() {
        let fixture = project();
        let grep = |input| fixture.run(&Grep, input);
        insta::assert_snapshot!(grep(r#"{"pattern":"one","type":"py"}"#).await, @"src/b.py");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","glob":"*.rs"}"#).await, @"src/a.rs");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","glob":"!src/**"}"#).await, @"no match in `.`");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","glob":".github/**"}"#).await, @".github/ci.yml");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","path":"target/x.rs","output_mode":"content"}"#).await, @"target/x.rs:1:fn one() {}");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","path":".github"}"#).await, @".github/ci.yml");
        insta::assert_snapshot!(grep(r#"{"pattern":"two","path":"data.bin"}"#).await, @"(`data.bin` is binary, searched up to its first NUL byte)");
        insta::assert_snapshot!(grep(r#"{"pattern":".","output_mode":"content","head_limit":2}"#).await, @"
        src/a.rs:1:fn one() {
        src/a.rs:2:    work();
        … 4 more (raise head_limit or narrow the search)
        ");
    }

    #[tokio::test]
    async fn mistakes_are_explained() {
        let fixture = project();
        let grep = |input| fixture.run(&Grep, input);
        insta::assert_snapshot!(grep(r#"{"pattern":"(a"}"#).await, @"
        error: `pattern` is not a regular expression: regex parse error:
            (?:(a)
            ^
        error: unclosed group
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"a\nb"}"#).await, @r#"error: `pattern` is not a regular expression: the literal "\n" is not allowed in a regex"#);
        insta::assert_snapshot!(grep(r#"{"pattern":"a","type":"klingon"}"#).await, @r#"error: `type` "klingon" is not known; use a name such as rust, py, js, ts, go, java, c, cpp, md, or a `glob`"#);
        insta::assert_snapshot!(grep(r#"{"pattern":"a","output_mode":"lines"}"#).await, @r#"error: `output_mode` must be files_with_matches, content or count, not "lines""#);
        insta::assert_snapshot!(grep(r#"{"pattern":"a","context":1000}"#).await, @"error: `context` must be at most 100, not 1000");
        insta::assert_snapshot!(grep(r#"{"pattern":"a","path":"none"}"#).await, @"error: cannot search `none`: it does not exist");
        insta::assert_snapshot!(grep(r#"{"pattern":"\\w{1000}{1000}"}"#).await, @"error: `pattern` is not a regular expression: compiled regex exceeds size limit of 16777216");
    }

    #[tokio::test]
    async fn what_the_owner_withholds_is_searched_only_by_name() {
        let mut fixture = project();
        fixture.write("keys/server.pem", "one\n");
        let withheld: crate::Withheld =
            Arc::new(|path| path.extension().is_some_and(|e| e == "pem"));
        fixture.place = fixture.place.fork().with_withheld(withheld);
        let grep = |input| fixture.run(&Grep, input);
        insta::assert_snapshot!(grep(r#"{"pattern":"one","glob":"*.pem"}"#).await, @"
        no match in `.`
        (1 file that may hold secrets was left out; name it with `path` to search it)
        ");
        insta::assert_snapshot!(grep(r#"{"pattern":"one","path":"keys/server.pem"}"#).await, @"keys/server.pem");
    }
}
