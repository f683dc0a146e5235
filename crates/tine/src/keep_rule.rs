//! Writing a permission rule into the user's settings. Everything else in the file stays as it is: comments, order, blanks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tine_model::Decision;
use tine_runtime::{NotKept, RuleBook};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::fail::Failure;
use crate::whole_file::write_file;

/// The user's settings, as the place of rules that count in later runs.
pub(crate) struct UserRules {
    pub(crate) file: PathBuf,
}

impl RuleBook for UserRules {
    /// Adds a rule to `permissions.allow` or `permissions.deny` of the settings file, which is made where there is none.
    fn keep(&self, decision: Decision, rule: &str) -> Result<String, NotKept> {
        let list = decision.as_str();
        let hint = format!("add it by hand: [permissions] {list} = [\"…\"]");
        let add = |text: &str| {
            let (after, before) = with_rule(text, list, rule)?;
            Ok((!before).then_some(after))
        };
        let file = self.file.display();
        match edit_settings(&self.file, "the rule", &hint, add) {
            Ok(true) => Ok(format!("wrote `{rule}` into permissions.{list} of {file}")),
            Ok(false) => Ok(format!("`{rule}` was in permissions.{list} of {file} before")),
            Err(failure) => Err(NotKept { why: failure.message().to_owned(), hint }),
        }
    }
}

/// Changes a settings file, which is made where there is none, in one step; two processes that write at once both write. `edit` makes the
/// new text of the old one, `None` where nothing is to change, and says why it cannot. Whether the file was changed.
pub(crate) fn edit_settings(
    file: &Path,
    what: &str,
    by_hand: &str,
    edit: impl FnOnce(&str) -> Result<Option<String>, String>,
) -> Result<bool, Failure> {
    let failed = |error: std::io::Error| {
        Failure::failed(format!("cannot write {what} into {}", file.display())).because(&error)
    };
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(failed)?;
    // Held until the end. Where directories cannot be locked there is none, and the later writer wins.
    let lock = File::open(directory).and_then(|directory| directory.lock().map(|()| directory));
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let after = edit(&text).map_err(|why| {
        Failure::failed(format!("cannot add {what} to {}: {why}", file.display())).hint(by_hand)
    })?;
    if let Some(after) = &after {
        write_file(file, after).map_err(failed)?;
    }
    drop(lock);
    Ok(after.is_some())
}

/// The text with the rule in the list; whether it stood there before.
fn with_rule(text: &str, list: &str, rule: &str) -> Result<(String, bool), String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let table = document.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or("`permissions` is not a table")?;
    let item = table.entry(list).or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let array = item.as_array_mut().ok_or_else(|| format!("`permissions.{list}` is not a list"))?;
    if array.iter().any(|value| value.as_str() == Some(rule)) {
        return Ok((text.to_owned(), true));
    }
    push(array, rule);
    Ok((document.to_string(), false))
}

/// Adds a rule in the way in which the last one stands: on a line of its own where that one does.
fn push(array: &mut Array, rule: &str) {
    let last = array.iter().last().and_then(|value| value.decor().prefix()?.as_str());
    let own_line = last.filter(|prefix| prefix.contains('\n')).map(|prefix| {
        let indent = prefix.rsplit('\n').next().unwrap_or_default();
        format!("\n{indent}")
    });
    match own_line {
        None => array.push(rule),
        Some(prefix) => array.push_formatted(Value::from(rule).decorated(prefix, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, rule: &str) -> String {
        let (after, before) = with_rule(text, "allow", rule).unwrap();
        assert!(!before);
        assert_eq!(with_rule(&after, "allow", rule).unwrap(), (after.clone(), true));
        after
    }

    #[test]
    fn a_rule_is_added_and_the_rest_stays() {
        let text = "# mine\nmodel = \"a/b\"   # the good one\n\n[permissions]\n# tests\nallow = [\"Bash(x)\"] # why\ndeny = []\n";
        insta::assert_snapshot!(added(text, "Bash(cargo test)"), @r#"
        # mine
        model = "a/b"   # the good one

        [permissions]
        # tests
        allow = ["Bash(x)", "Bash(cargo test)"] # why
        deny = []
        "#);
        let lines = "[permissions]\nallow = [\n  \"Bash(x)\", # one\n  # two\n  \"Bash(y)\",\n]\n";
        insta::assert_snapshot!(added(lines, "Bash(z)"), @r#"
        [permissions]
        allow = [
          "Bash(x)", # one
          # two
          "Bash(y)",
          "Bash(z)",
        ]
        "#);
        insta::assert_snapshot!(added("", r#"Bash(echo "a\b")"#), @r#"
        [permissions]
        allow = ['Bash(echo "a\b")']
        "#);
        insta::assert_snapshot!(added("permissions = { deny = [] }\n", "Bash(z)"), @r#"permissions = { deny = [] , allow = ["Bash(z)"] }"#);
        insta::assert_snapshot!(added("permissions.deny = []\n[cache]\nkeep_warm = true\n", "Bash(z)"), @r#"
        permissions.deny = []
        permissions.allow = ["Bash(z)"]
        [cache]
        keep_warm = true
        "#);
    }

    #[test]
    fn what_is_no_list_is_left_alone() {
        for text in ["permissions = 1", "[permissions]\nallow = \"Bash\"", "= ="] {
            assert!(with_rule(text, "allow", "Bash").is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_is_made_and_two_rules_are_both_kept() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("deep").join("config.toml");
        let rules = UserRules { file: file.clone() };
        let told = |decision, rule| rules.keep(decision, rule).unwrap();
        assert!(
            told(Decision::Allow, "Bash(a)").starts_with("wrote `Bash(a)` into permissions.allow")
        );
        assert!(
            told(Decision::Deny, "Bash(b)").starts_with("wrote `Bash(b)` into permissions.deny")
        );
        assert!(told(Decision::Allow, "Bash(a)").ends_with("before"));
        insta::assert_snapshot!(fs::read_to_string(&file).unwrap(), @r#"
        [permissions]
        allow = ["Bash(a)"]
        deny = ["Bash(b)"]
        "#);
    }
}
