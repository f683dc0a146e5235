//! One search: every file in turn, results in path order.

use std::io;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish,
    SinkMatch,
};
use tokio_util::sync::CancellationToken;

use super::{Mode, Order};
use crate::beneath::is_regular;
use crate::disk::{self, Kind};
use crate::ground::Spot;
use crate::place::Place;
use crate::show::{self, Lines, counted};
use crate::tool::Failure;
use crate::walk::{Folders, Found, Walk, unreadable_note};

/// Memory for one compiled expression; a larger one is a mistake such as `\w{1000}{1000}`.
const EXPRESSION_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Memory for one line, or for one whole file in a multi-line search.
const SEARCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Characters of a line that are shown; longer lines are nearly always generated.
const LINE_CHARACTERS_MAX: usize = 500;

/// Searches, and gives the results as text.
pub(super) fn run(
    place: &Place,
    order: &Order,
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let spot = place.spot("path", &order.path)?;
    let shown = &spot.shown;
    let matcher = matcher(order)?;
    let (found, withheld) = match disk::kind(&spot, "search")? {
        Kind::Folder => files(place, order, &spot, cancel)?,
        Kind::File => return alone(&spot, order, &matcher, cancel),
        Kind::Other => {
            return Err(Failure::new(format!("`{shown}` is neither a file nor a directory")));
        }
    };
    let mut folders = Folders::new(&spot);
    let mut results = Results::new(order);
    let mut searcher = searcher(order);
    let mut unreadable = found.unreadable;
    for file in &found.files {
        if cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let sink = FileSink::new(&mut results, order, cancel, place.show(&spot.written.join(file)));
        let searched = match folders.open(file) {
            Ok(Some(file)) => searcher.search_file(&matcher, &file, sink),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if searched.is_err() {
            unreadable += 1;
        }
    }
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    let withheld = withheld_note(withheld, place.refuses_secrets());
    let notes = [withheld, unreadable_note(unreadable)].concat();
    Ok(results.finish(shown) + notes.as_str())
}

/// Searches the one file that the call names.
fn alone(
    spot: &Spot,
    order: &Order,
    matcher: &RegexMatcher,
    cancel: &CancellationToken,
) -> Result<String, Failure> {
    let shown = &spot.shown;
    let Some(file) = disk::open(spot)? else {
        return Err(Failure::new(format!("`{shown}` is neither a file nor a directory")));
    };
    let mut results = Results::new(order);
    let sink = FileSink::new(&mut results, order, cancel, shown.clone());
    let unreadable = searcher(order).search_file(matcher, &file, sink).is_err();
    if cancel.is_cancelled() {
        return Err(Failure::cancelled());
    }
    Ok(results.finish_alone(shown) + unreadable_note(usize::from(unreadable)).as_str())
}

fn withheld_note(number: usize, refused: bool) -> String {
    let (files, advice) = match number {
        0 => return String::new(),
        1 => (
            "1 file that may hold secrets was left out".to_owned(),
            "name it with `path` to search it",
        ),
        _ => (
            format!("{number} files that may hold secrets were left out"),
            "name one with `path` to search it",
        ),
    };
    if refused { format!("\n({files})") } else { format!("\n({files}; {advice})") }
}

fn matcher(order: &Order) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(order.case_insensitive)
        .multi_line(true)
        .dot_matches_new_line(order.multiline)
        .size_limit(EXPRESSION_BYTES_MAX)
        .dfa_size_limit(EXPRESSION_BYTES_MAX);
    if !order.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder
        .build(&order.pattern)
        .map_err(|error| Failure::new(format!("`pattern` is not a regular expression: {error}")))
}

fn searcher(order: &Order) -> Searcher {
    let content = order.mode == Mode::Content;
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .multi_line(order.multiline)
        .heap_limit(Some(SEARCH_BYTES_MAX))
        .before_context(if content { order.before } else { 0 })
        .after_context(if content { order.after } else { 0 })
        .build()
}

