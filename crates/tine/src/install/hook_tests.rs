use proptest::prelude::*;
use serde_json::Value;

use super::tests::{installed, settings, written};
use super::*;
use crate::cli::HookHost;

const HOST: HookHost = HookHost::ClaudeCode;

#[test]
fn a_hook_goes_in_as_the_file_is_laid_out() {
    let both = |text: &str| installed(HOST, text).unwrap();
    insta::assert_snapshot!(both("{\n  \"model\": \"opus\"\n}\n"), @r#"
    {
      "model": "opus",
      "hooks": {
        "UserPromptSubmit": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "tine gateway hook",
                "timeout": 10
              }
            ]
          }
        ]
      }
    }
    "#);
    insta::assert_snapshot!(both("{\n\t\"hooks\": {\n\t\t\"UserPromptSubmit\": [\n\t\t\t{ \"hooks\": [] }\n\t\t]\n\t}\n}\n"), @r#"
    {
    	"hooks": {
    		"UserPromptSubmit": [
    			{ "hooks": [] },
    			{
    				"hooks": [
    					{
    						"type": "command",
    						"command": "tine gateway hook",
    						"timeout": 10
    					}
    				]
    			}
    		]
    	}
    }
    "#);
    insta::assert_snapshot!(both("{\"hooks\":{}}"), @r#"{"hooks":{"UserPromptSubmit":[{"hooks":[{"command":"tine gateway hook","timeout":10,"type":"command"}]}]}}"#);
    insta::assert_snapshot!(both("{\"hooks\": {\"UserPromptSubmit\": []}, \"a\": 1}"), @r#"{"hooks": {"UserPromptSubmit": [{"hooks":[{"command":"tine gateway hook","type":"command","timeout":10}]}]}, "a": 1}"#);
    insta::assert_snapshot!(both(""), @r#"{ "hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"tine gateway hook","timeout":10}]}]}}"#);
}

#[test]
fn a_file_of_the_hook_alone_goes_with_its_folders() {
    for folders in 0..3 {
        let text = HOST.new_file("tine") + "\n".repeat(folders).as_str();
        assert_eq!(settings(&text).with_tine(HOST, "tine"), Ok(Change::Nothing));
        let other = written(settings(&text).with_tine(HOST, "/opt/a b/tine")).unwrap();
        assert!(other.contains("'/opt/a b/tine' gateway hook"), "{other}");
        for text in [text, other] {
            assert_eq!(settings(&text).without_tine(HOST), Ok(Change::Delete { folders }));
        }
    }
}

#[test]
fn what_others_changed_since_stays() {
    let hook = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    for text in ["{}", "{\"hooks\":{}}", "{\"hooks\":{\"UserPromptSubmit\":[]}}", "{\"a\":1}"] {
        let mut after = hook(&installed(HOST, text).unwrap());
        let mut before = hook(text);
        let group = serde_json::json!({"hooks": [{"type": "command", "command": "x"}]});
        for settings in [&mut after, &mut before] {
            let stops = serde_json::json!([group]);
            settings["hooks"]["Stop"] = stops;
        }
        let rest = written(settings(&after.to_string()).without_tine(HOST)).unwrap();
        let mut rest = hook(&rest);
        // A list that was there, empty, may stay so.
        for settings in [&mut rest, &mut before] {
            let hooks = settings["hooks"].as_object_mut().unwrap();
            hooks.retain(|_, groups| groups != &serde_json::json!([]));
        }
        assert_eq!(rest, before);
    }
}

#[test]
fn what_is_no_list_of_hooks_is_refused() {
    let ours = r#"{"type": "command", "command": "tine gateway hook"}"#;
    let all = [
        "{\"hooks\": []}".to_owned(),
        "{\"hooks\": {\"UserPromptSubmit\": {}}}".to_owned(),
        "{\"hooks\": {\"UserPromptSubmit\": [1]}}".to_owned(),
        "{\"hooks\": {\"UserPromptSubmit\": [{}]}}".to_owned(),
        "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": {}}]}}".to_owned(),
        "{} // mine".to_owned(),
        "{\"a\": 1,}".to_owned(),
        format!("{{\"hooks\": {{\"UserPromptSubmit\": [{{\"hooks\": [{ours}, {ours}]}}]}}}}"),
        format!("{{\"hooks\": {{\"UserPromptSubmit\": [{{\"hooks\": [{ours}, {{}}]}}]}}}}"),
    ];
    let why = all.map(|text| {
        let why = settings(&text).with_tine(HOST, "/other/tine").unwrap_err();
        format!("{text}: {why}")
    });
    insta::assert_snapshot!(why.join("\n"), @r#"
    {"hooks": []}: `hooks` is not an object
    {"hooks": {"UserPromptSubmit": {}}}: `UserPromptSubmit` is not a list
    {"hooks": {"UserPromptSubmit": [1]}}: `UserPromptSubmit` holds what is not an object
    {"hooks": {"UserPromptSubmit": [{}]}}: a group of `UserPromptSubmit` has no `hooks`
    {"hooks": {"UserPromptSubmit": [{"hooks": {}}]}}: `hooks` is not a list
    {} // mine: it holds comments or commas that the host does not read
    {"a": 1,}: it holds comments or commas that the host does not read
    {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "tine gateway hook"}, {"type": "command", "command": "tine gateway hook"}]}]}}: tine's hook stands there twice
    {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "tine gateway hook"}, {}]}]}}: tine's hook stands in one group with others
    "#);
}

