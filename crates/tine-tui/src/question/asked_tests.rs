use ansi_to_tui::IntoText as _;

use super::*;
use crate::question::warning;

fn brief(tool: &str, what: &str, input: &Value) -> String {
    let asked = Asked { tool, what, input: &input.to_string() };
    let line = |line: &AskedLine| format!("{}{}", line.shade.sign(), line.text());
    asked_lines(&asked).iter().map(line).collect::<Vec<_>>().join("\n")
}

fn opened(tool: &str, input: &Value, preview: Option<Preview>) -> String {
    let asked = Asked { tool, what: "", input: &input.to_string() };
    let text = whole(&asked, preview.as_ref()).into_text().unwrap();
    text.lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_panel_has_all_of_what_would_be_done() {
    let command = serde_json::json!({"command":"cargo test\nrm \u{1b}[8mx"});
    insta::assert_snapshot!(brief("Bash", "", &command), @r"
    cargo test
    rm \u{1b}[8mx
    ");
    let edit = serde_json::json!({
        "file_path": "src/a.rs", "old_string": "a\nb\n", "new_string": "a\nc\n", "replace_all": true,
    });
    insta::assert_snapshot!(brief("FileEdit", "", &edit), @"
    src/a.rs
      a
    - b
    + c
    wherever it stands in the file
    ");
    let content = "line\n".repeat(1_000);
    let write = serde_json::json!({"file_path":"a","content":content});
    assert_eq!(brief("FileWrite", "", &write).lines().count(), 1_001);
    let other = serde_json::json!({"query":"x\ny","limit":3});
    insta::assert_snapshot!(brief("Find", "Find: x", &other), @"Find: x");
    let long = "x".repeat(250);
    let other = serde_json::json!({"limit":3,"query":long});
    let cut = format!("Find: {}… (50 more characters)", &long[..200]);
    assert_eq!(brief("Find", &cut, &other), format!("limit: 3\nquery:\n{long}"));
}

#[test]
fn a_change_in_the_middle_of_a_long_file_has_its_place_and_its_surroundings() {
    let before: String = (1..=1_000).map(|number| format!("line {number}\n")).collect();
    let after = before.replace("line 500\n", "line D\nline E\n").replace("line 900\n", "");
    let input = serde_json::json!({"file_path":"a.txt"});
    let changed = Preview::Changed { before, after };
    insta::assert_snapshot!(opened("FileEdit", &input, Some(changed)), @"
    a.txt
    … 494 lines as before
    495   line 495
    496   line 496
    497   line 497
    498   line 498
    499   line 499
    500 - line 500
    500 + line D
    501 + line E
    502   line 501
    503   line 502
    504   line 503
    505   line 504
    506   line 505
    … 389 lines as before
    896   line 895
    897   line 896
    898   line 897
    899   line 898
    900   line 899
    900 - line 900
    901   line 901
    902   line 902
    903   line 903
    904   line 904
    905   line 905
    … 95 lines as before
    ");
}

#[test]
fn a_new_file_has_the_numbers_of_its_lines_also_in_its_middle() {
    let after: String = (1..=1_000).map(|number| format!("line {number}\n")).collect();
    let input = serde_json::json!({"file_path":"a.txt"});
    let text = opened("FileWrite", &input, Some(Preview::New { after }));
    let mut lines = text.lines();
    assert_eq!([lines.next(), lines.next()], [Some("a.txt"), Some("a new file of 1,000 lines")]);
    assert_eq!(text.lines().count(), 1_002);
    assert!(text.contains("\n 500 + line 500\n"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_shown_as_it_was_asked_and_says_why() {
    let input = serde_json::json!({"file_path":"a","old_string":"x","new_string":"y"});
    let unknown = Preview::Unknown("there is no such file".into());
    insta::assert_snapshot!(opened("FileEdit", &input, Some(unknown)), @"
    a
    there is no such file
    - x
    + y
    ");
    let input = serde_json::json!({"command":"make test"});
    insta::assert_snapshot!(opened("Bash", &input, None), @"
    command:
    make test
    ");
}

#[test]
fn the_end_of_a_file_without_a_line_end_is_told() {
    let input = serde_json::json!({"file_path":"a"});
    let changed = Preview::Changed { before: "a\nb".into(), after: "a\nb\n".into() };
    insta::assert_snapshot!(opened("FileWrite", &input, Some(changed)), @"
    a
    1   a
    2 - b
    (the file ends here without a line end)
    2 + b
    ");
}

#[test]
fn letters_that_look_like_others_are_marked_where_they_stand_and_warned_of() {
    let warned = |tool: &str, input: &Value| {
        let asked = Asked { tool, what: "", input: &input.to_string() };
        format!("{}\n{}", brief(tool, "", input), warning(&asked).unwrap_or_default())
    };
    let command = serde_json::json!({"command":"g\u{456}t push \u{2013}f"});
    insta::assert_snapshot!(warned("Bash", &command), @"
    gі[U+0456 (Cyrillic), not `i`]t push –[U+2013, not `-`]f
    2 letters look like another: U+0456 (Cyrillic), not `i`; U+2013, not `-`
    ");
    let edit = serde_json::json!({
        "file_path": "src/m\u{430}in.rs",
        "old_string": "if user {\n",
        "new_string": "// \u{43f}\u{440}\u{438}\u{432}\u{435}\u{442} \u{441}\u{43e}\u{440}\nif us\u{435}r {\n",
    });
    insta::assert_snapshot!(warned("FileEdit", &edit), @"
    src/mа[U+0430 (Cyrillic), not `a`]in.rs
    - if user {
    + // привет сор
    + if usе[U+0435 (Cyrillic), not `e`]r {
    2 letters look like another: U+0430 (Cyrillic), not `a`; U+0435 (Cyrillic), not `e`
    ");
    let plain = serde_json::json!({"command":"git commit -m 'größer'"});
    insta::assert_snapshot!(warned("Bash", &plain), @"git commit -m 'größer'");
}
