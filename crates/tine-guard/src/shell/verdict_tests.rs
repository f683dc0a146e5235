//! Reasons as people read them, and the laws of the verdict.

use proptest::prelude::*;

use super::{Width, shell_verdict};

fn reason(command: &str) -> String {
    let verdict = shell_verdict(command, Width::Strict);
    let said = if verdict.read_only { "read-only" } else { "refused" };
    format!("{said}: {}", verdict.reason)
}

#[test]
fn the_reason_names_the_piece_and_its_place() {
    insta::assert_snapshot!(reason("ls -la | wc -l"), @"read-only: only reading commands: `ls`, `wc`");
    insta::assert_snapshot!(reason("ls | sort -o x"), @"refused: `-o` at column 11: not on the list of options that only read");
    insta::assert_snapshot!(reason("ls; rm -rf /"), @"refused: `rm` at column 5: not on the list of commands that only read");
    insta::assert_snapshot!(reason("ls\n  rm x"), @"refused: `rm` at line 2, column 3: not on the list of commands that only read");
    insta::assert_snapshot!(reason("é; rm x"), @"refused: `é` at column 1: not a plain command name");
    insta::assert_snapshot!(reason("echo é; rm x"), @"refused: `rm` at column 9: not on the list of commands that only read");
    insta::assert_snapshot!(reason("cat $(id)"), @"refused: `$(` at column 5: an expansion outside single quotes");
    insta::assert_snapshot!(reason("cat a > b"), @"refused: `> b` at column 7: output may only go to /dev/null");
    insta::assert_snapshot!(reason("sed -n 's/a/b/w out' f"), @"refused: `w out` at column 8: in a script of `sed`: something that is not on the list follows a command");
    insta::assert_snapshot!(reason("find . -name a -delete"), @"refused: `-delete` at column 16: not on the list of what `find` may do");
    insta::assert_snapshot!(reason("git branch new"), @"refused: `new` at column 12: without `--list` this would make a new one");
    insta::assert_snapshot!(reason("cd x && git log"), @"refused: `git` at column 9: after `cd` it may be another repository, whose configuration may run programs");
    insta::assert_snapshot!(reason("ls\r"), @r"refused: `\r` at column 3: a control, blank or invisible character");
    insta::assert_snapshot!(reason(""), @"refused: at column 1: there is no command");
    insta::assert_snapshot!(reason("ls &&"), @"refused: at column 6: a command is missing here");
    insta::assert_snapshot!(reason("sort *"), @"refused: `*` at column 6: a wildcard here may become an option or another operand");
    insta::assert_snapshot!(reason("sort \"$HOME/x\""), @"refused: `$HOME/x` at column 6: what this variable holds is not known, and it matters here");
    insta::assert_snapshot!(reason("echo $KEY"), @"refused: `$KEY` at column 6: a variable that may hold anything");
    insta::assert_snapshot!(reason("A=1 ls"), @"refused: `A=1` at column 1: an assignment may change what runs");
    insta::assert_snapshot!(reason("for f in a; do ls; done"), @"refused: `for` at column 1: a compound command is not judged");
    insta::assert_snapshot!(reason(&format!("ls{}", " x".repeat(70_000))), @"refused: the command is longer than 131072 bytes");
}

fn wide_reason(command: &str) -> String {
    let verdict = shell_verdict(command, Width::Wide);
    let said = if verdict.read_only { "read-only" } else { "refused" };
    format!("{said}: {}", verdict.reason)
}

