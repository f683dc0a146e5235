use proptest::prelude::*;
use tine_model::Role;

use super::*;

fn parse(text: &str) -> Result<Suite, SuiteError> {
    Suite::parse(text, Path::new("evals/some.toml"), Path::new("/nowhere"))
}

/// What a user is told of a suite that is wrong.
fn wrong(text: &str) -> String {
    let error = parse(text).unwrap_err();
    let hint = error.hint().map(|hint| format!("\nhint: {hint}"));
    format!("{error}{}", hint.unwrap_or_default())
}

#[test]
fn a_suite_is_read_with_its_defaults() {
    let suite = parse(
        r#"
        description = "Counting."

        [defaults]
        model = "sim/echo"
        directive = "worker"
        max_turns = 7
        timeout = 1.5

        [[tool]]
        name = "Agent"
        description = "Starts an agent."
        answer = "Started."

        [[case]]
        name = "count"
        prompt = "Count the files."
        tools = ["Glob", "Agent"]
        messages = [
          { role = "user", text = "Look around." },
          { role = "assistant", text = "I look.", calls = [{ id = "c1", tool = "Glob", input = { pattern = "*" } }] },
          { role = "user", results = [{ call = "c1", text = "a.txt" }], text = "And?" },
        ]
        filter = "read-only"
        repeat = 3
        expect.report = { contains = "files", matches = ['\d+'], has_scope = true }
        expect.tool_calls = { must = ["Glob"], must_not = ["Bash", "FileWrite(a.txt)"], max = 2 }
        expect.files = { "a.txt" = false, "b.txt" = ["x", "y"] }

        [[case]]
        name = "plain"
        prompt = "Say hello."
        directive = "plain"
        model = "anthropic/m"
        "#,
    )
    .unwrap();
    assert_eq!((suite.name.as_str(), suite.cases.len()), ("some", 2));
    let count = &suite.cases[0];
    assert_eq!((count.directive, count.max_turns, count.repeat), (Directive::Worker, 7, 3));
    assert_eq!(count.timeout, Duration::from_millis(1_500));
    assert_eq!((count.tools.join(" "), count.stand_ins.len()), ("Glob".to_owned(), 1));
    let roles: Vec<Role> = count.messages.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert_eq!(count.messages[2].blocks().len(), 2, "the result, and what was said with it");
    assert_eq!(count.filter, FilterKind::ReadOnly);
    let calls: Vec<String> =
        count.expect.tool_calls.must_not.iter().map(ToString::to_string).collect();
    assert_eq!(calls, ["Bash", "FileWrite(a.txt)"]);
    let plain = &suite.cases[1];
    assert!(plain.directive == Directive::Plain && plain.stand_ins.is_empty());
    assert_eq!(
        plain.tools.join(" "),
        "FileEdit FileRead FileWrite Glob Grep",
        "no Bash unless asked"
    );
}

