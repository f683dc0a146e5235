//! The short list that stands directly above the question of `tine trust`. No content, however long, pushes it off the screen.

use tine_tui::words::one_line;

use super::content::{AGENTS_FOLDER, Content, SETTINGS_FILE};
use super::gate::Project;
use super::notes::Withheld;
use super::show::{changes, visible};

/// Most files and most settings in the list. With the agents and the question they fit on a screen of 24 lines.
const LISTED_MAX: usize = 8;

/// Most characters of a line of the list.
const LINE_CHARACTERS_MAX: usize = 120;

/// The files, agents and settings that a yes would let count. The settings come last.
pub(crate) fn summary(project: &Project, withheld: &[Withheld]) -> String {
    let content = &project.content;
    let files: Vec<String> = match &project.record {
        Some(record) => changes(record, content)
            .into_iter()
            .map(|(path, word)| format!("{} ({word})", one_line(path)))
            .collect(),
        None => content.0.keys().map(|path| one_line(path)).collect(),
    };
    let agents: Vec<&str> = content
        .files_in(AGENTS_FOLDER, ".md")
        .map(|(path, _)| &path[AGENTS_FOLDER.len()..path.len() - ".md".len()])
        .collect();
    let mut text = listed("your yes is for these files:", &files);
    if !agents.is_empty() {
        text.push_str(&format!("agents: {}\n", cut(&one_line(&agents.join(", ")))));
    }
    let settings = settings(content, withheld);
    if !settings.is_empty() {
        text.push_str(&listed("settings that would count:", &settings));
    }
    text
}

fn listed(head: &str, lines: &[String]) -> String {
    let mut text = format!("{head}\n");
    for line in lines.iter().take(LISTED_MAX) {
        text.push_str(&format!("  {}\n", cut(line)));
    }
    if lines.len() > LISTED_MAX {
        text.push_str(&format!("  and {} more, above\n", lines.len() - LISTED_MAX));
    }
    text
}

/// Each setting with its whole key, on one line, without those that are withheld.
fn settings(content: &Content, withheld: &[Withheld]) -> Vec<String> {
    let Some(text) = content.text(SETTINGS_FILE) else { return Vec::new() };
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut settings = Vec::new();
    add_settings("", &table, &mut settings);
    settings.retain(|(key, _)| {
        !withheld.iter().any(|one| {
            one.file.ends_with(SETTINGS_FILE)
                && one.wish.split_once(" = ").is_some_and(|(withheld, _)| withheld == key)
        })
    });
    settings.into_iter().map(|(key, value)| visible(&format!("{key} = {value}"))).collect()
}

fn add_settings(above: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            toml::Value::Table(below) => add_settings(&key, below, settings),
            value => settings.push((key, value_text(value))),
        }
    }
}

/// A value on one line.
fn value_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => format!("{text:?}"),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(word) => word.to_string(),
        toml::Value::Datetime(moment) => moment.to_string(),
        toml::Value::Array(values) => {
            format!("[{}]", values.iter().map(value_text).collect::<Vec<_>>().join(", "))
        }
        toml::Value::Table(table) => {
            let fields = table.iter().map(|(key, value)| format!("{key} = {}", value_text(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn cut(line: &str) -> String {
    let more = line.chars().count().saturating_sub(LINE_CHARACTERS_MAX);
    let shown: String = line.chars().take(LINE_CHARACTERS_MAX).collect();
    if more == 0 { shown } else { format!("{shown} …") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::content::Entry;
    use crate::trust::{Record, TrustState};

    fn content(files: &[(String, String)]) -> Content {
        let entry =
            |(path, text): &(String, String)| (path.clone(), Entry::File(text.as_bytes().to_vec()));
        Content(files.iter().map(entry).collect())
    }

    fn project(content: Content, record: Option<Record>) -> Project {
        Project { root: "/srv".into(), content, record, state: TrustState::New }
    }

    #[test]
    fn what_counts_is_listed_in_few_lines_however_much_there_is() {
        let mut files: Vec<(String, String)> =
            (0..40).map(|at| (format!(".tine/agents/a{at:02}.md"), "x\n".repeat(900))).collect();
        let settings =
            "model = \"sim/echo\"\nstream = false\n[permissions]\ndeny = [\"Bash\", \"Grep\"]\n";
        files.push((SETTINGS_FILE.to_owned(), settings.to_owned()));
        let withheld = Withheld {
            wish: "model = sim/echo".to_owned(),
            file: "/srv/.tine/config.toml".into(),
            why: "no".to_owned(),
        };
        insta::assert_snapshot!(summary(&project(content(&files), None), &[withheld]), @r#"
        your yes is for these files:
          .tine/agents/a00.md
          .tine/agents/a01.md
          .tine/agents/a02.md
          .tine/agents/a03.md
          .tine/agents/a04.md
          .tine/agents/a05.md
          .tine/agents/a06.md
          .tine/agents/a07.md
          and 33 more, above
        agents: a00, a01, a02, a03, a04, a05, a06, a07, a08, a09, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23,  …
        settings that would count:
          stream = false
          permissions.deny = ["Bash", "Grep"]
        "#);
    }

    #[test]
    fn of_changed_content_the_changes_are_listed() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let before = content(&[file(".tine/a", "1"), file(".tine/b", "1"), file(".tine/c", "1")]);
        let after = content(&[file(".tine/a", "1"), file(".tine/b", "2"), file(".tine/0", "")]);
        let record = Record::new("/srv".as_ref(), &before, 0);
        insta::assert_snapshot!(summary(&project(after, Some(record)), &[]), @"
        your yes is for these files:
          .tine/0 (new)
          .tine/b (changed)
          .tine/c (gone)
        ");
    }
}
