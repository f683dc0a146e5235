//! Settings in JSON, with or without comments. A parser says where things stand; every other byte is left alone.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::Serialize as _;
use serde_json::{Map, Value, json};

use super::{NAME, Rest, newline, split_mark};

/// The field of an entry that says by its place who made the list around it: first where tine did, last where the list was there, empty.
/// Hosts that write their settings anew keep the order.
const PLACED: &str = "type";

/// In front of the member of an object that tine made in a file without any. Nothing stands behind the member then.
const MADE_OBJECT: &str = " ";

/// The place of servers in a host's settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The member of the settings that lists servers by name.
    pub(super) list: &'static str,
    /// The schema that a new file names; the host would write it into the file otherwise.
    pub(super) schema: Option<&'static str>,
}

impl Shape {
    /// The text of a settings file that holds an entry and nothing else.
    pub(super) fn new_file(&self, entry: &Value) -> String {
        let mut settings = Map::new();
        if let Some(schema) = self.schema {
            settings.insert("$schema".to_owned(), schema.into());
        }
        settings.insert(self.list.to_owned(), json!({ NAME: entry }));
        let layout = Layout { newline: "\n", unit: "  ", has_lines: true };
        format!("{}\n", layout.written(&settings.into(), Some("")))
    }

    /// The entry of tine, if there is one. Fails where the text is no settings file.
    pub(super) fn entry(&self, text: &str) -> Result<Option<Value>, String> {
        let document = Document::parse(split_mark(text).1)?;
        Ok(self.found(&document)?.map(|found| found.tine.value.clone().into()))
    }

    /// The text with an entry in it, which must not be there yet.
    pub(super) fn insert(
        &self,
        text: &str,
        mut entry: Map<String, Value>,
    ) -> Result<String, String> {
        let (mark, body) = split_mark(text);
        let document = Document::parse(body)?;
        let layout = Layout::of(&document);
        let Some(root) = &document.root else {
            let list = json!({ NAME: entry });
            let member = layout.member(self.list, &list, None);
            return Ok(format!("{mark}{{{MADE_OBJECT}{member}}}{body}"));
        };
        let edits = match member(root, self.list)? {
            None => document.added(root, &layout, self.list, &json!({ NAME: entry }), Empty::Tight),
            Some(list) => {
                let list = object(list)?;
                if list.properties.is_empty()
                    && let Some(kind) = entry.shift_remove(PLACED)
                {
                    entry.insert(PLACED.to_owned(), kind);
                }
                document.added(list, &layout, NAME, &entry.into(), Empty::Spread)
            }
        };
        Ok(format!("{mark}{}", edited(body, edits)))
    }

    /// The settings without tine's entry; `None` where there is none.
    pub(super) fn remove(&self, text: &str) -> Result<Option<Rest>, String> {
        let (mark, body) = split_mark(text);
        let document = Document::parse(body)?;
        let Some(Found { root, list_member, list, tine }) = self.found(&document)? else {
            return Ok(None);
        };
        let entry = Value::from(tine.value.clone());
        if let Some(made) = Rest::of_new_file(text, &self.new_file(&entry)) {
            return Ok(Some(made));
        }
        let made_list = entry
            .as_object()
            .and_then(|entry| entry.keys().next())
            .is_some_and(|first| first == PLACED);
        let edits = if !document.holds_only(list, tine) {
            document.cut(tine)
        } else if made_list {
            let behind = &body[list_member.range.end..root.range.end - 1];
            let made_object = document.before(list_member) == MADE_OBJECT && behind.is_empty();
            if made_object && document.holds_only(root, list_member) {
                vec![(root.range.start..root.range.end, String::new())]
            } else {
                document.cut(list_member)
            }
        } else if document.before(tine).is_empty() {
            document.cut(tine)
        } else {
            vec![(inside(list), String::new())]
        };
        Ok(Some(Rest::Text(format!("{mark}{}", edited(body, edits)))))
    }