#[test]
fn an_entry_of_a_person_stays_as_it_is() {
    let text = r#"{"hooks": {"UserPromptSubmit": [{"matcher": "", "hooks": [{"command": "tine gateway hook", "type": "command", "timeout": 3}, {"type": "command", "command": "x"}]}]}}"#;
    assert_eq!(settings(text).with_tine(HOST, "tine"), Ok(Change::Nothing));
}

fn blanks() -> impl Strategy<Value = String> {
    let piece = prop_oneof![6 => Just(""), 3 => Just(" "), 3 => Just("\n"), 1 => Just("\r\n"), 2 => Just("\t"), 2 => Just("\n    ")];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// Parts between brackets, with blanks that nobody would choose.
fn joined(open: char, parts: Vec<String>, blanks: &[String], close: char) -> String {
    let mut blanks = blanks.iter().cycle();
    let mut blank = || blanks.next().cloned().unwrap_or_default();
    let last = parts.len().saturating_sub(1);
    let mut out = format!("{open}{}", blank());
    for (at, part) in parts.into_iter().enumerate() {
        let comma = if at < last { "," } else { "" };
        out.push_str(&format!("{part}{}{comma}{}", blank(), blank()));
    }
    out.push(close);
    out
}

fn hook_settings() -> impl Strategy<Value = String> {
    let groups = prop::option::of(0_usize..3);
    let hooks = prop::option::of((groups, 0_usize..2));
    let spaces = prop::collection::vec(blanks(), 1..9);
    (hooks, 0_usize..3, spaces, prop::bool::weighted(0.1)).prop_map(
        |(hooks, others, spaces, is_empty)| {
            if is_empty {
                return spaces.concat();
            }
            let mut parts: Vec<String> = (0..others).map(|at| format!("\"k{at}\":1")).collect();
            if let Some((groups, events)) = hooks {
                let mut of_hooks: Vec<String> =
                    (0..events).map(|at| format!("\"Stop{at}\": []")).collect();
                if let Some(groups) = groups {
                    let group = r#"{"hooks": [{"type": "command", "command": "x"}]}"#;
                    let groups = joined('[', vec![group.to_owned(); groups], &spaces, ']');
                    of_hooks.push(format!("\"UserPromptSubmit\":{groups}"));
                }
                parts.insert(0, format!("\"hooks\":{}", joined('{', of_hooks, &spaces, '}')));
            }
            let around = &spaces[0];
            format!("{around}{}{around}", joined('{', parts, &spaces, '}'))
        },
    )
}

proptest! {
    #[test]
    fn any_settings_come_back_to_the_byte(text in hook_settings()) {
        let after = installed(HOST, &text);
        prop_assert!(after.is_ok(), "{text:?}: {after:?}");
        let after = after.unwrap_or_default();
        prop_assert!(serde_json::from_str::<Value>(&after).is_ok(), "{after:?}");
    }
}
