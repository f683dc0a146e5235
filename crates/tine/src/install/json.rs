//! A list of servers in settings in JSON.

use jsonc_parser::ast::{Object, ObjectProp};
use serde_json::{Map, Value, json};

use super::document::{
    Document, Empty, Frame, Layout, edited, made_object, member, new_file, object, span,
};
use super::{NAME, Rest, split_mark};

/// The field of an entry that says by its place who made the list around it: first where tine did, last where the list was there, empty.
/// Hosts that write their settings anew keep the order.
const PLACED: &str = "type";

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
        new_file(&settings.into())
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
            return Ok(format!("{mark}{}{body}", made_object(&member)));
        };
        let edits = match member(root, self.list)? {
            None => {
                let list = json!({ NAME: entry });
                let member = |indent: Option<&str>| layout.member(self.list, &list, indent);
                document.added(&Frame::of(root), &layout, member, Empty::Tight)
            }
            Some(list) => {
                let list = object(list)?;
                if list.properties.is_empty()
                    && let Some(kind) = entry.shift_remove(PLACED)
                {
                    entry.insert(PLACED.to_owned(), kind);
                }
                let entry = entry.into();
                let member = |indent: Option<&str>| layout.member(NAME, &entry, indent);
                document.added(&Frame::of(list), &layout, member, Empty::Spread)
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
        let list_frame = Frame::of(list);
        let edits = if !document.holds_only(&list_frame, &span(tine)) {
            document.cut(&span(tine))
        } else if made_list {
            document.cut_from_root(root, list_member)
        } else {
            document.emptied(&list_frame, &span(tine))
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
