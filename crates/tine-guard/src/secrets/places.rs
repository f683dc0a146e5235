//! Lists of places, arranged so that a walk can ask them for some hundred thousand paths.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::copied;
use super::lists::{OPEN, PLACES, PUBLIC, STORES};

/// Places of one list by their first words.
#[derive(Debug)]
pub(super) struct Places(HashMap<&'static str, Vec<Vec<&'static str>>>);

impl Places {
    /// Key stores below a home.
    pub(super) fn stores() -> &'static Self {
        static STORED: LazyLock<Places> = LazyLock::new(|| Places::of(&STORES));
        &STORED
    }

    /// What of those stores is no secret.
    pub(super) fn open() -> &'static Self {
        static OPENED: LazyLock<Places> = LazyLock::new(|| Places::of(&OPEN));
        &OPENED
    }

    /// What the system keeps to itself.
    pub(super) fn private() -> &'static Self {
        static PRIVATE: LazyLock<Places> = LazyLock::new(|| Places::of(&PLACES));
        &PRIVATE
    }

    /// Certificates and public keys.
    pub(super) fn public() -> &'static Self {
        static SHOWN: LazyLock<Places> = LazyLock::new(|| Places::of(&PUBLIC));
        &SHOWN
    }

    fn of(list: &[&'static str]) -> Self {
        let mut places: HashMap<_, Vec<Vec<_>>> = HashMap::new();
        for place in list {
            let mut words = place.split('/').filter(|word| !word.is_empty());
            if let Some(first) = words.next() {
                places.entry(first).or_default().push(words.collect());
            }
        }
        Self(places)
    }

    /// Returns true if the words are those of a place, or go on below it. A copy of a name counts as that name.
    pub(super) fn hold(&self, words: &[Cow<'_, str>]) -> bool {
        let Some((first, below)) = words.split_first() else { return false };
        let below_it = |place: &Vec<&str>| {
            place.len() <= below.len() && place.iter().zip(below).all(|(part, word)| is(word, part))
        };
        copied(first).filter_map(|first| self.0.get(first)).flatten().any(below_it)
    }
}

/// Returns true if a word is this name, or a copy of what has it.
fn is(word: &str, name: &str) -> bool {
    word == name || word.starts_with(name) && copied(word).any(|copied| copied == name)
}
