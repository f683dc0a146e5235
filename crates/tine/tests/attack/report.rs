//! What a group of attacks came to, as a row of the table of its ground.

use std::fs::File;
use std::io::Write as _;

use tine_testkit::not_run;

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
    /// Names of attempts that got through and that this ground is known not to withstand.
    pub(crate) known: Vec<String>,
    /// Why not, or what else is to be said.
    pub(crate) note: &'static str,
}

impl Row {
    /// A group of which nothing got through.
    pub(crate) fn new(group: impl Into<String>, attempts: usize) -> Self {
        let (escaped, unasked, known) = (Vec::new(), Vec::new(), Vec::new());
        Self { group: group.into(), attempts, escaped, unasked, known, note: "" }
    }

    /// Writes the row down and prints it; fails where something got through, where fewer than `attempts_min` were tried, or where
    /// more than `known_max` were known to get through. Fewer are as good: programs and kernels differ.
    #[expect(clippy::print_stdout, reason = "a test says what came of it")]
    pub(crate) fn settle(self, ground: Ground, attempts_min: usize, known_max: usize) {
        let cells = [
            ground.name(),
            &self.group,
            &self.attempts.to_string(),
            &self.escaped.len().to_string(),
            &self.unasked.len().to_string(),
            &self.known.len().to_string(),
            self.note,
        ];
        write_down(&cells.join("\t"));
        println!("attack: {}", cells.join(" | "));
        assert_eq!(self.escaped, [""; 0], "{} on {}: escaped", self.group, ground.name());
        assert_eq!(self.unasked, [""; 0], "{} on {}: unasked", self.group, ground.name());
        assert!(self.attempts >= attempts_min, "{}: only {}", self.group, self.attempts);
        let is_known = self.known.len() <= known_max;
        assert!(
            is_known,
            "{} on {}: more than {known_max} got through: {:?}",
            self.group,
            ground.name(),
            self.known
        );
    }
}

/// Returns true where the machine lacks this ground, and writes the group down as not run.
pub(crate) fn cannot_run(group: &str, ground: Ground) -> bool {
    let Some((needs, reason)) = ground.missing() else { return false };
    not_run(needs, &format!("{group} on {}", ground.name()), &reason);
    write_down(&format!("{}\t{group}\tNOT RUN\t\t\t\t{reason}", ground.name()));
    true
}

fn write_down(row: &str) {
    let Some(path) = std::env::var_os(ROWS) else { return };
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    // One write, so that the rows of several processes do not mix.
    file.write_all(format!("{row}\n").as_bytes()).unwrap();
}
