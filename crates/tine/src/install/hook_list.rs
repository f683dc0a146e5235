//! A list of hooks in settings in JSON, as Claude Code (2.1) and Codex (0.169) read it: the hooks of an event, in groups.
//!
//! The place of `type` in tine's hook says how much of what is around it is tine's: first where nothing of it was there, in the middle where
//! there was an empty list of groups, last where there was an empty `hooks`.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged as _;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::document::{
    Document, Empty, Frame, Layout, edited, made_object, member, new_file, object, span,
};
use super::{Rest, split_mark};

/// The member of the settings that holds hooks.
const HOOKS: &str = "hooks";

/// The event before a prompt is sent.
const EVENT: &str = "UserPromptSubmit";

/// Seconds after which a host goes on without the hook.
const TIMEOUT: u32 = 10;

/// The end of a command that is tine's hook.
pub(super) const ARGUMENTS: &str = " gateway hook";

/// The part of what is around the hook that is tine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    /// All of it, or the list holds hooks of others.
    Hooks,
    /// The list of groups, in a `hooks` that was empty.
    Event,
    /// The group alone, in a list that was empty.
    Group,
}

impl Made {
    /// The group of tine's hook.
    fn group(self, command: &str) -> Value {
        let hook = match self {
            Self::Hooks => json!({"type": "command", "command": command, "timeout": TIMEOUT}),
            Self::Group => json!({"command": command, "type": "command", "timeout": TIMEOUT}),
            Self::Event => json!({"command": command, "timeout": TIMEOUT, "type": "command"}),
        };
        json!({ HOOKS: [hook] })
    }

    fn of(hook: &Value) -> Self {
        let mut names = hook.as_object().into_iter().flat_map(|hook| hook.keys());
        let (first, last) = (names.next(), names.next_back());
        match (first.map(String::as_str), last.map(String::as_str)) {
            (Some("type"), _) => Self::Hooks,
            (_, Some("type")) => Self::Event,
            (_, _) => Self::Group,
        }
    }
}

/// The text of a settings file that holds the hook and nothing else.
pub(super) fn new_text(command: &str) -> String {
    new_text_of(Made::Hooks.group(command))
}

fn new_text_of(group: Value) -> String {
    new_file(&json!({ HOOKS: { EVENT: [group] } }))
}

/// The command of tine's hook, if there is one. Fails where the text is no list of hooks.
pub(super) fn command(text: &str) -> Result<Option<String>, String> {
    let document = parse(split_mark(text).1)?;
    Ok(found(&document)?.tine.and_then(|tine| text_of(&tine.hook, "command").map(str::to_owned)))
}

/// The text with the hook in it, which must not be there yet.
pub(super) fn insert(text: &str, command: &str) -> Result<String, String> {
    let (mark, body) = split_mark(text);
    let document = parse(body)?;
    let layout = Layout::of(&document);
    let Found { hooks, event, .. } = found(&document)?;
    let Some(root) = &document.root else {
        let hooks = json!({ EVENT: [Made::Hooks.group(command)] });
        return Ok(format!("{mark}{}{body}", made_object(&layout.member(HOOKS, &hooks, None))));
    };
    let edits = match (hooks, event) {
        (None, _) => {
            let hooks = json!({ EVENT: [Made::Hooks.group(command)] });
            let member = |indent: Option<&str>| layout.member(HOOKS, &hooks, indent);
            document.added(&Frame::of(root), &layout, member, Empty::Tight)
        }
        (Some(hooks), None) => {
            let hooks = object(hooks)?;
            let made = if hooks.properties.is_empty() { Made::Event } else { Made::Hooks };
            let groups = json!([made.group(command)]);
            let member = |indent: Option<&str>| layout.member(EVENT, &groups, indent);
            document.added(&Frame::of(hooks), &layout, member, Empty::Spread)
        }
        (Some(_), Some(event)) => {
            let groups = array(&event.value, EVENT)?;
            let made = if groups.elements.is_empty() { Made::Group } else { Made::Hooks };
            let group = made.group(command);
            let member = |indent: Option<&str>| layout.written(&group, indent);
            document.added(&Frame::of_array(groups), &layout, member, Empty::Spread)
        }
    };
    Ok(format!("{mark}{}", edited(body, edits)))
}

