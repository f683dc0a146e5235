//! What a group of attacks came to, as a row of the table of its ground.

use std::fs::File;
use std::io::Write as _;

use crate::ground::Ground;

/// The environment variable that names the file in which `cargo xtask attack` collects rows.
const ROWS: &str = "TINE_ATTACK_ROWS";

/// The figures of one group on one ground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The group.
    pub(crate) group: String,
    /// What was tried.
    pub(crate) attempts: usize,
    /// Names of attempts that had an effect where none may be, and that nothing explains.
    pub(crate) escaped: Vec<String>,
    /// Names of attempts that took effect although a person should have been asked.
    pub(crate) unasked: Vec<String>,
    /// Attempts that this ground is known not to withstand.
    pub(crate) known: usize,
    /// Why not, or what else is to be said.
    pub(crate) note: &'static str,
}

impl Row {
    /// A group of which nothing got through.
    pub(crate) fn new(group: impl Into<String>, attempts: usize) -> Self {
        let (escaped, unasked) = (Vec::new(), Vec::new());
        Self { group: group.into(), attempts, escaped, unasked, known: 0, note: "" }
    }

    /// Writes the row down and prints it; fails where something got through, or where `attempts_min` or the known figures
    /// differ from what is expected.
    #[expect(clippy::print_stdout, reason = "a test says what came of it")]
    pub(crate) fn settle(self, ground: Ground, attempts_min: usize, known: usize) {
        let cells = [
            ground.name(),
            &self.group,
            &self.attempts.to_string(),
            &self.escaped.len().to_string(),
            &self.unasked.len().to_string(),
            &self.known.to_string(),
            self.note,
        ];
        write_down(&cells.join("\t"));
        println!("attack: {}", cells.join(" | "));
        assert_eq!(self.escaped, [""; 0], "{} on {}: escaped", self.group, ground.name());
        assert_eq!(self.unasked, [""; 0], "{} on {}: unasked", self.group, ground.name());
        assert!(self.attempts >= attempts_min, "{}: only {}", self.group, self.attempts);
        assert_eq!(self.known, known, "{} on {}: the known figure", self.group, ground.name());
    }
}

/// Returns true, and says so loudly, where the machine lacks this ground.
#[expect(clippy::print_stdout, reason = "a test says what it could not try")]
pub(crate) fn cannot_run(group: &str, ground: Ground) -> bool {
    let Some(reason) = ground.missing() else { return false };
    println!("NOT RUN: {group} on {}: {reason}", ground.name());
    write_down(&format!("{}\t{group}\tNOT RUN\t\t\t\t{reason}", ground.name()));
    true
}

fn write_down(row: &str) {
    let Some(path) = std::env::var_os(ROWS) else { return };
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    // One write, so that the rows of several processes do not mix.
    file.write_all(format!("{row}\n").as_bytes()).unwrap();
}
