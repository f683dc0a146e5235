//! Keys that no suite has. They are looked for before the suite is read, so that the error can say what was meant.

use toml::de::{DeTable, DeValue};

/// A table of a suite: what errors call it, and its keys, each with the shape of what stands behind it; `None` for values and for
/// tables of any keys.
struct Shape {
    words: &'static str,
    keys: &'static [(&'static str, Option<&'static Shape>)],
}

static SUITE: Shape = Shape {
    words: "at the top of a suite",
    keys: &[
        ("name", None),
        ("description", None),
        ("defaults", Some(&CASE)),
        ("tool", Some(&TOOL)),
        ("case", Some(&CASE)),
    ],
};

static TOOL: Shape = Shape {
    words: "in a tool",
    keys: &[("name", None), ("description", None), ("schema", None), ("answer", None)],
};

static CASE: Shape = Shape {
    words: "in a case",
    keys: &[
        ("name", None),
        ("prompt", None),
        ("messages", Some(&MESSAGE)),
        ("system", None),
        ("model", None),
        ("max_turns", None),
        ("timeout", None),
        ("max_output_tokens", None),
        ("repeat", None),
        ("filter", None),
        ("directive", None),
        ("tools", None),
        ("fixture", None),
        ("stray", None),
        ("expect", Some(&EXPECT)),
    ],
};

static MESSAGE: Shape = Shape {
    words: "in a message",
    keys: &[("role", None), ("text", None), ("calls", Some(&CALL)), ("results", Some(&RESULT))],
};

static CALL: Shape =
    Shape { words: "in a call", keys: &[("id", None), ("tool", None), ("input", None)] };

static RESULT: Shape =
    Shape { words: "in a result", keys: &[("call", None), ("text", None), ("is_error", None)] };

static EXPECT: Shape = Shape {
    words: "in what is expected",
    keys: &[
        ("outcome", None),
        ("report", Some(&REPORT)),
        ("tool_calls", Some(&TOOL_CALLS)),
        ("files", None),
        ("max_cost_usd", None),
        ("max_tokens", None),
        ("max_turns", None),
    ],
};

static REPORT: Shape = Shape {
    words: "in what is expected of the report",
    keys: &[("contains", None), ("matches", None), ("absent", None), ("has_scope", None)],
};

static TOOL_CALLS: Shape = Shape {
    words: "in what is expected of tool calls",
    keys: &[("must", None), ("must_not", None), ("min", None), ("max", None)],
};

/// A key that is not known.
pub(super) struct Unknown {
    pub(super) offset: usize,
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

/// The first key, by place, that no suite has.
pub(super) fn unknown(text: &str) -> Result<Option<Unknown>, toml::de::Error> {
    let table = DeTable::parse(text)?;
    let mut found = Vec::new();
    in_table(table.get_ref(), &SUITE, &mut found);
    Ok(found.into_iter().min_by_key(|unknown| unknown.offset))
}

fn in_table(table: &DeTable<'_>, shape: &Shape, found: &mut Vec<Unknown>) {
    for (key, value) in table {
        let name: &str = key.get_ref();
        match shape.keys.iter().find(|(known, _)| *known == name) {
            Some((_, Some(inner))) => in_value(value.get_ref(), inner, found),
            Some((_, None)) => {}
            None => {
                let what = format!("unknown key `{}` {}", name.escape_debug(), shape.words);
                let names = || shape.keys.iter().map(|(known, _)| *known);
                let list = || format!("the keys are {}", names().collect::<Vec<_>>().join(", "));
                let hint = Some(nearest(name, names()).unwrap_or_else(list));
                found.push(Unknown { offset: key.span().start, what, hint });
            }
        }
    }
}

fn in_value(value: &DeValue<'_>, shape: &Shape, found: &mut Vec<Unknown>) {
    match value {
        DeValue::Table(table) => in_table(table, shape, found),
        DeValue::Array(list) => list.iter().for_each(|item| in_value(item.get_ref(), shape, found)),
        // Of the wrong type: the reader says so.
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

/// `did you mean …`, where one of the names is near enough.
pub(super) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    /// Below it two words have little in common.
    const LIKENESS_MIN: f64 = 0.7;
    let likeness = |name: &str| strsim::jaro_winkler(&written.to_lowercase(), &name.to_lowercase());
    let names = names.into_iter().map(|name| (likeness(name), name));
    let (_, name) = names
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(format!("did you mean `{name}`?"))
}
