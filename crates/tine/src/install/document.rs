//! Settings in JSON, with or without comments. A parser says where things stand; every other byte is left alone.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::Serialize as _;
use serde_json::Value;

use super::newline;

/// In front of the member of an object that tine made in a file without any. Nothing stands behind the member then.
const MADE_OBJECT: &str = " ";

/// The text of a settings file that tine makes.
pub(super) fn new_file(settings: &Value) -> String {
    let layout = Layout { newline: "\n", unit: "  ", has_lines: true };
    format!("{}\n", layout.written(settings, Some("")))
}

/// The place of a new member in an object without members and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// Directly behind the brace, and the blanks that were there follow it.
    Tight,
    /// On lines of its own if there is nothing between the braces, else as above.
    Spread,
}

/// A range of bytes, and what takes its place.
pub(super) type Edit = (Range<usize>, String);

/// The text with edits, which must come in order.
pub(super) fn edited(text: &str, edits: Vec<Edit>) -> String {
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
pub(super) fn member<'a, 'd>(
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

pub(super) fn object<'a, 'd>(member: &'d ObjectProp<'a>) -> Result<&'d Object<'a>, String> {
    match &member.value {
        Node::Object(object) => Ok(object),
        _ => Err(format!("`{}` is not an object", member.name.as_str())),
    }
}

/// An object that tine makes in a file without any, around a member.
pub(super) fn made_object(member: &str) -> String {
    format!("{{{MADE_OBJECT}{member}}}")
}

/// The bytes of a member.
pub(super) fn span(member: &ObjectProp<'_>) -> Range<usize> {
    member.range.start..member.range.end
}

/// An object or an array: its bytes, and those of its members.
pub(super) struct Frame {
    range: Range<usize>,
    members: Vec<Range<usize>>,
}

impl Frame {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let members = object.properties.iter().map(span).collect();
        Self { range: object.range.start..object.range.end, members }
    }

    pub(super) fn of_array(array: &Array<'_>) -> Self {
        let range = |node: &Node<'_>| node.start()..node.end();
        let members = array.elements.iter().map(range).collect();
        Self { range: array.range.start..array.range.end, members }
    }

    /// The bytes between the braces.
    fn inside(&self) -> Range<usize> {
        self.range.start + 1..self.range.end - 1
    }
}

/// Settings, parsed.
pub(super) struct Document<'a> {
    text: &'a str,
    pub(super) root: Option<Object<'a>>,
    /// All of them, with comments, in order.
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
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
    fn before(&self, member: &Range<usize>) -> &'a str {
        &self.text[self.end_before(member.start)..member.start]
    }

    /// True where nothing else is in the object or array, and no comment.
    pub(super) fn holds_only(&self, frame: &Frame, member: &Range<usize>) -> bool {
        let inside = frame.inside();
        let around = [inside.start..member.start, member.end..inside.end];
        around
            .into_iter()
            .flat_map(|range| self.tokens_in(range))
            .all(|token| token.token == Token::Comma)
            && frame.members.len() == 1
    }

    /// Adds a member behind all others of an object or array. It is written at an indentation, or on one line.
    pub(super) fn added(
        &self,
        frame: &Frame,
        layout: &Layout<'_>,
        member: impl Fn(Option<&str>) -> String,
        empty: Empty,
    ) -> Vec<Edit> {
        let inside = frame.inside();
        let content = &self.text[inside.clone()];
        let has_lines = content.contains('\n') || (content.is_empty() && layout.has_lines);
        let indent = has_lines.then(|| self.member_indent(frame, layout));
        let member = member(indent.as_deref());
        let lead = match &indent {
            Some(indent) => format!("{}{indent}", layout.newline),
            None => " ".to_owned(),
        };
        let end = self.end_before(inside.end);
        let insert = |at: usize, text: String| (at..at, text);
        match frame.members.last() {
            Some(last) => {
                let mut behind = self.tokens_in(last.end..inside.end);
                if behind.any(|token| token.token == Token::Comma) {
                    vec![insert(end, format!("{lead}{member},"))]
                } else {
                    vec![insert(last.end, ",".to_owned()), insert(end, format!("{lead}{member}"))]
                }
            }
            None if end > inside.start => vec![insert(end, format!("{lead}{member}"))],
            None if empty == Empty::Spread && content.is_empty() && has_lines => {
                let outer = line_indent(self.text, frame.range.start);
                vec![insert(end, format!("{lead}{member}{}{outer}", layout.newline))]
            }
            None => vec![insert(end, member)],
        }
    }

    /// Takes a member out, with the blanks in front of it and the comma that it needed: the one behind it if there is one, since then the
    /// one in front was there before.
    pub(super) fn cut(&self, member: &Range<usize>) -> Vec<Edit> {
        let is_comment = |token: &&TokenAndRange<'_>| {
            matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
        };
        let comma = |token: &TokenAndRange<'_>| {
            (token.token == Token::Comma).then_some(token.range.start..token.range.end)
        };
        let with_blanks = self.end_before(member.start)..member.end;
        let mut behind = self.tokens_in(member.end..self.text.len());
        let mut before = self.tokens_in(0..member.start);
        let behind = behind.find(|token| !is_comment(token)).and_then(comma);
        let before = before.rfind(|token| !is_comment(token)).and_then(comma);
        let ranges = match (before, behind) {
            (_, Some(comma)) => vec![with_blanks, comma],
            (Some(comma), None) => vec![comma, with_blanks],
            (None, None) => vec![with_blanks],
        };
        ranges.into_iter().map(|range| (range, String::new())).collect()
    }

    /// Takes a member out of the root that tine has put there, and the root with it where that was made for it.
    pub(super) fn cut_from_root(&self, root: &Object<'_>, member: &ObjectProp<'_>) -> Vec<Edit> {
        let (frame, member) = (Frame::of(root), span(member));
        let behind = &self.text[member.end..root.range.end - 1];
        let is_made = self.before(&member) == MADE_OBJECT && behind.is_empty();
        if is_made && self.holds_only(&frame, &member) {
            vec![(frame.range, String::new())]
        } else {
            self.cut(&member)
        }
    }

    /// Takes the only member out of an object or array that was there, empty.
    pub(super) fn emptied(&self, frame: &Frame, member: &Range<usize>) -> Vec<Edit> {
        if self.before(member).is_empty() {
            self.cut(member)
        } else {
            vec![(frame.inside(), String::new())]
        }
    }

    /// The blanks in front of a new member of an object or array that has lines: those of its last member.
    fn member_indent(&self, frame: &Frame, layout: &Layout<'_>) -> String {
        let own_line = frame.members.last().and_then(|last| own_line_indent(self.text, last));
        own_line.map_or_else(
            || format!("{}{}", line_indent(self.text, frame.range.start), layout.unit),
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
fn own_line_indent<'t>(text: &'t str, member: &Range<usize>) -> Option<&'t str> {
    let start = text[..member.start].rfind('\n')? + 1;
    let blanks = &text[start..member.start];
    blanks.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(blanks)
}

/// The layout of a file.
pub(super) struct Layout<'a> {
    newline: &'static str,
    /// One step of indentation.
    unit: &'a str,
    has_lines: bool,
}

impl<'a> Layout<'a> {
    pub(super) fn of(document: &Document<'a>) -> Self {
        let text = document.text;
        let root = document.root.as_ref();
        let first = root.and_then(|root| {
            root.properties.iter().find_map(|member| own_line_indent(text, &span(member)))
        });
        let unit = first.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        let has_lines =
            root.is_some_and(|root| text[root.range.start..root.range.end].contains('\n'));
        Self { newline: newline(text), unit, has_lines }
    }

    /// A member, on one line where there is no indentation.
    pub(super) fn member(&self, name: &str, value: &Value, indent: Option<&str>) -> String {
        let colon = if indent.is_some() { ": " } else { ":" };
        format!("{}{colon}{}", Value::from(name), self.written(value, indent))
    }

    pub(super) fn written(&self, value: &Value, indent: Option<&str>) -> String {
        let Some(indent) = indent else { return value.to_string() };
        let mut bytes = Vec::new();
        let pretty = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        // A value with text as keys can be written, and memory takes it.
        let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, pretty));
        // No string holds a newline: it is escaped there.
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline))
    }
}
