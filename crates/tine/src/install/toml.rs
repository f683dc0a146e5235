//! Codex's settings: a table of tine's own at the end of the file. A parser says where it stands; every other byte is left alone.

use std::ops::Range;

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, Value};

use super::{NAME, Rest, newline, split_mark};

/// The table that lists servers by name.
const LIST: &str = "mcp_servers";

/// An entry, as far as tine reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
    /// False where the person has switched it off, or where it is no program.
    pub(super) starts: bool,
}

/// The text of a settings file that holds an entry and nothing else.
pub(super) fn new_file(entry: &Entry) -> String {
    table(entry, "\n")
}

/// The entry of tine, if there is one. Fails where the text is no settings file.
pub(super) fn entry(text: &str) -> Result<Option<Entry>, String> {
    let document = parse(split_mark(text).1)?;
    let Some(tine) = found(document.as_table())? else { return Ok(None) };
    let text_of = |item: Option<&Item>| item.and_then(Item::as_str).unwrap_or_default().to_owned();
    let arguments = tine.get("args").and_then(Item::as_array).into_iter().flatten();
    let is_enabled = tine.get("enabled").is_none_or(|enabled| enabled.as_bool() == Some(true));
    Ok(Some(Entry {
        command: text_of(tine.get("command")),
        arguments: arguments.map(|value| value.as_str().unwrap_or_default().to_owned()).collect(),
        starts: is_enabled && tine.get("url").is_none(),
    }))
}

/// The text with an entry in it, which must not be there yet.
pub(super) fn insert(text: &str, entry: &Entry) -> Result<String, String> {
    let (mark, body) = split_mark(text);
    let document = parse(body)?;
    // Only to refuse what is no list of servers.
    found(document.as_table())?;
    let inline = document.get(LIST).is_some_and(Item::is_inline_table);
    let after = if inline {
        changed(body, |root| {
            let list = root.get_mut(LIST).and_then(Item::as_inline_table_mut);
            list.map(|list| list.insert(NAME, inline_table(entry).into())).is_some()
        })?
    } else {
        let newline = newline(body);
        let table = table(entry, newline);
        match body.is_empty() || body.ends_with('\n') {
            true => format!("{body}{newline}{table}"),
            // A file whose last line has no end keeps that, which says that there was none.
            false => format!("{body}{newline}{newline}{}", table.trim_end()),
        }
    };
    Ok(format!("{mark}{after}"))
}

/// The settings without tine's entry; `None` where there is none.
pub(super) fn remove(text: &str) -> Result<Option<Rest>, String> {
    let Some(entry) = entry(text)? else { return Ok(None) };
    if let Some(made) = Rest::of_new_file(text, &new_file(&entry)) {
        return Ok(Some(made));
    }
    let (mark, body) = split_mark(text);
    let document = parse(body)?;
    let own = document.get(LIST).and_then(|list| list.get(NAME)).and_then(Item::as_table);
    let Some(own) = own.filter(|own| !own.is_dotted()) else {
        let after = changed(body, |root| {
            let list = root.get_mut(LIST).and_then(Item::as_table_like_mut);
            list.is_some_and(|list| list.remove(NAME).is_some())
        })?;
        return Ok(Some(Rest::Text(format!("{mark}{after}"))));
    };
    let mut ranges = Vec::new();
    add_ranges(body, own, &mut ranges);
    ranges.sort_by_key(|range| range.start);
    let mut after = String::with_capacity(text.len());
    after.push_str(mark);
    let mut at = 0;
    for range in ranges {
        let ends_without_newline = range.end == body.len() && !body.ends_with('\n');
        after.push_str(without_blank_line(&body[at..range.start], ends_without_newline));
        at = range.end;
    }
    after.push_str(&body[at..]);
    Ok(Some(Rest::Text(after)))
}

fn parse(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..place].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{} on line {line}", error.message())
    })
}

fn found(root: &Table) -> Result<Option<&dyn toml_edit::TableLike>, String> {
    let Some(list) = root.get(LIST) else { return Ok(None) };
    let list = list.as_table_like().ok_or_else(|| format!("`{LIST}` is not a table"))?;
    let Some(tine) = list.get(NAME) else { return Ok(None) };
    tine.as_table_like().map(Some).ok_or_else(|| format!("`{LIST}.{NAME}` is not a table"))
}

fn table(entry: &Entry, newline: &str) -> String {
    let lines: Vec<String> = inline_table(entry)
        .iter()
        .map(|(key, value)| format!("{key} = {}{newline}", value.to_string().trim()))
        .collect();
    format!("[{LIST}.{NAME}]{newline}{}", lines.concat())
}

fn inline_table(entry: &Entry) -> InlineTable {
    let arguments: Array = entry.arguments.iter().map(String::as_str).collect();
    let fields = [("command", Value::from(entry.command.as_str())), ("args", arguments.into())];
    fields.into_iter().collect()
}

/// The text after a change by the parser's own editor, for forms that tine does not write. That editor ends lines in one way, and ends
/// the last one, too. Fails where it would change other bytes as well.
fn changed(text: &str, change: impl FnOnce(&mut Table) -> bool) -> Result<String, String> {
    let plain = text.replace("\r\n", "\n");
    let is_plain = plain == text;
    let has_end = plain.ends_with('\n');
    let written = |document: &DocumentMut| {
        let written = document.to_string();
        let written = match has_end {
            true => written.as_str(),
            false => written.strip_suffix('\n').unwrap_or(&written),
        };
        if is_plain { written.to_owned() } else { written.replace('\n', "\r\n") }
    };
    let mut document = parse(&plain)?.into_mut();
    if written(&document) == text && change(document.as_table_mut()) {
        return Ok(written(&document));
    }
    Err(format!("`{LIST}` is written in a way that cannot be changed without changing more"))
}

/// The lines of a table and of all tables below it, without the comments and blank lines in front of their headers.
fn add_ranges(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        let end = last_value_end(table).unwrap_or_default().max(header.end);
        let start = text[..header.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        ranges.push(start..end);
    }
    for (_, item) in table {
        match item {
            Item::Table(below) => add_ranges(text, below, ranges),
            Item::ArrayOfTables(all) => {
                all.iter().for_each(|below| add_ranges(text, below, ranges))
            }
            Item::Value(_) | Item::None => {}
        }
    }
}

/// The end of the last value of a table, those of dotted keys included.
fn last_value_end(table: &Table) -> Option<usize> {
    let end = |item: &Item| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(below) if below.is_dotted() => last_value_end(below),
        Item::Table(_) | Item::ArrayOfTables(_) | Item::None => None,
    };
    table.iter().filter_map(|(_, item)| end(item)).max()
}

/// The text in front of a table without the blank line above it; where the file ended without a newline, without that one, too.
fn without_blank_line(text: &str, ends_without_newline: bool) -> &str {
    match without_newline(text) {
        Some(rest) if rest.is_empty() => rest,
        Some(rest) => match without_newline(rest) {
            Some(line) if ends_without_newline => line,
            Some(_) => rest,
            None => text,
        },
        None => text,
    }
}

fn without_newline(text: &str) -> Option<&str> {
    let text = text.strip_suffix('\n')?;
    Some(text.strip_suffix('\r').unwrap_or(text))
}
