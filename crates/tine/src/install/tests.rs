use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::cli::Host;

const HOSTS: [Host; 3] = [Host::ClaudeCode, Host::Codex, Host::OpenCode];
const JSON_HOSTS: [Host; 2] = [Host::ClaudeCode, Host::OpenCode];

pub(super) fn settings(text: &str) -> Settings {
    let path = PathBuf::from("/tine-of-a-test/settings");
    Settings { target: path.clone(), path, text: Some(text.to_owned()) }
}

pub(super) fn written(change: Result<Change, String>) -> Result<String, String> {
    match change? {
        Change::Write { text, .. } => Ok(text),
        other => panic!("{other:?}"),
    }
}

/// The text with tine in it. On the way: a second time changes nothing, another program takes the place of the first, and taking either out
/// gives the text.
pub(super) fn installed(host: impl Entry, text: &str) -> Result<String, String> {
    let after = written(settings(text).with_tine(host, "tine"))?;
    assert_eq!(settings(&after).with_tine(host, "tine"), Ok(Change::Nothing), "{after:?}");
    assert_eq!(written(settings(&after).without_tine(host)).as_deref(), Ok(text), "{after:?}");
    let other = written(settings(&after).with_tine(host, "/opt/a \"b\"/tine"))?;
    assert_ne!(other, after);
    assert_eq!(written(settings(&other).without_tine(host)).as_deref(), Ok(text), "{other:?}");
    assert_eq!(written(settings(&other).with_tine(host, "tine")).as_deref(), Ok(after.as_str()));
    Ok(after)
}

/// The text without tine.
fn removed(host: Host, text: &str) -> String {
    written(settings(text).without_tine(host)).unwrap()
}

