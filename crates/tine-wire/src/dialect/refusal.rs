//! Reading in a server's words which members of a request it refuses.
//!
//! Every server says it in its own way, and gateways quote the words of the server behind them. So the words are searched, and what is
//! found counts only where a request can do without it ([`Member`]).

use serde_json::Value;

use super::Member;

/// Names of the lists of messages in requests, of all formats.
pub(super) const LISTS: [&str; 3] = ["messages", "input", "contents"];

/// Containers on the way to a member of a message. Other names on the way are words of a server's validator: the role, or the type of
/// a block.
const CONTAINERS: [&str; 6] = ["tool_calls", "function", "content", "parts", "output", "summary"];

/// Most members that are read from one refusal. No reply has half as many that are not in its vendor's types.
const MEMBERS_MAX: usize = 32;

/// Most bytes of a server's words that are searched.
const WORDS_BYTES_MAX: usize = 64 * 1024;

/// The greatest depth at which the list of a validator's errors may stand in an answer.
const NESTING_MAX: usize = 6;

/// The members that a server's words refuse and requests can do without, each once, in the order of the words.
pub fn refused_members(words: &str) -> Vec<Member> {
    let mut end = words.len().min(WORDS_BYTES_MAX);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    // Quoted once more by a gateway, quotation marks have backslashes before them.
    let words = words[..end].replace('\\', "");
    let mut found = Vec::new();
    let places = unsupported_properties(&words)
        .into_iter()
        .chain(forbidden_extras(&words))
        .chain(unknown_names(&words))
        .chain(listed_parameters(&words))
        .chain(deprecated(&words))
        .chain(located_extras(&words));
    for member in places.filter_map(|place| member(&place)) {
        if !found.contains(&member) && found.len() < MEMBERS_MAX {
            found.push(member);
        }
    }
    found
}

/// The errors of a validator (pydantic's form: a list of objects with `loc` and `msg`) as one readable line; `None` for other answers.
/// Each place is told once, whatever the number of the message.
pub(crate) fn readable(answer: &Value) -> Option<String> {
    let mut errors = Vec::new();
    collect(answer, NESTING_MAX, &mut errors);
    let mut told: Vec<String> = Vec::new();
    let mut places: Vec<String> = Vec::new();
    for (place, words) in errors {
        let names: Vec<&str> = place.split('.').filter(|name| !is_number(name)).collect();
        let names = names.join(".");
        if !places.contains(&names) && places.len() < MEMBERS_MAX {
            places.push(names);
            told.push(format!("{place}: {words}"));
        }
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn collect(value: &Value, depth: usize, errors: &mut Vec<(String, String)>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, depth, errors)),
        Value::Object(object) => match (object.get("loc"), object.get("msg")) {
            (Some(Value::Array(place)), Some(Value::String(words))) => {
                let names = place.iter().filter_map(|name| match name {
                    Value::String(name) => Some(name.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                });
                errors.push((names.collect::<Vec<_>>().join("."), words.clone()));
            }
            _ => object.values().for_each(|value| collect(value, depth, errors)),
        },
        // Mistral has sent the list as a text, and LiteLLM quotes answers behind words of its own.
        Value::String(text) if text.contains("\"loc\"") => {
            let quoted = text.find(['{', '[']).map(|start| &text[start..]);
            let mut values = quoted
                .into_iter()
                .flat_map(|quoted| serde_json::Deserializer::from_str(quoted).into_iter::<Value>());
            if let Some(Ok(value)) = values.next() {
                collect(&value, depth, errors);
            }
        }
        _ => {}
    }
}

/// Groq: `'messages.2' : property 'reasoning' is unsupported`; Cerebras has the whole place within the quotation marks.
fn unsupported_properties(words: &str) -> Vec<String> {
    let mut places = Vec::new();
    for (at, _) in words.match_indices("property '") {
        let rest = &words[at + "property '".len()..];
        let Some((name, after)) = rest.split_once('\'') else { continue };
        if !after.trim_start().starts_with("is unsupported") {
            continue;
        }
        let before = words[..at].trim_end();
        let holder = before.strip_suffix(':').map(str::trim_end);
        let holder = holder.and_then(|before| before.strip_suffix('\''));
        let holder = holder.and_then(|before| before.rsplit('\'').next());
        places.push(match holder.filter(|_| !name.contains('.')) {
            Some(holder) => format!("{holder}.{name}"),
            None => name.to_owned(),
        });
    }
    places
}

/// Pydantic and Anthropic: `messages.1.content.0.text.citations: Extra inputs are not permitted`.
fn forbidden_extras(words: &str) -> Vec<String> {
    let before =
        words.match_indices(": Extra inputs are not permitted").map(|(at, _)| &words[..at]);
    before.filter_map(last_word).map(str::to_owned).collect()
}

