//! A session of the terminal as a recording for asciinema, as a picture that moves, and as pictures in text. Run with `cargo xtask cast`.
//!
//! Argument: the directory for `terminal.cast`, `terminal.svg` and `terminal.md`. The real program is driven in a pseudo-terminal with the session of
//! [`script`]. Nothing is timed: each step waits for a text, and times in the recording are made, so that it can be watched. Ids are made
//! as well, the same in each recording.

#![expect(clippy::print_stdout, reason = "it says what it wrote")]
#![expect(clippy::unwrap_used, reason = "a step that fails makes no recording")]

mod picture;
mod script;

use std::path::{Path, PathBuf};

use picture::Frame;
use script::{FILE, SCENARIO, STEPS, Step, TITLE};
use tine_testkit::pty::{COLUMNS, Place, ROWS, Terminal, beside_example, drawn};

/// How long letters, other changes and pictures are looked at, in seconds of the recording.
const LETTER_S: f64 = 0.06;
/// Letters that come at once in the picture that moves.
const LETTERS_AT_ONCE: usize = 4;
const CHANGE_S: f64 = 0.7;
const PICTURE_S: f64 = 2.5;

/// What stands before the words that are written.
const PROMPT: &str = "❯";

/// What is shown for the home directory of the session: as long as its name.
const MADE_HOME: &str = "/home/user/trip";

/// Letters of an id, and of its short form.
const ID_LETTERS: usize = 36;
const SHORT_LETTERS: usize = 8;

/// What stands behind the short form in a made id.
const ID_REST: &str = "-4c1d-4f00-8a00-000000000000";

/// The beginnings of ids, in the order in which agents appear.
const IDS: [&str; 4] = ["5e0c7a31", "b81f4d96", "27d9e0c4", "f3a6158b"];

struct Home(tempfile::TempDir);

impl Place for Home {
    fn program(&self) -> PathBuf {
        beside_example("tine")
    }

    fn home(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("journey")
    }
}

fn main() {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap());
    let home = Home(tempfile::tempdir_in("/tmp").unwrap());
    let (name, text) = FILE;
    std::fs::create_dir(home.work()).unwrap();
    std::fs::write(home.work().join(name), text).unwrap();
    std::fs::write(home.home().join("story.toml"), SCENARIO).unwrap();
    std::fs::write(home.home().join("config.toml"), "model = \"sim/../story.toml\"\n").unwrap();
    let mut terminal = Terminal::start(&home, &[]);
    let mut recording = Recording::new(home.home().to_str().unwrap());
    for step in STEPS {
        match step {
            Step::Type(text) => {
                for at in text.char_indices().map(|(at, _)| at) {
                    let (before, rest) = text.split_at(at);
                    let letter: String = rest.chars().take(1).collect();
                    terminal.type_in(&letter);
                    let line = format!("{PROMPT} {before}{letter}");
                    let is_written = |screen: &str| screen.contains(line.trim_end());
                    recording.show(&terminal.screen_as(&line, is_written), LETTER_S);
                }
            }
            Step::Press(keys) => terminal.type_in(keys),
            Step::See(text) => {
                let screen = terminal.screen_as(text, |screen| screen.contains(text));
                recording.show(&screen, CHANGE_S);
            }
            Step::Gone(text) => {
                let screen = terminal.screen_as(text, |screen| !screen.contains(text));
                recording.show(&screen, CHANGE_S);
            }
            Step::Rest(text) => {
                terminal.at_rest(text);
                let screen = terminal.screen_as(text, |screen| screen.contains(text));
                recording.show(&screen, CHANGE_S);
            }
            Step::Picture(title, words) => recording.keep(title, words),
        }
    }
    terminal.kill();
    write(&directory.join("terminal.cast"), &recording.cast());
    write(&directory.join("terminal.svg"), &picture::svg(&recording.frames(), TITLE));
    write(&directory.join("terminal.md"), &recording.document());
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
    println!("{}: {} bytes", file.display(), text.len());
}

/// What was shown so far.
struct Recording {
    /// A path that nobody else has.
    home: String,
    /// The screen as watchers have it.
    shown: vt100::Parser,
    /// When something is shown, and what is sent for it.
    events: Vec<(f64, String)>,
    /// The same as whole screens.
    screens: Vec<(f64, vt100::Screen)>,
    now_s: f64,
    ids: Vec<String>,
    pictures: Vec<(&'static str, &'static str, String)>,
}