#[test]
fn the_wide_verdict_explains_itself() {
    insta::assert_snapshot!(wide_reason("for f in *.rs; do head -1 $f; done | sort"), @"read-only: only reading commands: `head`, `sort`");
    insta::assert_snapshot!(wide_reason("x=1"), @"read-only: it runs no command");
    insta::assert_snapshot!(wide_reason("for f in *; do rm $f; done"), @"refused: `rm` at column 16: not on the list of commands that only read");
    insta::assert_snapshot!(wide_reason("for o in -o; do sort $o x; done"), @"refused: `-o` at column 22: not on the list of options that only read");
    insta::assert_snapshot!(wide_reason("sort $(cat a)"), @"refused: `…` at column 6: what this variable holds is not known, and it matters here");
    insta::assert_snapshot!(wide_reason("c=ls; $c"), @"refused: `$c` at column 7: not a plain command name");
    insta::assert_snapshot!(wide_reason("PATH=. ls"), @"refused: `PATH` at column 1: this variable may change what the command does");
    insta::assert_snapshot!(wide_reason("find . -exec rm {} +"), @"refused: `rm` at column 14: not on the list of commands that only read");
    insta::assert_snapshot!(wide_reason("awk '{print > \"x\"}' a"), @"refused: `>` at column 5: in a program of `awk`: it would write a file");
    insta::assert_snapshot!(wide_reason("while true; do date; done"), @"refused: `while` at column 1: a loop without an end is no read");
    insta::assert_snapshot!(wide_reason("x=$(cat a); echo $((x))"), @"refused: `x` at column 21: only numbers may be computed with: bash runs what other texts hold");
    insta::assert_snapshot!(wide_reason("f() { ls; }; f"), @"refused: `(` at column 2: a function or list is not judged here");
    insta::assert_snapshot!(wide_reason("for f in a; do ls"), @"refused: at column 18: `done` is missing here");
}

/// The text of a variable without quotes may end with a blank, so that what stands behind it is an option.
#[test]
fn a_variable_divides_no_option_off() {
    for text in [
        "for f in *; do sort $f-oz; done",
        "for f in *; do find $f-delete; done",
        "for f in *; do find $f\"-delete\"; done",
        "for f in *; do git log a$f--output=z; done",
        "for f in *; do tree $(ls)-oz; done",
        "x=$(cat f); find a$x-delete",
        "x=$(cat f); find a$x",
        "COLUMNS=-ob; sort $COLUMNS a",
        "COLUMNS=-delete; find a $COLUMNS",
        "COLUMNS=x; echo $((COLUMNS))",
        "cat<2>&1",
        "cat a<<<2>/dev/null",
    ] {
        assert!(wide_reason(text).starts_with("refused"), "{text}");
    }
    for text in [
        "for f in *; do sort \"$f\"-oz; done",
        "for f in *; do find \"$f\"-delete; done",
        "for f in *; do find $f -name x; done",
        "for f in *; do cat $f-old; done",
        "x=$(cat f); find \"a$x\"",
    ] {
        assert!(wide_reason(text).starts_with("read-only"), "{text}");
    }
}