/// Words that name the member between quotation marks right behind them. OpenAI, Google, serde, Fireworks.
fn unknown_names(words: &str) -> Vec<String> {
    let openings = [
        "Unknown parameter: ",
        "Unsupported parameter: ",
        "Unsupported value: ",
        "Unknown name ",
        "unknown field ",
        "Unrecognized request argument supplied: ",
        "Extra inputs are not permitted, field: ",
    ];
    let mut places = Vec::new();
    for (at, opening) in openings.iter().flat_map(|opening| words.match_indices(opening)) {
        let rest = &words[at + opening.len()..];
        let Some((name, after)) = quoted(rest) else { continue };
        // Google names the holder behind the name, serde before it.
        let behind = after.strip_prefix(" at ").and_then(quoted).map(|(holder, _)| holder);
        let before = words[..at].trim_end().strip_suffix(':').and_then(last_word);
        let before = before.filter(|_| opening == "unknown field ");
        places.push(match behind.or(before) {
            Some(holder) => format!("{holder}.{name}"),
            None => name.to_owned(),
        });
    }
    places
}

/// LiteLLM: `does not support parameters: ['a', 'b']`; NVIDIA: ``Unsupported parameter(s): `a` ``.
fn listed_parameters(words: &str) -> Vec<String> {
    let mut places = Vec::new();
    for opening in ["does not support parameters: ", "Unsupported parameter(s): "] {
        for (at, _) in words.match_indices(opening) {
            let rest = &words[at + opening.len()..];
            let list = match rest.strip_prefix('[') {
                Some(list) => list.split(']').next().unwrap_or_default(),
                None => rest.split([';', '\n']).next().unwrap_or_default(),
            };
            let names = list.split(',').filter_map(|name| {
                let name = name.trim().trim_matches(['\'', '"', '`']);
                name.split_whitespace().next()
            });
            places.extend(names.map(|name| name.trim_end_matches(['.', '`']).to_owned()));
        }
    }
    places
}

/// Anthropic: `` `temperature` is deprecated for this model. ``
fn deprecated(words: &str) -> Vec<String> {
    let before = words.match_indices("` is deprecated for this model").map(|(at, _)| &words[..at]);
    before.filter_map(|before| before.rsplit('`').next()).map(str::to_owned).collect()
}

/// A validator's error as Python writes it: `{'type': 'extra_forbidden', 'loc': ('body', 'messages', 2, 'assistant', 'x')`.
fn located_extras(words: &str) -> Vec<String> {
    if !words.contains("extra_forbidden") {
        return Vec::new();
    }
    let mut places = Vec::new();
    for (at, key) in ["'loc':", "\"loc\":"].iter().flat_map(|key| words.match_indices(*key)) {
        let rest = words[at + key.len()..].trim_start();
        let Some(list) = rest.strip_prefix(['(', '[']) else { continue };
        let list = list.split([')', ']']).next().unwrap_or_default();
        let names = list.split(',').map(|name| name.trim().trim_matches(['\'', '"']));
        places.push(names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join("."));
    }
    places
}

/// The text between quotation marks with which `words` begin, and what stands behind it; without marks, the first word.
fn quoted(words: &str) -> Option<(&str, &str)> {
    let mark = words.chars().next()?;
    if !['\'', '"', '`'].contains(&mark) {
        let end = words.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(words.len());
        return Some((words[..end].trim_end_matches('.'), &words[end..]));
    }
    words[1..].split_once(mark)
}

/// The last word, without quotation marks.
fn last_word(words: &str) -> Option<&str> {
    let word = words.rsplit(char::is_whitespace).next()?;
    Some(word.trim_matches(['\'', '"', '`', '(', '[', '{']))
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The member at a place as servers write it, such as `body.messages.2.assistant.reasoning` or `messages[2].tool_calls[0].index`.
fn member(place: &str) -> Option<Member> {
    let names = place.split(['.', '[', ']', '\'']).filter(|name| !name.is_empty());
    let mut names = names.filter(|name| !is_number(name)).skip_while(|name| *name == "body");
    let first = names.next()?;
    if !LISTS.contains(&first) {
        // What stands inside a setting goes with it: Mistral refuses `stream_options.include_usage`.
        return Member::in_requests(first.to_owned());
    }
    let names: Vec<&str> = names.collect();
    let (last, way) = names.split_last()?;
    let way = way.iter().filter(|name| CONTAINERS.contains(*name));
    Member::in_messages(way.chain([last]).map(|name| (*name).to_owned()).collect())
}