/// The settings without the hook; `None` where there is none.
pub(super) fn remove(text: &str) -> Result<Option<Rest>, String> {
    let (mark, body) = split_mark(text);
    let document = parse(body)?;
    let Found { hooks: Some(hooks), event: Some(event), tine: Some(tine) } = found(&document)?
    else {
        return Ok(None);
    };
    let Tine { group, hook, has_others } = tine;
    if let Some(made) = Rest::of_new_file(text, &new_text_of(group.clone().into())) {
        return Ok(Some(made));
    }
    if has_others {
        return Err("tine's hook stands in one group with others".to_owned());
    }
    let root = document.root.as_ref().ok_or("it holds no object")?;
    let groups = Frame::of_array(array(&event.value, EVENT)?);
    let of_hooks = Frame::of(object(hooks)?);
    let group = group.start()..group.end();
    let made = Made::of(&hook);
    let edits = if !document.holds_only(&groups, &group) {
        document.cut(&group)
    } else {
        let is_only_event = document.holds_only(&of_hooks, &span(event));
        match made {
            Made::Group => document.emptied(&groups, &group),
            Made::Event | Made::Hooks if !is_only_event => document.cut(&span(event)),
            Made::Event => document.emptied(&of_hooks, &span(event)),
            Made::Hooks => document.cut_from_root(root, hooks),
        }
    };
    Ok(Some(Rest::Text(format!("{mark}{}", edited(body, edits)))))
}

/// Tine's hook, and the group that it stands in.
struct Tine<'a, 'd> {
    group: &'d Node<'a>,
    hook: Value,
    has_others: bool,
}

/// The places of hooks, as far as they are there.
struct Found<'a, 'd> {
    hooks: Option<&'d ObjectProp<'a>>,
    event: Option<&'d ObjectProp<'a>>,
    tine: Option<Tine<'a, 'd>>,
}

/// Settings that the hosts read: neither of them takes comments here.
fn parse(body: &str) -> Result<Document<'_>, String> {
    let document = Document::parse(body)?;
    let is_plain = serde_json::from_str::<IgnoredAny>(body).is_ok();
    if !is_plain && !body.trim().is_empty() {
        return Err("it holds comments or commas that the host does not read".to_owned());
    }
    Ok(document)
}

fn found<'a, 'd>(document: &'d Document<'a>) -> Result<Found<'a, 'd>, String> {
    let Some(root) = &document.root else {
        return Ok(Found { hooks: None, event: None, tine: None });
    };
    let hooks = member(root, HOOKS)?;
    let event = hooks.map(|hooks| member(object(hooks)?, EVENT)).transpose()?.flatten();
    let tine = event.map(tine_of).transpose()?.flatten();
    Ok(Found { hooks, event, tine })
}

fn tine_of<'a, 'd>(event: &'d ObjectProp<'a>) -> Result<Option<Tine<'a, 'd>>, String> {
    let mut tine = None;
    for group in &array(&event.value, EVENT)?.elements {
        let group_object = node_object(group, EVENT)?;
        let list = member(group_object, HOOKS)?;
        let list = list.ok_or_else(|| format!("a group of `{EVENT}` has no `{HOOKS}`"))?;
        let list = array(&list.value, HOOKS)?;
        for hook in &list.elements {
            node_object(hook, HOOKS)?;
            let hook = Value::from(hook.clone());
            let is_tine = text_of(&hook, "command").is_some_and(|text| text.ends_with(ARGUMENTS));
            if is_tine {
                let has_others = list.elements.len() > 1;
                let before = tine.replace(Tine { group, hook, has_others });
                if before.is_some() {
                    return Err("tine's hook stands there twice".to_owned());
                }
            }
        }
    }
    Ok(tine)
}

fn text_of<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

fn array<'a, 'd>(node: &'d Node<'a>, name: &str) -> Result<&'d Array<'a>, String> {
    match node {
        Node::Array(array) => Ok(array),
        _ => Err(format!("`{name}` is not a list")),
    }
}

fn node_object<'a, 'd>(node: &'d Node<'a>, name: &str) -> Result<&'d Object<'a>, String> {
    match node {
        Node::Object(object) => Ok(object),
        _ => Err(format!("`{name}` holds what is not an object")),
    }
}