#[test]
fn what_looks_like_a_read_is_told_why_it_is_none() {
    let whys =
        ["make -n", "cargo fmt --check", "git fetch", "terraform plan", "docker ps", "gh pr list"];
    insta::assert_snapshot!(whys.map(wide_reason).join("\n"), @r#"
    refused: `make` at column 1: with `-n` too it runs what `$(shell …)` and `+` in the makefile say
    refused: `cargo` at column 1: it runs code of the project
    refused: `fetch` at column 5: it reaches a network, by programs that settings may name
    refused: `terraform` at column 1: it runs the project's providers, which reach a network
    refused: `docker` at column 1: it speaks to a service that may do anything on the machine
    refused: `gh` at column 1: it reaches a network, by programs that settings may name
    "#);
}

#[test]
fn long_and_deep_texts_end() {
    for piece in [
        "(",
        "{ ",
        "$(",
        "\"",
        "'",
        "\\",
        "[",
        "ls;",
        "ls|",
        "ls\n",
        "a ",
        "*",
        "<",
        "!",
        "if ",
        "@{",
        "#",
        "{a,",
        "{1..9}",
        "{0..0}",
        "ls {1..60};",
        "{a,b}",
        "cat <<'a'\na\n",
        "$HOME",
        "$'",
        "<<< a ",
        "time ",
        "$((",
        "${x:-",
        "`",
        "[[ a && ",
        "((",
        "for x in a; do ",
        "case a in a) ",
        "x=$x$x;x=aa;",
        "x=$(",
        "<(",
        "cat <<E\n$x\n",
        "for x in 1 2 3;do ls;done;",
        "a=$a$a;",
        "$a ",
        "xargs ",
        "timeout 1 ",
        "awk '/' ",
        "x+=(a) ",
        "x=(<",
        "x=(a <b",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        for width in [Width::Strict, Width::Wide] {
            let verdict = shell_verdict(&text, width);
            assert!(verdict.reason.len() < 400, "{}", verdict.reason);
        }
    }
    // Many variables, each of many texts, and many commands behind them.
    let words = (0..40).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let set = |name: usize| format!("for v{name} in {words}; do true; done; ");
    let text = (0..200).map(set).collect::<String>() + &"true && ".repeat(90) + "true";
    let verdict = shell_verdict(&text, Width::Wide);
    assert!(
        verdict.reason.ends_with("this runs too many commands to be judged"),
        "{}",
        verdict.reason
    );
    assert!(shell_verdict(&vec!["ls"; 400].join(" | "), Width::Strict).read_only);
}

/// Pieces that a text for the shell is made of.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "ls",
            "cat",
            "sed",
            "find",
            "git",
            "log",
            "diff",
            "sort",
            "-o",
            "-n",
            "--",
            "-delete",
            "-exec",
            ";",
            "|",
            "&&",
            "||",
            "&",
            "\n",
            ">",
            "<",
            "/dev/null",
            "2>&1",
            "'",
            "\"",
            "\\",
            "$",
            "`",
            "(",
            ")",
            "{",
            "}",
            "*",
            "?",
            "[",
            "]",
            "~",
            "!",
            "#",
            " ",
            "\t",
            "a",
            "s/a/b/w x",
            "<<'E'",
            "\nE\n",
            "<<< ",
            "$HOME",
            "${USER}",
            "$?",
            "$'",
            "{a,b}",
            "{1..3}",
            "time ",
            "for x in ",
            "do ",
            "done",
            "if ",
            "then ",
            "fi",
            "while ",
            "case ",
            "esac",
            "[[ ",
            " ]]",
            "$(",
            "${",
            "((",
            "))",
            "xargs ",
            "awk ",
            "'{print $1}'",
            "x=",
            "$x",
            "\"$x\"",
            "{} \\;",
            ",",
            "-i",
            "é",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
        "[\\x00-\\x7f]{0,4}",
    ]
}

proptest! {
    #[test]
    fn no_text_panics_and_every_reason_is_one_line(text in prop::collection::vec(piece(), 0..24)) {
        let text = text.concat();
        for width in [Width::Strict, Width::Wide] {
            let verdict = shell_verdict(&text, width);
            prop_assert!(!verdict.reason.is_empty());
            prop_assert!(!verdict.reason.chars().any(char::is_control), "{:?}", verdict.reason);
            prop_assert_eq!(&verdict, &shell_verdict(&text, width));
        }
    }

    #[test]
    fn a_second_command_is_never_hidden(
        first in prop::sample::select(vec!["ls", "echo 'a'", "cat \"b\"", "grep -v '^#' f", "true # x\n", "find . -name a\\;", "time ls", "echo $?",
            "echo \"$HOME\"", "ls {a,b}", "cat <<< a", "cat <<'E'\nx\nE\nls", "grep $'\\t' a"]),
        separator in prop::sample::select(vec![";", "&&", "||", "|", "\n", " ; ", "&", "|&", "\r", "\n\n"]),
        second in prop::sample::select(vec!["rm a", "tee a", "python3 -c x", "sort -o a b", "sed -i p a", "git add .", "x=1"]),
    ) {
        let text = format!("{first}{separator}{second}");
        prop_assert!(!shell_verdict(&text, Width::Strict).read_only, "{:?}", text);
        // What a variable is set to steers nothing there.
        prop_assert!(second == "x=1" || !shell_verdict(&text, Width::Wide).read_only, "{:?}", text);
    }
}
