use proptest::prelude::*;

use super::*;
use crate::shell::ShellText;

/// Whether a rule that denies meets the command: `yes`, `no`, or why it may.
fn meets(pattern: &str, command: &str) -> String {
    let shell = ShellText::new(command);
    match CommandPattern::new(pattern).meets(command, shell.reading(), Path::new("/srv/app")) {
        Meets::No => "no".to_owned(),
        Meets::Perhaps(why) => why,
        Meets::Yes => "yes".to_owned(),
    }
}

fn allowed(patterns: &[&str], command: &str) -> bool {
    let patterns: Vec<CommandPattern> =
        patterns.iter().map(|text| CommandPattern::new(text)).collect();
    all_allowed(patterns.iter(), command, ShellText::new(command).reading())
}

#[test]
fn a_denying_pattern_meets_the_command_however_it_is_written() {
    for command in [
        "git push",
        "git  push origin",
        "'git' \"push\"",
        "/usr/bin/git push",
        "FOO=1 git push",
        "env git push",
        "git -C x push",
        "git -c a.b=c --no-pager push",
        "cd x && git push",
        "bash -c 'git push'",
        "echo `git push`",
    ] {
        assert_eq!(meets("git push*", command), "yes", "{command}");
        assert_eq!(meets("git push *", command), "yes", "{command}");
    }
    for command in [
        "echo 'git push' is forbidden",
        "git status",
        "git log --grep push",
        "gitk push",
        "sudo echo git push",
    ] {
        assert_eq!(meets("git push*", command), "no", "{command}");
    }
    insta::assert_snapshot!(meets("git push*", "git $x"), @"not every word of `git …` is known");
    insta::assert_snapshot!(meets("git push*", "$x push"), @"not every word of `… push` is known");
    insta::assert_snapshot!(meets("git push*", "git p"), @"not every word of `git p` is known");
    insta::assert_snapshot!(meets("git push*", "sh -c \"$x\""), @"what `sh -c …` runs is not known");
    insta::assert_snapshot!(meets("git push*", "ls )"), @"`)` at column 4: this closes nothing");
    assert_eq!(meets("git push*", "ls $x; git status $x; git log *.rs"), "no");
    assert_eq!(meets("rm -rf*", "rm *.o"), "no");
    assert_eq!(meets("*curl*", "a; b | xcurl > y"), "yes");
    assert_eq!(meets("curl * | sh", "curl x | sh"), "yes");
    assert_eq!(meets("git commit -m 'a b'*", "git commit -m \"a b\" -q"), "yes");
}

#[test]
fn a_line_is_allowed_where_every_command_of_it_is() {
    for command in
        ["git log", "git log -p x", "git  log 'a; b'", "git log $x", "git log && git log -1"]
    {
        assert!(allowed(&["git log *"], command), "{command}");
    }
    for command in [
        "git logs",
        "git log; rm y",
        "git log &",
        "git log\nrm",
        "git log | y",
        "git log `y`",
        "git log $(y)",
        "git log <(y)",
        "git log > y",
        "git log < y",
        "PATH=. git log",
        "/tmp/git log",
        "env git log",
        "git -C x log",
        "x=1",
        "git log ${x@P}",
    ] {
        assert!(!allowed(&["git log *"], command), "{command}");
    }
    assert!(allowed(&["git log *", "cargo test*"], "cargo test && git log"));
    assert!(!allowed(&["rm a b"], "rm 'a b'") && allowed(&["rm a b"], "rm  a 'b'"));
    assert!(allowed(&["a | wc *"], "a | wc -l") && !allowed(&["a | wc *"], "a | wc -l; b"));
    assert!(allowed(&["cargo test | tail"], "cargo test | tail"));
    for (pattern, command) in [
        ("CI=1 make *", "CI=1 make x"),
        ("time make *", "time make x"),
        ("ls $HOME/*", "ls $HOME/x"),
        ("cp ~/a *", "cp ~/a b"),
        ("ls {a,b} *", "ls {a,b} -l"),
    ] {
        assert!(allowed(&[pattern], command), "{pattern}");
        assert!(!allowed(&[pattern], &format!("{command}; b")), "{pattern}");
    }
    assert!(allowed(&["echo \"*"], "echo \"\\\"x\"") && allowed(&["it's *"], "it\\'s x"));
}

#[test]
fn many_wildcards_on_a_long_text_end() {
    let pattern = "*a".repeat(400);
    assert!(!covers(&pattern, &"a".repeat(399), same_loosely));
    assert!(covers(&pattern, &"ba".repeat(400), same_loosely));
    assert!(may_cover(&pattern, &"\u{f8ff}".repeat(400)));
}

proptest! {
    /// What a text covers for certain it may cover, whatever of it is not known.
    #[test]
    fn what_is_not_known_takes_no_match_away(
        pattern in "[ab*-]{0,6}",
        text in "[ab-]{0,6}",
        from in 0_usize..6,
        length in 0_usize..4,
    ) {
        let covered = covers(&pattern, &text, same_loosely);
        prop_assert_eq!(covered, may_cover(&pattern, &text));
        let from = from.min(text.len());
        let to = (from + length).min(text.len());
        let unknown = format!("{}{UNKNOWN}{}", &text[..from], &text[to..]);
        prop_assert!(!covered || may_cover(&pattern, &unknown), "{} {}", pattern, unknown);
    }
}
