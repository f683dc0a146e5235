//! Letters in a question that can be taken for others: marked where they stand, and told as a warning.

use std::collections::BTreeSet;

use tine_guard::{LookAlike, TextUse, look_alikes};

use super::asked::{Asked, asked_lines};

/// Most letters that a warning names.
const NAMED_MAX: usize = 5;

/// The text with its code point behind each letter that looks like another.
pub(super) fn marked(text: &str, text_use: TextUse) -> String {
    let found = look_alikes(text, text_use);
    let (mut marked, mut from) = (String::with_capacity(text.len()), 0);
    for found in found {
        let end = found.at + found.character.len_utf8();
        marked.push_str(&text[from..end]);
        marked.push_str(&format!("[{}]", told(&found)));
        from = end;
    }
    marked.push_str(&text[from..]);
    marked
}

/// The code point, its script where it has one, and what it looks like.
fn told(found: &LookAlike) -> String {
    let LookAlike { character, like, script, .. } = found;
    let script = match *script {
        "Common" | "Inherited" => String::new(),
        script => format!(" ({script})"),
    };
    format!("U+{:04X}{script}, not `{like}`", u32::from(*character))
}

/// Warns of the letters in a call that look like others.
pub fn warning(asked: &Asked<'_>) -> Option<String> {
    let lines = asked_lines(asked);
    let found = lines.iter().flat_map(|line| line.look_alikes());
    let (mut count, mut named) = (0_usize, BTreeSet::new());
    for found in found {
        count += 1;
        named.insert(told(&found));
    }
    let more = if named.len() > NAMED_MAX { "; …" } else { "" };
    let named: Vec<String> = named.into_iter().take(NAMED_MAX).collect();
    let letters = if count == 1 { "1 letter looks" } else { &format!("{count} letters look") };
    (count > 0).then(|| format!("{letters} like another: {}{more}", named.join("; ")))
}
