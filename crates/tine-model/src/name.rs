//! Names of agents: which may be given, and which agent a word means.

use crate::{AgentId, AgentPrefix};

/// Longest name of an agent, in characters: it has to fit into a line of a list.
pub const NAME_CHARS_MAX: usize = 64;

/// Why a text cannot be the name of an agent.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// There is nothing to type.
    #[error("it is empty")]
    Empty,
    /// More than [`NAME_CHARS_MAX`] characters.
    #[error("it has more than 64 characters")]
    TooLong,
    /// It could not be typed as one word, or would break the line in which it is shown.
    #[error("it holds blanks or control characters")]
    Blank,
    /// A command would read it as an option.
    #[error("it begins with a dash, like an option")]
    Dash,
    /// A word that reads as the beginning of an id could mean another agent.
    #[error("it could be the beginning of an agent's id")]
    LikeId,
}

/// Checks a new name of an agent. Names that the store has already are not checked again.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.trim().is_empty() {
        Err(NameError::Empty)
    } else if name.chars().count() > NAME_CHARS_MAX {
        Err(NameError::TooLong)
    } else if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err(NameError::Blank)
    } else if name.starts_with('-') {
        Err(NameError::Dash)
    } else if AgentPrefix::parse(name).is_ok() || name.parse::<AgentId>().is_ok() {
        Err(NameError::LikeId)
    } else {
        Ok(())
    }
}

/// An agent, as far as a word can mean it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: Option<&'a str>,
    /// True unless it is dead.
    pub is_alive: bool,
}

/// Why a word means no agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordError {
    /// No agent has this name, or an id that begins so.
    Unknown,
    /// More than one agent is meant: these.
    Ambiguous(Vec<AgentId>),
}

/// Finds the agent that a word means: by its whole id, its name, or the beginning of its id. The name of a dead agent counts where no
/// living agent has it. A word that could mean two agents means none. Agents come the oldest first.
pub fn meant<'a>(
    word: &str,
    agents: impl Iterator<Item = Named<'a>> + Clone,
) -> Result<AgentId, WordError> {
    if let Ok(id) = word.parse::<AgentId>() {
        // A whole id: no name may stand in for another agent.
        let mut all = agents;
        return all.find(|agent| agent.id == id).map(|_| id).ok_or(WordError::Unknown);
    }
    let bearers = agents.clone().filter(|agent| agent.name == Some(word));
    let living = bearers.clone().find(|agent| agent.is_alive);
    let bearer = living.or_else(|| bearers.last()).map(|agent| agent.id);
    let prefix = AgentPrefix::parse(word).ok();
    let begins = |agent: &Named<'_>| prefix.as_ref().is_some_and(|text| text.matches(&agent.id));
    let mut found: Vec<AgentId> = agents.filter(begins).map(|agent| agent.id).collect();
    found.extend(bearer.filter(|bearer| !found.contains(bearer)));
    match found[..] {
        [] => Err(WordError::Unknown),
        [agent] => Ok(agent),
        [..] => Err(WordError::Ambiguous(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_that_can_be_typed_and_is_no_id() {
        for name in ["a", "try-2", "größe", "a/b.c", "abc", "x-cafe", "caféd", "12.5"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(NAME_CHARS_MAX + 1);
        let wrong = [
            ("", NameError::Empty),
            (" ", NameError::Empty),
            (long.as_str(), NameError::TooLong),
            ("a b", NameError::Blank),
            ("a\u{1b}[31m", NameError::Blank),
            ("a\n", NameError::Blank),
            ("-x", NameError::Dash),
            ("cafe", NameError::LikeId),
            ("CAFE", NameError::LikeId),
            ("2026", NameError::LikeId),
            ("ca-fe-1", NameError::LikeId),
            ("e6cc4983-0000-4000-8000-000000000000", NameError::LikeId),
            ("{e6cc4983-0000-4000-8000-000000000000}", NameError::LikeId),
        ];
        for (name, why) in wrong {
            assert_eq!(check_name(name), Err(why), "{name:?}");
        }
    }

    #[test]
    fn a_word_that_could_mean_two_agents_means_none() {
        let ids = [[0xab; 16], [0xcd; 16], [0xef; 16]].map(AgentId::from_random);
        let [first, second, third] = ids;
        let agents = [
            Named { id: first, name: Some("plan"), is_alive: false },
            Named { id: second, name: Some("abab"), is_alive: true },
            Named { id: third, name: Some("plan"), is_alive: true },
        ];
        let of = |word: &str| meant(word, agents.iter().copied());
        assert_eq!(of("plan"), Ok(third), "the living one");
        assert_eq!(of("abab"), Err(WordError::Ambiguous(vec![first, second])));
        assert_eq!(of("ababa"), Ok(first));
        assert_eq!(of(&first.to_string()), Ok(first));
        assert_eq!(of("CDCD"), Ok(second));
        for unknown in ["", "cdc", "nobody", "cdce"] {
            assert_eq!(of(unknown), Err(WordError::Unknown), "{unknown}");
        }
        let dead = meant("plan", agents[..2].iter().copied());
        assert_eq!(dead, Ok(first), "nobody who lives has the name");
    }
}
