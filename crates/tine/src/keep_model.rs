//! Writing the model of new agents into the user's settings.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value};

use crate::fail::Failure;
use crate::keep_rule::edit_settings;

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelToKeep {
    /// `provider/name`.
    pub(crate) model: String,
    /// How much work it puts in, where that was said.
    pub(crate) effort: Option<&'static str>,
    /// Where it is served, where that was found out.
    pub(crate) base_url: Option<String>,
}

/// Writes it into a settings file, which is made where there is none; what the user is told.
pub(crate) fn keep_model(file: &Path, keep: &ModelToKeep) -> Result<String, Failure> {
    let hint = format!("write it by hand: model = \"{}\"", keep.model);
    let changed = edit_settings(file, "the model", &hint, |text| with_model(text, keep))?;
    let file = file.display();
    Ok(if changed {
        format!("wrote model = \"{}\" into {file}", keep.model)
    } else {
        format!("model = \"{}\" was in {file} before", keep.model)
    })
}

fn with_model(text: &str, keep: &ModelToKeep) -> Result<Option<String>, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    set(document.as_table_mut(), "model", &keep.model);
    if let Some(effort) = keep.effort {
        set(document.as_table_mut(), "effort", effort);
    }
    if let Some(url) = &keep.base_url {
        let mut hidden = Table::new();
        hidden.set_implicit(true);
        let providers = document.entry("providers").or_insert(Item::Table(hidden));
        let providers = providers.as_table_like_mut().ok_or("`providers` is not a table")?;
        let provider =
            providers.entry("openai-compat").or_insert_with(|| Item::Table(Table::new()));
        let provider = provider.as_table_like_mut();
        set(provider.ok_or("`providers.openai-compat` is not a table")?, "base_url", url);
    }
    let after = document.to_string();
    Ok((after != text).then_some(after))
}

/// Sets a value where it stands, with the comments around it.
fn set(table: &mut dyn toml_edit::TableLike, key: &str, text: &str) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(value) if value.as_str() == Some(text) => {}
        Some(value) => {
            let decor = value.decor().clone();
            *value = Value::from(text);
            *value.decor_mut() = decor;
        }
        None => drop(table.insert(key, toml_edit::value(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, base_url: Option<&str>) -> String {
        let keep = ModelToKeep {
            model: "openai-compat/a".into(),
            effort: base_url.map(|_| "high"),
            base_url: base_url.map(str::to_owned),
        };
        let after = with_model(text, &keep).unwrap().unwrap();
        assert_eq!(with_model(&after, &keep).unwrap(), None);
        after
    }

    #[test]
    fn the_model_is_set_and_the_rest_stays() {
        insta::assert_snapshot!(kept("", None), @r#"model = "openai-compat/a""#);
        let text = "# mine\nmodel = 'a/b'  # the good one\n\n# rules\n[permissions]\nallow = []\n";
        insta::assert_snapshot!(kept(text, Some("http://127.0.0.1:1/v1")), @r#"
        # mine
        model = "openai-compat/a"  # the good one
        effort = "high"

        # rules
        [permissions]
        allow = []

        [providers.openai-compat]
        base_url = "http://127.0.0.1:1/v1"
        "#);
        let text =
            "[providers.openai-compat]\n# home\nbase_url = \"http://b\"\nkey_variable = \"K\"\n";
        insta::assert_snapshot!(kept(text, Some("http://c")), @r#"
        model = "openai-compat/a"
        effort = "high"
        [providers.openai-compat]
        # home
        base_url = "http://c"
        key_variable = "K"
        "#);
    }

    #[test]
    fn what_is_no_settings_file_is_left_alone() {
        let keep =
            ModelToKeep { model: "a/b".into(), effort: None, base_url: Some("http://c".into()) };
        for text in ["= =", "providers = 1", "[providers]\nopenai-compat = 2"] {
            assert!(with_model(text, &keep).is_err(), "{text}");
        }
    }
}
