//! What is known of a text that a command will get.

use std::collections::{BTreeMap, BTreeSet};

/// Most texts that a variable is followed through; loops over words that are written out have about as many.
const TEXTS_MAX: usize = 40;

/// Bytes that a text takes beside its own.
const TEXT_BYTES: usize = 32;

/// What is known of a variable's text, or of what a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// One of these, which stand in the command.
    Texts(BTreeSet<Text>),
    /// Digits, perhaps with a sign.
    Number,
    /// Names of files or the like that are there already, or a text whose beginning is known; no option.
    Names,
    /// Lines that begin with a number and a colon or blank.
    Numbered,
    /// Anything.
    Any,
}

/// A text that stands in the command.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text {
    pub(super) text: String,
    /// Whether it begins with a `~` that is the home directory.
    pub(super) home: bool,
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Texts(BTreeSet::from([Text { text: text.to_owned(), home: false }]))
    }

    /// The home directory.
    pub(super) fn home() -> Self {
        Self::Texts(BTreeSet::from([Text { text: "~".to_owned(), home: true }]))
    }

    /// The one text that it is.
    pub(super) fn only(&self) -> Option<&str> {
        match self {
            Self::Texts(texts) if texts.len() == 1 => {
                texts.first().filter(|text| !text.home).map(|text| text.text.as_str())
            }
            _ => None,
        }
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Number => true,
            Self::Texts(texts) => texts.iter().all(|text| is_number(&text.text) && !text.home),
            Self::Names | Self::Numbered | Self::Any => false,
        }
    }

    /// Whether none of its words may be taken for an option.
    pub(super) fn is_names(&self) -> bool {
        match self {
            Self::Number | Self::Names => true,
            Self::Texts(texts) => texts
                .iter()
                .all(|text| text.text.split_whitespace().all(|word| !word.starts_with('-'))),
            Self::Numbered | Self::Any => false,
        }
    }

    /// What is known where it is one or the other.
    pub(super) fn or(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        match (self, other) {
            (Self::Texts(mut texts), Self::Texts(more)) => {
                texts.extend(more);
                let all = Self::Texts(texts);
                match &all {
                    Self::Texts(texts) if texts.len() > TEXTS_MAX => all.without_texts(),
                    _ => all,
                }
            }
            (one, other) if one.is_number() && other.is_number() => Self::Number,
            (one, other) if one.is_names() && other.is_names() => Self::Names,
            _ => Self::Any,
        }
    }

    /// Less is known: its texts are given up.
    pub(super) fn without_texts(self) -> Self {
        match self {
            Self::Texts(_) if self.is_number() => Self::Number,
            Self::Texts(_) if self.is_names() => Self::Names,
            Self::Texts(_) => Self::Any,
            other => other,
        }
    }
}

/// Whether the text is a whole number, perhaps with a sign.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The variables that a text has set so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables(BTreeMap<String, Value>);

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Nothing is known any more of what was set.
    pub(super) fn forget(&mut self) {
        self.0.values_mut().for_each(|value| *value = Value::Any);
    }

    /// Returns about how many bytes a copy takes.
    pub(super) fn bytes(&self) -> usize {
        let of = |value: &Value| match value {
            Value::Texts(texts) => texts.iter().map(|text| TEXT_BYTES + text.text.len()).sum(),
            Value::Number | Value::Names | Value::Numbered | Value::Any => 0,
        };
        self.0.iter().map(|(name, value)| TEXT_BYTES + name.len() + of(value)).sum()
    }

    /// What holds where the commands in between may have run or not. A name that only one side knows may still be what it
    /// was before.
    pub(super) fn or(self, other: &Self) -> Self {
        let mut all = BTreeMap::new();
        for name in self.0.keys().chain(other.0.keys()) {
            // Names that a text may set stand in nobody's environment.
            let outside = || {
                if super::names::may_be_set(name) {
                    Value::text("")
                } else {
                    super::names::from_outside(name).unwrap_or(Value::Any)
                }
            };
            let one = self.0.get(name).cloned().unwrap_or_else(outside);
            let two = other.0.get(name).cloned().unwrap_or_else(outside);
            all.insert(name.clone(), one.or(two));
        }
        Self(all)
    }

    /// The same names with less known of each that differs.
    pub(super) fn widened(self, before: &Self) -> Self {
        let widen = |(name, value): (String, Value)| {
            let same = before.0.get(&name) == Some(&value);
            let value = if same { value } else { value.without_texts() };
            (name, value)
        };
        Self(self.0.into_iter().map(widen).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_an_option_stays_so() {
        let option = Value::text("-o");
        assert_eq!(Value::text("a").or(Value::Names), Value::Names);
        assert_eq!(option.clone().or(Value::Names), Value::Any);
        assert_eq!(Value::text("a -o").or(Value::Names), Value::Any);
        assert_eq!(Value::text("5").or(Value::Number), Value::Number);
        assert_eq!(Value::Number.or(Value::Names), Value::Names);
        assert_eq!(option.without_texts(), Value::Any);
    }
}
