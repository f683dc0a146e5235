use proptest::prelude::*;

use super::*;
use crate::guests::dialect::hunks::{apply, replacement};

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn parsed(body: &str) -> Vec<Change> {
    parse(&patch(body)).unwrap()
}

fn wrong(text: &str) -> String {
    parse(text).unwrap_err()
}

/// The text as the hunks of the first file leave it.
fn applied(text: &str, hunks: &str) -> String {
    match parsed(&format!("*** Update File: a\n{hunks}")).remove(0) {
        Change::Update { hunks, .. } => {
            apply(text, &hunks).unwrap_or_else(|why| format!("error: {why}"))
        }
        Change::Add { .. } | Change::Delete { .. } => String::new(),
    }
}

#[test]
fn a_patch_is_read_file_by_file() {
    let changes = parsed(
        "*** Add File: new.txt\n+one\n+\n+*** End of File\n*** Delete File: old.txt\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main\n x\n-y\n+z\n*** End of File",
    );
    insta::assert_debug_snapshot!(changes, @r#"
    [
        Add {
            path: "new.txt",
            content: "one\n\n*** End of File\n",
        },
        Delete {
            path: "old.txt",
        },
        Update {
            path: "a.rs",
            move_to: Some(
                "b.rs",
            ),
            hunks: [
                Hunk {
                    anchors: [
                        "fn main",
                    ],
                    lines: [
                        Kept(
                            "x",
                        ),
                        Removed(
                            "y",
                        ),
                        Added(
                            "z",
                        ),
                    ],
                    is_at_end: true,
                },
            ],
        },
    ]
    "#);
}

#[test]
fn what_is_wrong_with_a_patch_is_said_with_its_line() {
    insta::assert_snapshot!(wrong(""), @"it does not begin with `*** Begin Patch`");
    insta::assert_snapshot!(wrong("*** Begin Patch\n*** Delete File: a"), @"it does not end with `*** End Patch`");
    insta::assert_snapshot!(wrong(&patch("")), @"it changes no file");
    insta::assert_snapshot!(wrong(&patch("+x")), @"line 2: a file comes first, such as `*** Update File: src/a.rs`");
    insta::assert_snapshot!(wrong(&patch("*** Add File: a\nx")), @"line 3: each line of a new file begins with `+`");
    insta::assert_snapshot!(wrong(&patch("*** Add File:  \n+x")), @"line 2: the file has no name");
    insta::assert_snapshot!(wrong(&patch("*** Delete File: a\n-x")), @"line 3: a file that goes has no lines");
    insta::assert_snapshot!(wrong(&patch("*** Update File: a")), @"it has no hunk for `a`");
    insta::assert_snapshot!(wrong(&patch("*** Update File: a\n@@\n x")), @"hunk 1 of `a` changes nothing");
    insta::assert_snapshot!(wrong(&patch("*** Update File: a\n@@\n-x\n*** Move to: b")), @"line 5: `*** Move to: ` stands right below `*** Update File: `");
    insta::assert_snapshot!(wrong(&patch("*** Update File: a\nx")), @"line 3: each line of a hunk begins with ` `, `+`, `-` or `@@`");
    insta::assert_snapshot!(wrong(&patch("*** Update File: a\n-x\n*** Delete File: a")), @"it names `a` twice; put all its hunks below one line");
}

#[test]
fn hunks_stand_where_their_lines_do() {
    let text = "fn a() {\n    one();\n}\n\nfn b() {\n    one();\n}\n";
    insta::assert_snapshot!(applied(text, "@@ fn b() {\n-    one();\n+    two();"), @"
    fn a() {
        one();
    }

    fn b() {
        two();
    }
    ");
    insta::assert_snapshot!(applied(text, " fn a() {\n-    one();\n+    two();\n }\n@@\n-    one();\n+    three();"), @"
    fn a() {
        two();
    }

    fn b() {
        three();
    }
    ");
    // Lines that are only added: below their anchor, or at the end.
    insta::assert_snapshot!(applied("a\nb\n", "@@ a\n+x"), @"
    a
    x
    b
    ");
    insta::assert_snapshot!(applied("a\nb\n", "+x"), @"
    a
    b
    x
    ");
    // At the end, where the same lines stand before, too.
    insta::assert_snapshot!(applied("a\nb\na\n", "-a\n+x\n*** End of File"), @"
    a
    b
    x
    ");
}

#[test]
fn blanks_and_ends_of_lines_stay_as_they_are_in_the_file() {
    assert_eq!(applied("a \nb\n", " a\n-b\n+c"), "a \nc\n");
    assert_eq!(applied("\tif x {\n", "@@\n-  if x {\n+\tif y {"), "\tif y {\n");
    assert_eq!(applied("a\r\nb\r\n", " a\n-b\n+c\n+d"), "a\r\nc\r\nd\r\n");
    assert_eq!(applied("a\nb", "-b\n+c"), "a\nc");
    assert_eq!(applied("a\n", "-a"), "");
    assert_eq!(applied("", "+a"), "a\n");
    // An empty line at the end of a hunk may be none of the file's.
    assert_eq!(applied("a\nb\n", "-a\n+c\n\n"), "c\nb\n");
}

#[test]
fn a_hunk_that_does_not_match_is_named() {
    insta::assert_snapshot!(applied("a\nb\n", "-a\n+x\n@@\n-c\n+y"), @"error: hunk 2 does not match: `c` stands nowhere in the file");
    insta::assert_snapshot!(applied("a\nb\n", "-b\n+x\n@@\n-a\n+y"), @"error: hunk 2 does not match: `a` stands only above where the hunk before ends");
    insta::assert_snapshot!(applied("a\nb\n", " b\n-a"), @"error: hunk 1 does not match: its lines do not stand in the file in this order, one below the other");
    insta::assert_snapshot!(applied("a\n", "@@ class X\n+y"), @"error: hunk 1 does not match: `class X` stands nowhere in the file");
}

/// The lines of a text with those that stay, go and come, by the longest common run of lines.
fn difference(old: &[String], new: &[String]) -> Vec<(char, String)> {
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            common[a][b] = match old[a] == new[b] {
                true => common[a + 1][b + 1] + 1,
                false => common[a + 1][b].max(common[a][b + 1]),
            };
        }
    }
    let (mut a, mut b, mut lines) = (0, 0, Vec::new());
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            lines.push((' ', old[a].clone()));
            (a, b) = (a + 1, b + 1);
        } else if b == new.len() || a < old.len() && common[a + 1][b] >= common[a][b + 1] {
            lines.push(('-', old[a].clone()));
            a += 1;
        } else {
            lines.push(('+', new[b].clone()));
            b += 1;
        }
    }
    lines
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn body(lines: &[(char, String)]) -> String {
    let lines: Vec<String> = lines.iter().map(|(sign, line)| format!("{sign}{line}")).collect();
    lines.join("\n")
}

/// Lines that a file may hold, blanks at their ends and marks of patches among them.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab ]{0,3}",
        "[*@+-]{1,3} ?[a-z]?",
        Just("*** End Patch".to_owned()),
        "[^\r\n]{0,6}"
    ]
}

/// A line of a patch, or nearly one.
fn any_line() -> impl Strategy<Value = String> {
    let marks =
        [BEGIN, END, ADD, DELETE, UPDATE, MOVE, END_OF_FILE, "@@", "@@ ", "+", "-", " ", "@@é"];
    prop_oneof![prop::sample::select(marks.to_vec()).prop_map(str::to_owned), line(), ".{0,9}"]
}

proptest! {
    #[test]
    fn no_text_is_too_much_for_the_reader(lines in prop::collection::vec(any_line(), 0..12), old in ".{0,20}") {
        let joined = lines.join("\n");
        for patch in [joined.clone(), patch(&joined), patch(&format!("{UPDATE}a\n{joined}"))] {
            for change in parse(&patch).unwrap_or_default() {
                if let Change::Update { hunks, .. } = change {
                    let _ = apply(&old, &hunks);
                }
            }
        }
    }

    #[test]
    fn a_patch_of_two_texts_makes_one_of_the_other(
        old in prop::collection::vec(line(), 0..12),
        new in prop::collection::vec(line(), 0..12),
    ) {
        prop_assume!(old != new);
        let hunks = format!("@@\n{}", body(&difference(&old, &new)));
        prop_assert_eq!(applied(&text(&old), &hunks), text(&new));
    }

    #[test]
    fn so_does_one_of_many_hunks_with_lines_around_them(
        kept in prop::collection::vec(0..4_u8, 1..24),
        around in 1..4_usize,
    ) {
        // No two lines are alike, so that each hunk has one place.
        let of = |wanted: fn(u8) -> bool, word: &str| -> Vec<String> {
            let lines = kept.iter().enumerate().filter(|(_, kind)| wanted(**kind));
            lines.map(|(at, kind)| if *kind < 3 { format!("line {at}") } else { format!("{word} {at}") }).collect()
        };
        let (old, new) = (of(|kind| kind != 1, "old"), of(|kind| kind != 2, "new"));
        prop_assume!(old != new);
        let lines = difference(&old, &new);
        let changed: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].0 != ' ').collect();
        let is_near = |at: usize| changed.iter().any(|changed| changed.abs_diff(at) <= around);
        let mut hunks = String::new();
        for (at, (sign, line)) in lines.iter().enumerate().filter(|(at, _)| is_near(*at)) {
            if at == 0 || !is_near(at - 1) {
                hunks.push_str("@@\n");
            }
            hunks.push_str(&format!("{sign}{line}\n"));
        }
        prop_assert_eq!(applied(&text(&old), hunks.trim_end_matches('\n')), text(&new));
    }

    #[test]
    fn a_replacement_stands_once_and_gives_the_other_text(old in "([ab]\n){0,9}[ab]?", new in "([abc]\n){0,9}[ab]?") {
        match replacement(&old, &new) {
            Some((from, into)) => {
                prop_assert_eq!(old.match_indices(&from).count(), 1);
                prop_assert_eq!(old.replacen(&from, &into, 1), new);
            }
            None => prop_assert!(old == new || old.is_empty()),
        }
    }
}