#[test]
fn an_entry_goes_in_as_the_file_is_laid_out() {
    let both = |host: Host, text: &str| installed(host, text).unwrap();
    insta::assert_snapshot!(both(Host::ClaudeCode, "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}"), @r#"
    {
      "a": 1,
      "mcpServers": {
        "b": {},
        "tine": {
          "type": "stdio",
          "command": "tine",
          "args": [
            "mcp"
          ],
          "env": {}
        }
      }
    }
    "#);
    insta::assert_snapshot!(both(Host::ClaudeCode, "{\n  \"mcpServers\": {},\n  \"a\": 1\n}"), @r#"
    {
      "mcpServers": {
        "tine": {
          "command": "tine",
          "args": [
            "mcp"
          ],
          "env": {},
          "type": "stdio"
        }
      },
      "a": 1
    }
    "#);
    insta::assert_snapshot!(both(Host::ClaudeCode, "{}"), @r#"{"mcpServers":{"tine":{"type":"stdio","command":"tine","args":["mcp"],"env":{}}}}"#);
    insta::assert_snapshot!(both(Host::ClaudeCode, ""), @r#"{ "mcpServers":{"tine":{"type":"stdio","command":"tine","args":["mcp"],"env":{}}}}"#);
    insta::assert_snapshot!(both(Host::ClaudeCode, "{\"a\": 1, \"mcpServers\": {}}"), @r#"{"a": 1, "mcpServers": {"tine":{"command":"tine","args":["mcp"],"env":{},"type":"stdio"}}}"#);
    insta::assert_snapshot!(both(Host::OpenCode, "// mine\n{\n\t\"model\": \"a/b\", // the good one\n\t\"mcp\": {\n\t\t\"b\": {}, // one\n\t\t// two\n\t},\n}\n"), @r#"
    // mine
    {
    	"model": "a/b", // the good one
    	"mcp": {
    		"b": {}, // one
    		// two
    		"tine": {
    			"type": "local",
    			"command": [
    				"tine",
    				"mcp"
    			],
    			"enabled": true
    		},
    	},
    }
    "#);
    insta::assert_snapshot!(both(Host::Codex, "model = \"a\" # mine\n\n[mcp_servers.b]\ncommand = \"b\"\n"), @r#"
    model = "a" # mine

    [mcp_servers.b]
    command = "b"

    [mcp_servers.tine]
    command = "tine"
    args = ["mcp"]
    "#);
    insta::assert_snapshot!(both(Host::Codex, "mcp_servers = { b = { command = \"b\" } }"), @r#"mcp_servers = { b = { command = "b" } , tine = { command = "tine", args = ["mcp"] } }"#);
}

#[test]
fn files_of_any_form_come_back_to_the_byte() {
    for text in [
        "",
        "\n",
        " ",
        "\u{feff}",
        "{}",
        "{}\n",
        "{ }",
        "{\n}",
        "{\n}\n",
        "{\n\n}\r\n",
        "\u{feff}{}",
        "// a",
        "/* a */ {} // b",
        "{\"mcpServers\":{},\"mcp\":{}}",
        "{\n  \"mcp\": {},\n  \"mcpServers\": {}\n}\n",
        "{\"mcp\":{ },\"mcpServers\":{\n}}",
        "{\n  \"mcp\": {\n  },\n  \"mcpServers\": {\n  }\n}\n",
        "{ // a\n}",
        "{ /* a */ }",
        "{\"mcp\": { /* a */ }, \"mcpServers\": { // b\n } }",
        "{\r\n\t\"a\": [1, 2],\r\n}\r\n",
        "{\"a\":1}",
        "{\"a\":1 /* b */ }",
        "{\"a\":1 /* b */ , /* c */ }",
        "{\"a\": {}}",
        "{\"mcp\\u0053ervers\": {}, \"mc\\u0070\": {}}",
        "{\"mcp\": {\"a\": 1}, \"mcpServers\": {\"a\": 1} }",
    ] {
        for host in JSON_HOSTS {
            installed(host, text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
        }
    }
    for text in [
        "",
        "\n",
        " ",
        "\u{feff}",
        "\u{feff}a = 1\r\n",
        "# a",
        "# a\n",
        "a = 1",
        "a = 1\n\n\n",
        "a = 1\r\nb = 2\n",
        "b = 2\na = 1\r\n",
        "[mcp_servers]\n",
        "[mcp_servers]",
        "[mcp_servers.a]\ncommand = \"a\"\n",
        "mcp_servers.a.command = \"b\"\n",
        "mcp_servers = {}\n",
        "mcp_servers = { a = { command = \"b\" } } # c\n[d]\n",
        "[[a]]\nb = 1\n[[a]]\nb = \"\"\"\n\"\"\"",
        "[\"mcp_servers\".'a']\n\tcommand = \"a\" # b",
    ] {
        installed(Host::Codex, text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
    }
}

#[test]
fn a_file_that_tine_made_goes_with_its_folders() {
    for host in HOSTS {
        for folders in 0..3 {
            let text = host.new_file("tine") + "\n".repeat(folders).as_str();
            assert_eq!(settings(&text).with_tine(host, "tine"), Ok(Change::Nothing));
            let other = written(settings(&text).with_tine(host, "/tine")).unwrap();
            for text in [text, other] {
                let gone = Ok(Change::Delete { folders });
                assert_eq!(settings(&text).without_tine(host), gone, "{text}");
            }
        }
    }
}

#[test]
fn what_others_changed_since_stays() {
    let rewritten = |text: &str, more: &str| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        value.as_object_mut().unwrap().insert(more.to_owned(), 1.into());
        serde_json::to_string_pretty(&value).unwrap()
    };
    // Claude Code writes its file anew, with its own layout.
    for text in ["{}", "{\"mcpServers\":{}}", "{\"a\": 1}", "{\"mcpServers\":{\"a\":{}}, \"b\":1}"]
    {
        let after = installed(Host::ClaudeCode, text).unwrap();
        let rest = removed(Host::ClaudeCode, &rewritten(&after, "more"));
        assert_eq!(rest, rewritten(text, "more"), "{text}");
    }
    let made = rewritten(&Host::ClaudeCode.new_file("tine"), "more");
    insta::assert_snapshot!(removed(Host::ClaudeCode, &made), @r#"
    {
      "more": 1
    }
    "#);
    // OpenCode writes its schema at the beginning.
    let after = installed(Host::OpenCode, "{ // a\n}").unwrap();
    let after = after.replacen('{', "{\n  \"$schema\": \"x\",", 1);
    insta::assert_snapshot!(removed(Host::OpenCode, &after), @r#"
    {
      "$schema": "x" // a
    }
    "#);
    // Codex adds tables behind, and keeps what it was allowed below.
    for text in ["", "# a\n", "a = 1"] {
        let after = installed(Host::Codex, text).unwrap();
        let more = "\n[mcp_servers.tine.tools.fan]\napproval_mode = \"approve\"\n\n# mine\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n";
        let rest = removed(
            Host::Codex,
            &format!("{}{more}", after.trim_end()).replace("\"mcp\"]", "\"mcp\"]\nenabled = false"),
        );
        let line = if text.is_empty() { String::new() } else { format!("{}\n", text.trim_end()) };
        assert_eq!(rest, format!("{line}\n# mine\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n"));
    }
}

#[test]
fn entries_of_others_are_left_replaced_or_taken_out_whole() {
    let same = r#"{"mcpServers": {"tine": {"command": "tine", "args": ["mcp"], "env": {"A": "1"}, "timeout": 5}}}"#;
    assert_eq!(settings(same).with_tine(Host::ClaudeCode, "tine"), Ok(Change::Nothing));
    let off = r#"{"mcp": {"tine": {"type": "local", "command": ["tine", "mcp"], "enabled": false}, "a": {}}}"#;
    insta::assert_snapshot!(written(settings(off).with_tine(Host::OpenCode, "tine")).unwrap(), @r#"{"mcp": { "a": {}, "tine":{"type":"local","command":["tine","mcp"],"enabled":true}}}"#);
    insta::assert_snapshot!(removed(Host::OpenCode, off), @r#"{"mcp": { "a": {}}}"#);
    for text in [
        "mcp_servers.tine.command = \"a\"\nb = 1\n",
        "[mcp_servers]\ntine = { url = \"http://a\" }\nb = { command = \"b\" }\n",
        "mcp_servers = { tine = { command = \"a\" } }\n",
        "[mcp_servers.tine]\ncommand = \"a\"\n[mcp_servers.tine.env]\nA = \"b\"\n[c]\n",
        "[c]\n# mine\n[mcp_servers.tine]\nargs = []\ncommand = \"a\" # b",
    ] {
        let after = written(settings(text).with_tine(Host::Codex, "tine")).unwrap();
        assert!(Host::Codex.has(&after, "tine").unwrap(), "{after}");
        let rest = removed(Host::Codex, text);
        assert_eq!(removed(Host::Codex, &after), rest);
        assert!(
            toml_edit::Document::parse(rest.as_str()).is_ok() && !rest.contains("tine"),
            "{rest}"
        );
    }
}

#[test]
fn what_is_no_settings_file_is_refused() {
    let refused = |host: Host, text: &str| {
        let why = settings(text).with_tine(host, "tine").unwrap_err();
        assert!(
            settings(text).without_tine(host) != Ok(Change::Nothing) || text.ends_with("{ }"),
            "{text}"
        );
        format!("{text:?}: {why}")
    };
    let json = [
        "{",
        "{\"a\": }",
        "[]",
        "1",
        "{} {}",
        "{'a': 1}",
        "{\"mcp\": 1}",
        "{\"mcp\": null}",
        "{\"mcp\": {}, \"mcp\": {}}",
        "{\"mcp\": {\"tine\": 1, \"tine\": 2}}",
    ];
    let toml = [
        "= =",
        "mcp_servers = 1",
        "[mcp_servers]\ntine = 2",
        "[[mcp_servers]]\n",
        "[a]\n[a]\n",
        "mcp_servers = { }",
    ];
    let all = json.map(|text| refused(Host::OpenCode, text)).into_iter();
    let all = all.chain(toml.map(|text| refused(Host::Codex, text)));
    insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @r#"
    "{": Unterminated object on line 1 column 1
    "{\"a\": }": Unexpected close brace on line 1 column 7
    "[]": it holds no object
    "1": it holds no object
    "{} {}": Text cannot contain more than one JSON value on line 1 column 4
    "{'a': 1}": Single-quoted strings are not allowed on line 1 column 2
    "{\"mcp\": 1}": `mcp` is not an object
    "{\"mcp\": null}": `mcp` is not an object
    "{\"mcp\": {}, \"mcp\": {}}": `mcp` stands there twice
    "{\"mcp\": {\"tine\": 1, \"tine\": 2}}": `tine` stands there twice
    "= =": extra `=`, expected nothing on line 1
    "mcp_servers = 1": `mcp_servers` is not a table
    "[mcp_servers]\ntine = 2": `mcp_servers.tine` is not a table
    "[[mcp_servers]]\n": `mcp_servers` is not a table
    "[a]\n[a]\n": duplicate key on line 2
    "mcp_servers = { }": it is written in a way in which a change could not be taken back
    "#);
}

#[test]
fn a_change_is_shown_by_its_lines_without_secrets() {
    let shown = |before: &str, after: &str| {
        let lines = show::changed_lines(before, after);
        lines.iter().map(show::Line::plain).collect::<Vec<_>>().join("\n")
    };
    let key = format!("sk-ant-api03-{}", "aB3-".repeat(20));
    let text = format!("{{\n  \"a\": {{\n    \"b\": 1\n  }},\n  \"apiKey\": \"{key}\"\n}}");
    let after = installed(Host::ClaudeCode, &text).unwrap();
    insta::assert_snapshot!(shown(&text, &after), @r#"
    -   "apiKey": "[redacted: Anthropic key]"
    +   "apiKey": "[redacted: Anthropic key]",
    +   "mcpServers": {
    +     "tine": {
    +       "type": "stdio",
    +       "command": "tine",
    +       "args": [
    +         "mcp"
    +       ],
    +       "env": {}
    +     }
    +   }
    "#);
    let long = format!("{{\"a\":\"{}é\"}}", "ä".repeat(100_000));
    insta::assert_snapshot!(shown(&long, &installed(Host::OpenCode, &long).unwrap()), @r#"
    - …äääääääääääääääääääääääääääääääääääääääääääääääääé"}
    + …äääääääääääääääääääääääääääääääääääääääääääääääääé", "mcp":{"tine":{"type":"local","command":["tine","mcp"],"enabled":true}}}
    "#);
}

#[test]
fn a_program_is_named_where_path_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("tine-1"), folder.path().join("bin/tine"));
    fs::create_dir(folder.path().join("bin")).unwrap();
    fs::copy("/proc/self/exe", &real)
        .or_else(|_| fs::copy(std::env::current_exe().unwrap(), &real))
        .unwrap();
    let bin = folder.path().join("bin");
    let found = |path: &Path| hosts::is_found_by_name(&real, path.as_os_str());
    assert!(!found(&bin));
    std::os::unix::fs::symlink(&real, link).unwrap();
    assert!(found(&bin));
    assert!(!found(Path::new("bin")) && !found(Path::new("")));
}

fn blanks() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => Just(""), 3 => Just(" "), 3 => Just("\n"), 1 => Just("\r\n"), 2 => Just("\t"), 2 => Just("\n    "),
        1 => Just("/* \",}{ */"), 1 => Just("// \"}, \n"),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1"),
        Just("null"),
        Just("\"\""),
        Just("\"},{ \\\" // é\""),
        Just("[1, 2]"),
        Just("{}")
    ];
    leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, |value| {
        members(prop::collection::vec(value, 0..3).prop_map(named).boxed())
    })
}

fn named(values: Vec<String>) -> Vec<(String, String)> {
    values.into_iter().enumerate().map(|(at, value)| (format!("k{at}"), value)).collect()
}

/// An object in a layout that nobody would choose.
fn members(members: BoxedStrategy<Vec<(String, String)>>) -> impl Strategy<Value = String> {
    (members, prop::collection::vec(blanks(), 20), any::<bool>()).prop_map(
        |(members, blanks, comma)| {
            let mut blanks = blanks.into_iter().cycle();
            let mut blank = || blanks.next().unwrap_or_default();
            let mut out = format!("{{{}", blank());
            let last = members.len().saturating_sub(1);
            for (at, (name, value)) in members.into_iter().enumerate() {
                let comma = if at < last || comma { "," } else { "" };
                out.push_str(&format!(
                    "\"{name}\"{}:{}{value}{}{comma}{}",
                    blank(),
                    blank(),
                    blank(),
                    blank()
                ));
            }
            out + "}"
        },
    )
}

fn json_settings() -> impl Strategy<Value = String> {
    let list =
        prop::option::of(members(prop::collection::vec(value(), 0..3).prop_map(named).boxed()));
    let all =
        (prop::collection::vec(value(), 0..3), list, 0_usize..4).prop_map(|(values, list, at)| {
            let mut all = named(values);
            if let Some(list) = list {
                let at = at.min(all.len());
                all.insert(at, ("mcpServers".to_owned(), list.clone()));
                all.push(("mcp".to_owned(), list));
            }
            all
        });
    let root = prop_oneof![9 => members(all.boxed()), 1 => Just(String::new())];
    (any::<bool>(), blanks(), root, blanks()).prop_map(|(mark, before, root, after)| {
        let mark = if mark { "\u{feff}" } else { "" };
        format!("{mark}{before}{root}{after}")
    })
}

fn toml_settings() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(""),
        Just(""),
        Just("# a [b] \"\"\""),
        Just("  k@ = 1 # b"),
        Just("k@ = { a = [1, 2], b = '''\nx\n''' }"),
        Just("k@.b.c = \"[x]\""),
        Just("[t@]"),
        Just("\t[t@.'a b'] # c"),
        Just("[[u@]]"),
        Just("[mcp_servers.s@]\ncommand = \"a\""),
        Just("[mcp_servers.s@.env]"),
        Just("[mcp_servers]"),
        Just("mcp_servers.s@ = { command = \"a\" }"),
        Just("mcp_servers = { s@ = { command = \"a\" }, x = {} }"),
        Just("mcp_servers={}"),
    ];
    let newline = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    (any::<bool>(), prop::collection::vec((line, newline), 0..7), any::<bool>()).prop_map(
        |(mark, lines, ends)| {
            let mut out = if mark { "\u{feff}".to_owned() } else { String::new() };
            for (at, (line, newline)) in lines.into_iter().enumerate() {
                out.push_str(&line.replace('@', &at.to_string()));
                out.push_str(newline);
            }
            if ends { out } else { out.trim_end_matches(['\r', '\n']).to_owned() }
        },
    )
}

proptest! {
    #[test]
    fn any_json_comes_back_to_the_byte(text in json_settings()) {
        for host in JSON_HOSTS {
            prop_assert!(installed(host, &text).is_ok(), "{text}");
        }
    }

    #[test]
    fn any_toml_comes_back_to_the_byte(text in toml_settings()) {
        let body = split_mark(&text).1;
        let document = toml_edit::Document::parse(body);
        // A list on one line is changed by the editor of the parser, which knows one kind of newline.
        let is_inline = document.as_ref().is_ok_and(|document| {
            document.get("mcp_servers").is_some_and(toml_edit::Item::is_inline_table)
        });
        let is_mixed = body.contains("\r\n") && body.replace("\r\n", "").contains('\n');
        let is_settings = document.is_ok() && !(is_inline && is_mixed);
        prop_assert_eq!(installed(Host::Codex, &text).is_ok(), is_settings, "{}", text);
    }
}