impl Recording {
    fn new(home: &str) -> Self {
        assert_eq!(home.len(), MADE_HOME.len(), "lines would be broken elsewhere");
        Self {
            home: home.to_owned(),
            shown: vt100::Parser::new(ROWS, COLUMNS, 0),
            events: Vec::new(),
            screens: Vec::new(),
            now_s: 0.5,
            ids: Vec::new(),
            pictures: Vec::new(),
        }
    }

    /// Shows a screen for so many seconds. Only what differs is sent.
    fn show(&mut self, screen: &vt100::Screen, seconds: f64) {
        let text = drawn(screen);
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-') {
            let is_hex = word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
            let is_id = is_hex && [SHORT_LETTERS, ID_LETTERS].contains(&word.len());
            if is_id && !self.ids.iter().any(|id| id == word) {
                self.ids.push(word.to_owned());
            }
        }
        let bytes = String::from_utf8(screen.contents_formatted()).unwrap();
        let mut bytes = bytes.replace(&self.home, MADE_HOME);
        // Whole ids first: each begins with the short form of the same agent.
        let (whole, short): (Vec<_>, Vec<_>) =
            self.ids.iter().partition(|id| id.len() == ID_LETTERS);
        for id in whole {
            let at = short.iter().position(|short| id.starts_with(short.as_str()));
            if let Some(made) = at.and_then(|at| IDS.get(at)) {
                bytes = bytes.replace(id, &format!("{made}{ID_REST}"));
            }
        }
        for (id, made) in short.into_iter().zip(IDS) {
            bytes = bytes.replace(id, made);
        }
        let before = self.shown.screen().clone();
        self.shown.process(bytes.as_bytes());
        let sent = self.shown.screen().contents_diff(&before);
        self.screens.push((self.now_s, self.shown.screen().clone()));
        self.events.push((self.now_s, String::from_utf8(sent).unwrap()));
        self.now_s += seconds;
    }

    fn keep(&mut self, title: &'static str, words: &'static str) {
        self.pictures.push((title, words, drawn(self.shown.screen())));
        self.now_s += PICTURE_S;
    }

    /// The screens, of letters that are typed only some.
    fn frames(&self) -> Vec<Frame> {
        let begins = self.screens.iter().map(|(at_s, _)| *at_s);
        let ends = begins.clone().skip(1).chain([self.now_s]);
        let mut letters = 0;
        let mut frames: Vec<Frame> = Vec::new();
        for (((_, screen), from_s), to_s) in self.screens.iter().zip(begins).zip(ends) {
            let is_letter = to_s - from_s < LETTER_S * 1.5;
            letters = if is_letter { letters + 1 } else { 0 };
            match frames.last_mut() {
                Some(last) if is_letter && letters % LETTERS_AT_ONCE != 0 => last.to_s = to_s,
                _ => frames.push(Frame { screen: screen.clone(), from_s, to_s }),
            }
        }
        let first_s = frames.first().map_or(0.0, |frame| frame.from_s);
        frames.iter_mut().for_each(|frame| {
            frame.from_s -= first_s;
            frame.to_s -= first_s;
        });
        frames
    }

    /// In asciinema's format, version 2.
    fn cast(&self) -> String {
        let head = serde_json::json!({
            "version": 2, "width": COLUMNS, "height": ROWS, "title": TITLE,
            "env": { "TERM": "xterm-256color" },
        });
        let event = |(time, text): &(f64, String)| {
            let time = (time * 100.0).round() / 100.0;
            format!("{}\n", serde_json::json!([time, "o", text]))
        };
        // The last picture stays for as long as others.
        let end = (self.now_s, String::new());
        format!("{head}\n") + &self.events.iter().chain([&end]).map(event).collect::<String>()
    }

    fn document(&self) -> String {
        let picture = |(title, words, screen): &(&str, &str, String)| {
            format!("\n## {title}\n\n{words}\n\n```text\n{screen}\n```\n")
        };
        let pictures: String = self.pictures.iter().map(picture).collect();
        format!("{HEAD}{pictures}")
    }
}

const HEAD: &str = "\
# A session in the terminal

`docs/terminal.cast` is a recording of the pictures below and what lies between them, in the format of
[asciinema](https://asciinema.org): `asciinema play docs/terminal.cast`, or any player of that format.
`docs/terminal.svg` is the same as a picture that moves.

All three are made by `cargo xtask cast`. It drives the real program in a pseudo-terminal of 80 columns and 24 lines; tine's
simulator answers in the place of a model, with words that were written beforehand
(`crates/tine/examples/cast/script.rs`, where the whole session stands). Its times are made: letters come evenly, and each
change can be read. Figures are the simulator's, ids are made.
";
