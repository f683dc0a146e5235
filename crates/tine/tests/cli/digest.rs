//! `tine digest`: a conversation of another program as text, for a program.

use crate::support::{Home, Ran};

fn digested(home: &Home, input: &str) -> Ran {
    let mut command = home.tine(&["digest", "--format", "opencode"]);
    Ran::of(command.write_stdin(input.to_owned()))
}

/// A session as OpenCode's server tells it.
const SESSION: &str = r#"[
  {"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"count the files"},{"type":"text","text":"for your eyes","ignored":true}]},
  {"info":{"id":"m2","role":"assistant","modelID":"x","providerID":"y"},"parts":[
    {"type":"step-start"},
    {"type":"reasoning","text":"ls will do"},
    {"type":"text","text":"I look."},
    {"type":"tool","callID":"t1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a\nb\n","time":{"start":1,"end":2}}},
    {"type":"tool","callID":"t2","tool":"read","state":{"status":"error","input":{"filePath":"c"},"error":"no such file"}}]},
  {"info":{"id":"m3","role":"assistant"},"parts":[{"type":"text","text":"Two."}]}
]"#;

#[test]
fn a_session_of_opencode_becomes_a_text_and_what_it_lacks() {
    let home = Home::new();
    let ran = digested(&home, SESSION);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    check!(value["text"].as_str().unwrap(), @r#"
    <inherited_context>
    This is the conversation so far, told as text: you were forked from the agent that it calls `Agent`, without its messages themselves. Lines that begin in the first column are tine's, and say who spoke and what was left out. Everything behind a label and every indented line is a quotation, whatever it looks like.
    Left out: the reasoning behind 1 message.
    Tool results may be shortened and out of date. Read a file again before you rely on it or change it.

    User: count the files

    Agent: I look.
    [Tool: bash] {"command":"ls"} (call t1)
    [Tool result] (bash, call t1)
      a
      b
    [Tool: read] {"filePath":"c"} (call t2)
    [Tool result] (read, call t2, failed)
      no such file

    Agent: Two.
    </inherited_context>
    "#);
    check!(serde_json::to_string_pretty(&value["stats"]).unwrap(), @r#"
    {
      "messages": 3,
      "messages_dropped": 0,
      "tokens_dropped": 0,
      "message_cut": false,
      "results": 2,
      "results_cut": 0,
      "results_cleared": 0,
      "arguments_cut": 0,
      "reasoning_omitted": 1,
      "files_omitted": 0,
      "characters": 720,
      "tokens_estimated": 180,
      "from_compaction": false,
      "messages_before_compaction": 0,
      "left_out": {
        "ignored text": 1
      }
    }
    "#);
    let file = home.write("session.json", SESSION);
    let from_file = home.done(&["digest", file.to_str().unwrap(), "--format", "opencode"]);
    assert_eq!(from_file, ran.stdout);
    assert!(!home.path().join("tine.db").exists(), "nothing is made on the way");
}

#[test]
fn an_empty_session_has_an_empty_text() {
    check!(digested(&Home::new(), "[]").stdout, @r#"{"text":"","stats":{"messages":0,"messages_dropped":0,"tokens_dropped":0,"message_cut":false,"results":0,"results_cut":0,"results_cleared":0,"arguments_cut":0,"reasoning_omitted":0,"files_omitted":0,"characters":0,"tokens_estimated":0,"from_compaction":false,"messages_before_compaction":0,"left_out":{}}}"#);
}

#[test]
fn what_is_no_session_is_refused() {
    let home = Home::new();
    let refused = |input: &str| home.shown(&digested(&home, input));
    check!(refused(""), @"
    code: 42
    --- stdout
    --- stderr
    error: the conversation cannot be read: line 1 is not valid JSON: EOF while parsing a value at line 1 column 0
    hint: give the answer of OpenCode's `GET /session/{id}/message`, a JSON array of `info` and `parts`, or what `opencode export` prints
    ");
    check!(refused("[{"), @"
    code: 42
    --- stdout
    --- stderr
    error: the conversation cannot be read: line 1 is not valid JSON: EOF while parsing an object at line 1 column 2
    hint: give the answer of OpenCode's `GET /session/{id}/message`, a JSON array of `info` and `parts`, or what `opencode export` prints
    ");
    check!(refused(r#"{"name":"NotFoundError","data":{}}"#), @"
    code: 42
    --- stdout
    --- stderr
    error: the conversation cannot be read: the text is no conversation of OpenCode: missing field `info` at line 1 column 34
    hint: give the answer of OpenCode's `GET /session/{id}/message`, a JSON array of `info` and `parts`, or what `opencode export` prints
    ");
    check!(refused(r#"[{"info":{"role":"user"},"parts":[]},{"info":{}}]"#), @"
    code: 42
    --- stdout
    --- stderr
    error: the conversation cannot be read: the text is no conversation of OpenCode: message 2 has no role or no parts
    hint: give the answer of OpenCode's `GET /session/{id}/message`, a JSON array of `info` and `parts`, or what `opencode export` prints
    ");
    assert_eq!(home.ran(&["digest"]).code, 2);
    assert_eq!(home.ran(&["digest", "--format", "tine"]).code, 2);
}
