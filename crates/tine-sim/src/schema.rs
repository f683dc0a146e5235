//! Schemas of requests: which members a request may have, and where it has others. Values are not judged here.

use serde_json::{Map, Value};

/// The shape of a place of a request.
#[derive(Debug)]
pub(crate) enum Shape {
    /// An object.
    Object {
        /// Members that may hold anything, which others share.
        common: &'static [&'static str],
        /// Further members that may hold anything.
        own: &'static [&'static str],
        /// Members that are looked into.
        inner: &'static [(&'static str, Shape)],
    },
    /// A list whose elements all have one shape.
    List(&'static Shape),
    /// An object that says in a member which of several it is. One that says nothing is the first; others are not judged.
    OneOf {
        /// The member that says it.
        tag: &'static str,
        /// Each word of the tag, with the shape.
        variants: &'static [(&'static str, Shape)],
    },
}

impl Shape {
    /// An object whose members may hold anything.
    pub(crate) const fn plain(members: &'static [&'static str]) -> Self {
        Self::object(members, &[])
    }

    /// An object of members that may hold anything, and of others that are looked into.
    pub(crate) const fn object(
        own: &'static [&'static str],
        inner: &'static [(&'static str, Self)],
    ) -> Self {
        Self::Object { common: &[], own, inner }
    }
}

/// The rule by which names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Letter by letter.
    Exact,
    /// `snake_case` and `camelCase` are one, as in every API of Google.
    Google,
}

/// A step on the way to a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Into a member.
    Name(&'a str),
    /// Into an element of a list.
    Index(usize),
    /// Into one of several shapes, by what its tag says. Some validators name it in a place, others do not.
    Tag(&'static str),
}

/// A member that the schema does not have: the way to it, its own name last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stranger<'a> {
    pub(crate) way: Vec<Step<'a>>,
}

impl Stranger<'_> {
    /// The member's own name.
    pub(crate) fn name(&self) -> &str {
        match self.way.last() {
            Some(Step::Name(name)) => name,
            Some(Step::Index(_) | Step::Tag(_)) | None => "",
        }
    }
}

/// The members of a request that its schema does not have, in the order of the request.
pub(crate) fn strangers<'a>(
    fields: &'a Map<String, Value>,
    request: &'static Shape,
    spelling: Spelling,
) -> Vec<Stranger<'a>> {
    let mut search = Search { spelling, way: Vec::new(), found: Vec::new() };
    search.fields(fields, request);
    search.found
}

struct Search<'a> {
    spelling: Spelling,
    way: Vec<Step<'a>>,
    found: Vec<Stranger<'a>>,
}

impl<'a> Search<'a> {
    /// Values of another kind than the shape's are refused elsewhere, or are a shorter form of it.
    fn value(&mut self, value: &'a Value, shape: &'static Shape) {
        match (shape, value) {
            (Shape::List(shape), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.step(Step::Index(index), item, shape);
                }
            }
            (Shape::Object { .. } | Shape::OneOf { .. }, Value::Object(fields)) => {
                self.fields(fields, shape);
            }
            (Shape::List(_) | Shape::Object { .. } | Shape::OneOf { .. }, _) => {}
        }
    }

    fn fields(&mut self, fields: &'a Map<String, Value>, shape: &'static Shape) {
        match shape {
            Shape::Object { common, own, inner } => {
                for (name, value) in fields {
                    let is_same = |known: &str| self.spelling.is_same(known, name);
                    let is_plain = common.iter().chain(*own).any(|known| is_same(known));
                    let looked_into = inner.iter().find(|(known, _)| is_same(known));
                    self.way.push(Step::Name(name));
                    match looked_into {
                        Some((_, shape)) => self.value(value, shape),
                        None if is_plain => {}
                        None => self.found.push(Stranger { way: self.way.clone() }),
                    }
                    self.way.pop();
                }
            }
            Shape::OneOf { tag, variants } => {
                let said = match fields.get(*tag) {
                    None | Some(Value::Null) => variants.first(),
                    Some(said) => variants.iter().find(|(name, _)| said == name),
                };
                if let Some((name, shape)) = said {
                    self.way.push(Step::Tag(name));
                    self.fields(fields, shape);
                    self.way.pop();
                }
            }
            // A list is no object.
            Shape::List(_) => {}
        }
    }

    fn step(&mut self, step: Step<'a>, value: &'a Value, shape: &'static Shape) {
        self.way.push(step);
        self.value(value, shape);
        self.way.pop();
    }
}

impl Spelling {
    fn is_same(self, known: &str, name: &str) -> bool {
        match self {
            Self::Exact => known == name,
            Self::Google => {
                let letters = |name: &str| name.replace('_', "").to_ascii_lowercase();
                letters(known) == letters(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PART: Shape = Shape::OneOf {
        tag: "kind",
        variants: &[
            ("plain", Shape::plain(&["kind", "shortText"])),
            ("other", Shape::plain(&["kind"])),
        ],
    };
    const REQUEST: Shape = Shape::object(&["free"], &[("parts", Shape::List(&PART))]);

    fn found(request: &Value, spelling: Spelling) -> Vec<String> {
        let fields = request.as_object().expect("an object");
        let found = strangers(fields, &REQUEST, spelling);
        found.iter().map(|stranger| format!("{:?} {}", stranger.way, stranger.name())).collect()
    }

    #[test]
    fn strangers_are_found_with_the_way_to_them() {
        let request = json!({"free": {"x": 1}, "parts": [
            {"shortText": "a"}, {"kind": "plain", "x": 1}, {"kind": "other", "shortText": "a"}, {"kind": "later", "x": 1}, "a",
        ], "x": 1});
        insta::assert_debug_snapshot!(found(&request, Spelling::Exact), @r#"
        [
            "[Name(\"parts\"), Index(1), Tag(\"plain\"), Name(\"x\")] x",
            "[Name(\"parts\"), Index(2), Tag(\"other\"), Name(\"shortText\")] shortText",
            "[Name(\"x\")] x",
        ]
        "#);
    }

    #[test]
    fn google_takes_two_spellings_and_others_take_one() {
        let request = json!({"parts": [{"short_text": "a"}]});
        assert_eq!(found(&request, Spelling::Google), Vec::<String>::new());
        assert_eq!(found(&request, Spelling::Exact).len(), 1);
    }
}
