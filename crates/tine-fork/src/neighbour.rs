//! Other agents that write where a run writes.

use tine_model::AgentId;

use crate::envelope::escape_frame_line;

/// Neighbours that are named in one line; of more there is a number.
const NAMED_MAX: usize = 3;

/// Another agent that changes files of the run's directory, of one above it or of one below it, at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Who.
    pub agent: AgentId,
    /// Its name.
    pub name: Option<String>,
    /// Where it works.
    pub directory: String,
}

impl Neighbour {
    /// What a model is told at the end of a call's result, and a person beside it: on one line, without a full stop. There must
    /// be at least one.
    pub fn note(neighbours: &[Self]) -> String {
        if let [one] = neighbours {
            return format!(
                "{NOTE} {} {ALSO}s in {}",
                one.called(),
                escape_frame_line(&one.directory)
            );
        }
        let one = |neighbour: &Self| {
            format!("{} in {}", neighbour.called(), escape_frame_line(&neighbour.directory))
        };
        let named: Vec<String> = neighbours.iter().take(NAMED_MAX).map(one).collect();
        let more = match neighbours.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{NOTE}s {}{more} {ALSO} here", named.join(", "))
    }

    fn called(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        format!("{}{name}", self.agent.short())
    }
}

/// How the note begins, and how it goes on behind the agents.
const NOTE: &str = "note: agent";
const ALSO: &str = "also write";

/// Whether a line of a result is such a note, which no summary of the result needs.
pub fn is_note_of_neighbours(line: &str) -> bool {
    line.starts_with(NOTE) && line.contains(ALSO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_a_few_and_counts_the_rest() {
        let neighbour = |number: u8| Neighbour {
            agent: AgentId::from_bytes([number; 16]),
            name: (number == 2).then(|| "tidy".to_owned()),
            directory: "/work".to_owned(),
        };
        let all: Vec<Neighbour> = (1..=5).map(neighbour).collect();
        let notes = [1, 2, 3, 5].map(|count| Neighbour::note(&all[..count]));
        assert!(notes.iter().all(|note| is_note_of_neighbours(note)));
        insta::assert_snapshot!(notes.join("\n"), @"
        note: agent 01010101 also writes in /work
        note: agents 01010101 in /work, 02020202 (tidy) in /work also write here
        note: agents 01010101 in /work, 02020202 (tidy) in /work, 03030303 in /work also write here
        note: agents 01010101 in /work, 02020202 (tidy) in /work, 03030303 in /work and 2 more also write here
        ");
    }
}