#[test]
fn the_model_is_the_forced_one_or_the_cases_or_the_fallback() {
    let suite = parse(
        "[[case]]\nname = \"a\"\nprompt = \"x\"\n[[case]]\nname = \"b\"\nprompt = \"x\"\nmodel = \"sim/own\"",
    )
    .unwrap();
    let model = |name: &str| name.parse::<ModelRef>().unwrap();
    let names = |forced: Option<&str>, fallback: Option<&str>| {
        let (forced, fallback) = (forced.map(model), fallback.map(model));
        let models = suite.models(forced.as_ref(), fallback.as_ref())?;
        Ok(models.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(names(None, Some("sim/f")), Ok("sim/f sim/own".to_owned()));
    assert_eq!(names(Some("sim/x"), Some("sim/f")), Ok("sim/x sim/x".to_owned()));
    assert_eq!(names(None, None), Err(NoModel("a".to_owned())));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let case = "[[case]]\nname = \"a\"\nprompt = \"x\"\n";
    insta::assert_snapshot!(wrong(&format!("{case}promt = \"y\"")), @r"
    evals/some.toml:4: unknown key `promt` in a case
    hint: did you mean `prompt`?
    ");
    insta::assert_snapshot!(wrong(&format!("{case}[case.expect.report]\ncolour = 1")), @r"
    evals/some.toml:5: unknown key `colour` in what is expected of the report
    hint: the keys are contains, matches, absent, has_scope
    ");
    insta::assert_snapshot!(wrong(&format!("{case}timeout = -1")), @"evals/some.toml:4: `timeout` is a number of seconds, more than 0 and at most a day");
    insta::assert_snapshot!(wrong(&format!("{case}stray = \"work\"")), @"evals/some.toml:4: unknown check `work`, expected one of `no_work`, `echo`, `missing_scope`, `foreign_task`, `loop`, `claims`, `too_long`, `denied`");
    insta::assert_snapshot!(wrong(&format!("{case}filter = \"some\"")), @"evals/some.toml:4: unknown variant `some`, expected one of `all`, `read-only`, `memory`");
    insta::assert_snapshot!(wrong(&format!("{case}model = \"opus\"")), @"evals/some.toml:4: `opus` is not a model: models are written provider/name");
    insta::assert_snapshot!(wrong(&format!("{case}tools = [\"FileReed\"]")), @r"
    evals/some.toml:1: there is no tool `FileReed`
    hint: did you mean `FileRead`?
    ");
    insta::assert_snapshot!(wrong(&format!("{case}expect.report.matches = \"(\"")), @"evals/some.toml:1: `(` is not a regular expression: unclosed group");
    insta::assert_snapshot!(wrong(&format!("{case}expect.files = {{ \"../x\" = true }}")), @"evals/some.toml:1: `../x` is no path inside the case's directory");
    insta::assert_snapshot!(wrong(&format!("{case}fixture = \"none\"")), @r"
    evals/some.toml:1: the fixture `none` is not a directory
    hint: `fixture` is a directory beside the suite; each run works in a copy of it
    ");
    insta::assert_snapshot!(wrong(&format!("{case}{case}")), @"evals/some.toml:4: two cases are called `a`");
    insta::assert_snapshot!(wrong("[[case]]\nname = \"a\""), @"evals/some.toml:1: the case `a` needs a `prompt`");
    insta::assert_snapshot!(wrong("name = \"empty\""), @r"
    evals/some.toml:1: there are no cases
    hint: a suite is made of `[[case]]` tables, each with `name` and `prompt`
    ");
    insta::assert_snapshot!(wrong("name = "), @"evals/some.toml:1: string values must be quoted, expected literal string");
    let message = "messages = [{ role = \"user\", results = [{ call = \"c9\", text = \"\" }] }]";
    insta::assert_snapshot!(wrong(&format!("{case}{message}")), @"evals/some.toml:1: message 1: the message before makes no call `c9`");
    let message = "messages = [{ role = \"assistant\", text = \"Hi\" }]";
    insta::assert_snapshot!(wrong(&format!("{case}{message}")), @"evals/some.toml:1: message 1: the assistant answers a message of the user's");
}

proptest! {
    /// Shows: whatever stands in the file, reading it ends in a suite or in an error that names a line of it.
    #[test]
    fn no_text_is_too_much(
        parts in prop::collection::vec(prop_oneof![
            Just("[[case]]\n".to_owned()), Just("name = \"a\"\n".to_owned()), Just("prompt = \"p\"\n".to_owned()),
            Just("[case.expect]\n".to_owned()), Just("messages = [{ role = \"user\" }]\n".to_owned()),
            Just("[defaults]\n".to_owned()), Just("[[tool]]\n".to_owned()), Just("answer = 1\n".to_owned()),
            Just("expect.files = { \"é\" = true }\n".to_owned()), Just("repeat = 99999999999999999999\n".to_owned()),
            "[a-z_]{1,9} = .{0,12}\n", ".{0,20}\n",
        ], 0..12)
    ) {
        let text = parts.concat();
        match parse(&text) {
            Ok(suite) => prop_assert!(!suite.cases.is_empty()),
            Err(SuiteError::Wrong { line, what, .. }) => {
                prop_assert!((1..=text.lines().count() + 1).contains(&line), "{line}");
                prop_assert!(!what.is_empty() && !what.contains('\n'));
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