/// The files to search, and how many the owner of the place withholds.
fn files(
    place: &Place,
    order: &Order,
    spot: &Spot,
    cancel: &CancellationToken,
) -> Result<(Found, usize), Failure> {
    let hidden = order.glob.as_ref().is_some_and(|glob| glob.wants_hidden());
    let types = order.types.clone();
    let mut found = Walk { spot, hidden, types, cancel }
        .files(|path| order.glob.as_ref().is_none_or(|glob| glob.matches(path)))?;
    // A link may lead out of the directory, and a pipe would never end.
    let mut folders = Folders::new(spot);
    found.files.retain(|file| folders.look(file).is_some_and(|stat| is_regular(&stat)));
    let before = found.files.len();
    if !place.is_withheld(&spot.written) {
        found.files.retain(|file| {
            let names = [&spot.written, &spot.real];
            !names.iter().any(|folder| place.is_withheld(&folder.join(file)))
        });
    }
    let withheld = before - found.files.len();
    Ok((found, withheld))
}

/// The results so far.
struct Results {
    mode: Mode,
    lines: Lines,
    binary: usize,
    context: bool,
}

impl Results {
    fn new(order: &Order) -> Self {
        Self {
            mode: order.mode,
            lines: Lines::new(order.results_max),
            binary: 0,
            context: order.before > 0 || order.after > 0,
        }
    }

    fn finish(self, shown: &str) -> String {
        if self.lines.is_empty() {
            return format!("no match in `{shown}`");
        }
        self.lines.finish("raise head_limit or narrow the search")
    }

    fn finish_alone(self, shown: &str) -> String {
        if self.binary == 0 {
            return self.finish(shown);
        }
        let rest = self.lines.finish("raise head_limit or narrow the search");
        format!("{rest}\n(`{shown}` is binary, searched up to its first NUL byte)")
            .trim_start()
            .to_owned()
    }
}

/// Takes the matches of one file.
struct FileSink<'a> {
    results: &'a mut Results,
    cancel: &'a CancellationToken,
    shown: String,
    numbers: bool,
    matches: usize,
    /// Whether a line of this file has been pushed.
    started: bool,
}

impl<'a> FileSink<'a> {
    fn new(
        results: &'a mut Results,
        order: &Order,
        cancel: &'a CancellationToken,
        shown: String,
    ) -> Self {
        Self { results, cancel, shown, numbers: order.numbers, matches: 0, started: false }
    }

    /// One line as ripgrep prints it: `:` after a match's parts, `-` after a context line's.
    fn push_line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = show::line(text.trim_end_matches(['\n', '\r']), LINE_CHARACTERS_MAX);
        let line = match number {
            Some(number) if self.numbers => format!("{}{mark}{number}{mark}{text}", self.shown),
            _ => format!("{}{mark}{text}", self.shown),
        };
        if !self.started && self.results.context && !self.results.lines.is_empty() {
            self.results.lines.push("--".to_owned());
        }
        self.started = true;
        self.results.lines.push(line);
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        for (index, line) in (0..).zip(found.lines()) {
            self.matches += 1;
            if self.results.mode == Mode::Content {
                self.push_line(':', found.line_number().map(|first| first + index), line);
            }
        }
        Ok(self.results.mode != Mode::Files && !self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        match found.kind() {
            SinkContextKind::Before | SinkContextKind::After | SinkContextKind::Other => {
                self.push_line('-', found.line_number(), found.bytes());
            }
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.results.lines.push("--".to_owned());
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        if finish.binary_byte_offset().is_some() {
            self.results.binary += 1;
        }
        match self.results.mode {
            Mode::Files if self.matches > 0 => self.results.lines.push(self.shown.clone()),
            Mode::Count if self.matches > 0 => {
                let count = counted(self.matches, "line", "lines");
                self.results.lines.push(format!("{}: {count}", self.shown));
            }
            Mode::Files | Mode::Count | Mode::Content => {}
        }
        Ok(())
    }
}
