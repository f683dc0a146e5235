//! Reach: what the commands and file tools of an agent may touch. It is stored with the agent.
//!
//! Reaches are partially ordered. A run has the narrower of the stored and the requested reach, and the fork transaction
//! narrows a child's to its parent's. Only a person's option stores a wider one.

use std::path::PathBuf;

use crate::NetworkReach;

/// Where the tools of an agent may write by themselves, and what they may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Writes {
    /// Wherever the user can: there is no wall.
    #[default]
    Anywhere,
    /// In the agent's directory: for workers, which build and test. Secrets are not read.
    Directory,
    /// Nowhere. Commands read programs and the agent's directory alone; secrets are not read.
    Nowhere,
    /// The same, but in this directory of notes, which must exist.
    Notes(PathBuf),
}

/// What the commands and file tools of an agent may touch. Reaches are ordered by [`Reach::is_within`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Where they may write by themselves.
    pub writes: Writes,
    /// More directories that they may write in. Those that do not exist are left out. Without a meaning where `writes` is
    /// [`Writes::Anywhere`].
    pub writable: Vec<PathBuf>,
    /// Where commands may connect to. Without a meaning where `writes` is [`Writes::Anywhere`].
    pub network: NetworkReach,
}

impl Default for Reach {
    fn default() -> Self {
        Self::open()
    }
}

impl Reach {
    /// The widest reach: all that the user can touch.
    pub const fn open() -> Self {
        Self { writes: Writes::Anywhere, writable: Vec::new(), network: NetworkReach::none() }
    }

    /// The reach of a worker: its directory, without the network.
    pub const fn directory() -> Self {
        Self { writes: Writes::Directory, writable: Vec::new(), network: NetworkReach::none() }
    }

    /// A reach without any place to write in, and without the network.
    pub const fn read_only() -> Self {
        Self { writes: Writes::Nowhere, writable: Vec::new(), network: NetworkReach::none() }
    }

    /// A reach that writes notes and nothing else, without the network.
    pub const fn notes(directory: PathBuf) -> Self {
        Self {
            writes: Writes::Notes(directory),
            writable: Vec::new(),
            network: NetworkReach::none(),
        }
    }

    /// Whether there is no wall.
    pub fn is_open(&self) -> bool {
        self.writes == Writes::Anywhere
    }

    /// The word used in the store, in `--json` and by `--confine`.
    pub fn as_str(&self) -> &'static str {
        match self.writes {
            Writes::Anywhere => "open",
            Writes::Directory => "directory",
            Writes::Nowhere => "read-only",
            Writes::Notes(_) => "notes",
        }
    }

    /// The reach in words, for people.
    pub fn describe(&self) -> String {
        let writes = match &self.writes {
            Writes::Anywhere => {
                return "open: commands and file tools touch what you can".to_owned();
            }
            Writes::Directory => "commands write only in the directory",
            Writes::Nowhere => "commands write nothing",
            Writes::Notes(_) => "commands write only notes",
        };
        let more = match self.writable.as_slice() {
            [] => String::new(),
            paths => {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                format!(" and in {}", paths.join(", "))
            }
        };
        let network = if self.network.is_none() {
            "no network".to_owned()
        } else {
            format!("network: {}", self.network)
        };
        format!("confined: {writes}{more}, {network}")
    }

    /// Whether this reach touches nothing that `other` does not. A partial order: of two reaches neither may be within the other.
    /// Directories are compared as they are written.
    pub fn is_within(&self, other: &Self) -> bool {
        if other.is_open() || self.is_open() {
            return other.is_open();
        }
        let writes = match (&self.writes, &other.writes) {
            (Writes::Nowhere, _) => true,
            (own, others) => own == others,
        };
        writes
            && self.network.is_within(&other.network)
            && self.named().all(|path| other.named().any(|others| others == path))
    }

    /// The widest reach within both: what is stored and what is wished for. What cannot be compared is intersected.
    pub fn narrowed(&self, wished: &Self) -> Self {
        if self.is_within(wished) {
            return self.clone();
        }
        if wished.is_within(self) {
            return wished.clone();
        }
        let writes =
            if self.writes == wished.writes { self.writes.clone() } else { Writes::Nowhere };
        let own = match &writes {
            Writes::Notes(notes) => Some(notes),
            Writes::Anywhere | Writes::Directory | Writes::Nowhere => None,
        };
        let both = self.named().filter(|path| wished.named().any(|others| others == *path));
        let mut writable: Vec<PathBuf> = both.filter(|path| Some(*path) != own).cloned().collect();
        writable.dedup();
        Self { writable, network: self.network.narrowed(&wished.network), writes }
    }

    /// The directories that are written by name.
    fn named(&self) -> impl Iterator<Item = &PathBuf> {
        let notes = match &self.writes {
            Writes::Notes(notes) => Some(notes),
            Writes::Anywhere | Writes::Directory | Writes::Nowhere => None,
        };
        notes.into_iter().chain(&self.writable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reach that two directories can make.
    fn all() -> Vec<Reach> {
        let [a, b] = ["/a", "/b"].map(PathBuf::from);
        let named = [vec![], vec![a.clone()], vec![b.clone()], vec![a.clone(), b.clone()]];
        let writes = [Writes::Directory, Writes::Nowhere, Writes::Notes(a), Writes::Notes(b)];
        let mut all = vec![Reach::open()];
        for writes in writes {
            for writable in &named {
                for network in networks() {
                    let (writes, writable) = (writes.clone(), writable.clone());
                    all.push(Reach { writes, writable, network });
                }
            }
        }
        all
    }

    /// Of these, none is within another but the first.
    fn networks() -> [NetworkReach; 3] {
        let [a, b] = ["*.a.io:443", "b.a.io"].map(|text| text.parse().unwrap());
        [NetworkReach::none(), a, b]
    }

    #[test]
    fn reaches_are_partially_ordered() {
        for a in &all() {
            assert!(a.is_within(a) && a.is_within(&Reach::open()), "{a:?}");
            assert_eq!(Reach::open().is_within(a), a.is_open());
            for b in &all() {
                for c in &all() {
                    assert!(
                        !(a.is_within(b) && b.is_within(c)) || a.is_within(c),
                        "{a:?} {b:?} {c:?}"
                    );
                }
            }
        }
    }

    /// A law over all triples: narrowed is within both, and nothing that is within both is wider.
    #[test]
    fn narrowed_is_the_widest_reach_within_both() {
        for a in &all() {
            for b in &all() {
                let narrowed = a.narrowed(b);
                assert!(narrowed.is_within(a) && narrowed.is_within(b), "{a:?} {b:?}");
                assert_eq!(narrowed.narrowed(b), narrowed);
                for c in all().iter().filter(|c| c.is_within(a) && c.is_within(b)) {
                    assert!(
                        c.is_within(&narrowed),
                        "{a:?} {b:?}: {c:?} is not within {narrowed:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_reach_is_told_in_words() {
        let words = |reach: Reach| format!("{}: {}", reach.as_str(), reach.describe());
        assert_eq!(words(Reach::open()), "open: open: commands and file tools touch what you can");
        let worker = Reach {
            writable: vec!["/c".into()],
            network: NetworkReach::internet(),
            ..Reach::directory()
        };
        assert_eq!(
            words(worker),
            "directory: confined: commands write only in the directory and in /c, network: internet"
        );
        assert_eq!(
            words(Reach::read_only()),
            "read-only: confined: commands write nothing, no network"
        );
    }
}