    fn found<'a, 'd>(&self, document: &'d Document<'a>) -> Result<Option<Found<'a, 'd>>, String> {
        let Some(root) = &document.root else { return Ok(None) };
        let Some(list_member) = member(root, self.list)? else { return Ok(None) };
        let list = object(list_member)?;
        Ok(member(list, NAME)?.map(|tine| Found { root, list_member, list, tine }))
    }
}

/// Tine's entry, and what it stands in.
struct Found<'a, 'd> {
    root: &'d Object<'a>,
    list_member: &'d ObjectProp<'a>,
    list: &'d Object<'a>,
    tine: &'d ObjectProp<'a>,
}

/// The place of a new member in an object without members and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// Directly behind the brace, and the blanks that were there follow it.
    Tight,
    /// On lines of its own if there is nothing between the braces, else as above.
    Spread,
}

/// A range of bytes, and what takes its place.
type Edit = (Range<usize>, String);

/// The text with edits, which must come in order.
fn edited(text: &str, edits: Vec<Edit>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The member of this name. Hosts differ in which of two they take, so two are refused.
fn member<'a, 'd>(
    object: &'d Object<'a>,
    name: &str,
) -> Result<Option<&'d ObjectProp<'a>>, String> {
    let mut named = object.properties.iter().filter(|member| member.name.as_str() == name);
    let first = named.next();
    match named.next() {
        None => Ok(first),
        Some(_) => Err(format!("`{name}` stands there twice")),
    }
}

fn object<'a, 'd>(member: &'d ObjectProp<'a>) -> Result<&'d Object<'a>, String> {
    match &member.value {
        Node::Object(object) => Ok(object),
        _ => Err(format!("`{}` is not an object", member.name.as_str())),
    }
}

/// The bytes between the braces.
fn inside(object: &Object<'_>) -> Range<usize> {
    object.range.start + 1..object.range.end - 1
}

struct Document<'a> {
    text: &'a str,
    root: Option<Object<'a>>,
    /// All of them, with comments, in order.
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Document<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let collect =
            CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed =
            parse_to_ast(text, &collect, &JSON_WITH_COMMENTS).map_err(|error| error.to_string())?;
        let root = match parsed.value {
            None => None,
            Some(Node::Object(root)) => Some(root),
            Some(_) => return Err("it holds no object".to_owned()),
        };
        Ok(Self { text, root, tokens: parsed.tokens.unwrap_or_default() })
    }

    fn tokens_in(
        &self,
        range: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = &TokenAndRange<'a>> {
        let inside = move |token: &&TokenAndRange<'_>| {
            range.start <= token.range.start && token.range.end <= range.end
        };
        self.tokens.iter().filter(inside)
    }

    /// The end of the last token or comment before a place; 0 where there is none.
    fn end_before(&self, place: usize) -> usize {
        self.tokens_in(0..place).next_back().map_or(0, |token| token.range.end)
    }

    /// The blanks in front of a member.
    fn before(&self, member: &ObjectProp<'_>) -> &'a str {
        &self.text[self.end_before(member.range.start)..member.range.start]
    }

    /// True where nothing else is in the object, and no comment.
    fn holds_only(&self, object: &Object<'_>, member: &ObjectProp<'_>) -> bool {
        let inside = inside(object);
        let around = [inside.start..member.range.start, member.range.end..inside.end];
        around
            .into_iter()
            .flat_map(|range| self.tokens_in(range))
            .all(|token| token.token == Token::Comma)
            && object.properties.len() == 1
    }

    /// Adds a member behind all others of an object.
    fn added(
        &self,
        object: &Object<'_>,
        layout: &Layout<'_>,
        name: &str,
        value: &Value,
        empty: Empty,
    ) -> Vec<Edit> {
        let inside = inside(object);
        let content = &self.text[inside.clone()];
        let has_lines = content.contains('\n') || (content.is_empty() && layout.has_lines);
        let indent = has_lines.then(|| self.member_indent(object, layout));
        let member = layout.member(name, value, indent.as_deref());
        let lead = match &indent {
            Some(indent) => format!("{}{indent}", layout.newline),
            None => " ".to_owned(),
        };
        let end = self.end_before(inside.end);
        let insert = |at: usize, text: String| (at..at, text);
        match object.properties.last() {
            Some(last) => {
                let mut behind = self.tokens_in(last.range.end..inside.end);
                if behind.any(|token| token.token == Token::Comma) {
                    vec![insert(end, format!("{lead}{member},"))]
                } else {
                    vec![
                        insert(last.range.end, ",".to_owned()),
                        insert(end, format!("{lead}{member}")),
                    ]
                }
            }
            None if end > inside.start => vec![insert(end, format!("{lead}{member}"))],
            None if empty == Empty::Spread && content.is_empty() && has_lines => {
                let outer = line_indent(self.text, object.range.start);
                vec![insert(end, format!("{lead}{member}{}{outer}", layout.newline))]
            }
            None => vec![insert(end, member)],
        }
    }

    /// Takes a member out, with the blanks in front of it and the comma that it needed: the one behind it if there is one, since then the
    /// one in front was there before.
    fn cut(&self, member: &ObjectProp<'_>) -> Vec<Edit> {
        let is_comment = |token: &&TokenAndRange<'_>| {
            matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
        };
        let comma = |token: &TokenAndRange<'_>| {
            (token.token == Token::Comma).then_some(token.range.start..token.range.end)
        };
        let with_blanks = self.end_before(member.range.start)..member.range.end;
        let mut behind = self.tokens_in(member.range.end..self.text.len());
        let mut before = self.tokens_in(0..member.range.start);
        let behind = behind.find(|token| !is_comment(token)).and_then(comma);
        let before = before.rfind(|token| !is_comment(token)).and_then(comma);
        let ranges = match (before, behind) {
            (_, Some(comma)) => vec![with_blanks, comma],
            (Some(comma), None) => vec![comma, with_blanks],
            (None, None) => vec![with_blanks],
        };
        ranges.into_iter().map(|range| (range, String::new())).collect()
    }

    /// The blanks in front of a new member of an object that has lines: those of its last member.
    fn member_indent(&self, object: &Object<'_>, layout: &Layout<'_>) -> String {
        let own_line = object.properties.last().and_then(|last| own_line_indent(self.text, last));
        own_line.map_or_else(
            || format!("{}{}", line_indent(self.text, object.range.start), layout.unit),
            str::to_owned,
        )
    }
}

