//! What depends on the model's name. A name that is not a known family and version counts as the newest generation.

/// `claude-FAMILY-MAJOR[-MINOR]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Model<'a> {
    family: &'a str,
    version: (u32, u32),
}

/// Minor versions have at most two digits; a longer number is a date.
const MINOR_MAX: u32 = 99;

fn known(name: &str) -> Option<Model<'_>> {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let rest = name.strip_prefix("claude-")?;
    if rest.starts_with("3-") {
        // The old order of words: `claude-3-5-haiku`.
        return Some(Model { family: "", version: (3, 0) });
    }
    let mut parts = rest.split('-');
    let family = parts.next()?;
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|part| part.parse().ok());
    let minor = minor.filter(|minor| *minor <= MINOR_MAX).unwrap_or(0);
    Some(Model { family, version: (major, minor) })
}

/// Whether the last message may be an assistant's, to be continued.
pub(super) fn takes_prefill(model: &str) -> bool {
    known(model).is_some_and(|model| model.version < (4, 6))
}

/// Whether messages of the role `system` are taken.
pub(super) fn takes_system_messages(model: &str) -> bool {
    known(model).is_none_or(|model| match model.family {
        "opus" => model.version >= (4, 8),
        "sonnet" | "haiku" => model.version > (5, 0),
        _ => model.version >= (5, 0),
    })
}

/// Returns true for models whose thinking takes a budget. Newer ones decide themselves how much they think.
pub(super) fn takes_budget(model: &str) -> bool {
    known(model).is_none_or(|model| model.version < (4, 7))
}

/// The `thinking.type` that leaving `thinking` out stands for.
pub(super) fn default_thinking(model: &str) -> &'static str {
    // The generation that keeps its thinking thinks by itself.
    if known(model).is_some_and(|model| model.version > (5, 0)) { "adaptive" } else { "disabled" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_model_takes() {
        let cases = [
            ("echo", false, true, "disabled"),
            ("claude-opus-5-5", false, true, "adaptive"),
            ("claude-opus-5-5@anthropic", false, true, "adaptive"),
            ("claude-opus-5", false, true, "disabled"),
            ("claude-opus-4-8", false, true, "disabled"),
            ("claude-opus-4-7", false, false, "disabled"),
            ("claude-opus-4-5-20251101", true, false, "disabled"),
            ("claude-sonnet-5", false, false, "disabled"),
            ("claude-sonnet-4-20250514", true, false, "disabled"),
            ("claude-fable-5", false, true, "disabled"),
            ("claude-3-5-haiku-20241022", true, false, "disabled"),
            ("claude-mythos-preview", false, true, "disabled"),
        ];
        for (name, prefill, system, thinking) in cases {
            let found = (takes_prefill(name), takes_system_messages(name), default_thinking(name));
            assert_eq!(found, (prefill, system, thinking), "{name}");
        }
    }
}
