//! Where Gemini's cached contents are made and deleted. Source: Gemini API, "cachedContents".

use crate::LlmError;

/// Below the base URL.
pub(crate) const CREATE_PATH: &str = "/v1beta/cachedContents";

/// What every name begins with.
const NAME_START: &str = "cachedContents/";

/// Longest id behind it. Real ones have under 40 characters.
const ID_CHARS_MAX: usize = 128;

/// The path of cached content. The name came from outside, and must not lead anywhere else.
pub(crate) fn path_of(name: &str) -> Result<String, LlmError> {
    let is_id = |id: &str| {
        (1..=ID_CHARS_MAX).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    match name.strip_prefix(NAME_START) {
        Some(id) if is_id(id) => Ok(format!("/v1beta/{name}")),
        _ => {
            let shown = name.chars().filter(|c| !c.is_control()).take(ID_CHARS_MAX).collect();
            Err(LlmError::BadCachedName { name: shown })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(path_of("cachedContents/a-1_B").unwrap(), "/v1beta/cachedContents/a-1_B");
        let long = format!("cachedContents/{}", "a".repeat(ID_CHARS_MAX + 1));
        for name in ["", "x", "cachedContents/", "cachedContents/../models/x", &long] {
            assert!(matches!(path_of(name), Err(LlmError::BadCachedName { .. })), "{name}");
        }
        let error = path_of("cachedContents/a?b\u{1b}[0m").unwrap_err().to_string();
        assert_eq!(error, "`cachedContents/a?b[0m` does not name cached content");
    }
}