/// JSON with comments and trailing commas, as OpenCode reads it. Claude Code reads plain JSON, and tells a person itself about comments.
const JSON_WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The blanks at the beginning of the line of a place.
fn line_indent(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The blanks in front of a member that begins its line.
fn own_line_indent<'t>(text: &'t str, member: &ObjectProp<'_>) -> Option<&'t str> {
    let start = text[..member.range.start].rfind('\n')? + 1;
    let blanks = &text[start..member.range.start];
    blanks.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(blanks)
}

/// The layout of a file.
struct Layout<'a> {
    newline: &'static str,
    /// One step of indentation.
    unit: &'a str,
    has_lines: bool,
}

impl<'a> Layout<'a> {
    fn of(document: &Document<'a>) -> Self {
        let text = document.text;
        let root = document.root.as_ref();
        let first = root.and_then(|root| {
            root.properties.iter().find_map(|member| own_line_indent(text, member))
        });
        let unit = first.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        let has_lines =
            root.is_some_and(|root| text[root.range.start..root.range.end].contains('\n'));
        Self { newline: newline(text), unit, has_lines }
    }

    /// A member, on one line where there is no indentation.
    fn member(&self, name: &str, value: &Value, indent: Option<&str>) -> String {
        let colon = if indent.is_some() { ": " } else { ":" };
        format!("{}{colon}{}", Value::from(name), self.written(value, indent))
    }

    fn written(&self, value: &Value, indent: Option<&str>) -> String {
        let Some(indent) = indent else { return value.to_string() };
        let mut bytes = Vec::new();
        let pretty = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        // A value with text as keys can be written, and memory takes it.
        let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty));
        // No string holds a newline: it is escaped there.
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline))
    }
}
