//! `tine --plain` in a pipe and at a terminal, and the first start without a model.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

use tine_sim::{Scenario, SimOptions, SimServer};

use crate::pty::{Terminal, plain};
use crate::run::SCENARIO;
use crate::support::{Home, Ran};
use crate::talk_question;

/// A home whose new agents have the model of the scenario.
fn home() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    home
}

/// What `tine --plain` prints when these lines come in a pipe, with servers at these ports.
fn piped(home: &Home, lines: &str, ports: &str) -> String {
    let mut command = home.tine(&["--plain"]);
    let ran = Ran::of(command.env("TINE_LOCAL_PORTS", ports).write_stdin(lines));
    // Whoever has talked is told the way back; nothing else is said beside the lines.
    let is_way_back = |line: &str| line.starts_with("`tine -r ") && line.ends_with(" goes on here");
    assert!(ran.code == 0 && ran.stderr.lines().all(is_way_back), "{}{}", ran.stderr, ran.stdout);
    home.masked(&ran.stdout)
}

#[test]
fn a_pipe_is_talked_to_line_by_line() {
    let home = home();
    let lines = "look around\n/fork \"hello\"\n/parent\nthe command\nn\ntwo \\\nlines\n/frok";
    shape!(piped(&home, lines, ""), @"
    [no agent yet · sim/../case.toml]
    Say what is to be done; /help lists all commands.
    [agent [AGENT8] · sim/../case.toml · idle]
    * (the agent is told its working directory)
    > look around
    [1] reasoning: I should look first.
    I look.
    [2] Glob *.txt in .
    [2] answered: no file in `.` matches
    I have looked.

    That is all.
    [agent [AGENT8] · sim/../case.toml · idle]
    [agent [AGENT8] · sim/../case.toml · running]
    * Forked from [AGENT-ID]
    > hello
    You said: hello
    [agent [AGENT8] · sim/../case.toml · idle]
    [agent [AGENT8] · sim/../case.toml · idle]
    * Forked child [AGENT8]
    > the command
    [3] Bash echo hi; exec false
    ? [AGENT8] wants to use Bash
      echo hi; exec false
      in [HOME]/work: no rule allows this command, and it may do more than read: `exec` at column 10: not on the list of commands that only read
      1 yes, once
      2 yes, and from now on `Bash(echo hi; exec false)`
      3 no
    Answer y, n or a number; other words mean no, and what to do instead. /answer show shows it with line numbers.
    (auto-denied in 59m)
    [3] failed: Denied by the user. Do not try this call again.
    It said: Denied by the user. Do not try this call again.
    [agent [AGENT8] · sim/../case.toml · idle]
    > two 
    > lines
    You said: two 
    lines
    [agent [AGENT8] · sim/../case.toml · idle]
    there is no command /frok; did you mean /fork?
    ");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn another_model_goes_on_in_a_fork_that_says_what_it_costs() {
    let home = home();
    let lines = "hello\n/model sim/echo\n/model sim/echo/high --accept-cache-loss\nhi\n/model";
    shape!(piped(&home, lines, ""), @"
    [no agent yet · sim/../case.toml]
    Say what is to be done; /help lists all commands.
    [agent [AGENT8] · sim/../case.toml · idle]
    * (the agent is told its working directory)
    > hello
    You said: hello
    [agent [AGENT8] · sim/../case.toml · idle]
    error: no cache of sim/echo has this conversation: about 0 tokens would be sent anew, for $0
    hint: with --accept-cache-loss behind it, /model NAME and /fork --model NAME send all of it
    [agent [AGENT8] · sim/echo · idle]
    * Forked from [AGENT-ID]
    > hi
    hi

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    [agent [AGENT8] · sim/echo · idle]
    The model is sim/echo, effort high. Another one cannot use what is cached of this conversation: /model NAME says what that costs, and /new and /model NAME begin anew with it.
    Models that can be used:
      sim/../case.toml  ([HOME]/config.toml)
      sim/tour  (a tour with the simulator: no model, no key, no network)
      `tine models` lists them with prices, also those of other providers
    ");
    let agents = home.json(&["ps", "--json"]);
    let has_model = |agent: &serde_json::Value| agent["model"] == "sim/echo";
    assert_eq!(agents.as_array().unwrap().iter().filter(|agent| has_model(agent)).count(), 1);
}

#[test]
fn a_model_that_cannot_be_reached_leads_to_those_that_can() {
    let home = Home::new();
    home.write("config.toml", "model = \"anthropic/x\"\n");
    let text = piped(&home, "hello\n/model anthropic/y\n/model\n2", "");
    let end = text.find("[agent").unwrap();
    check!(text[..end], @"
    [no agent yet · anthropic/x]
    Say what is to be done; /help lists all commands.
    error: no API key: ANTHROPIC_API_KEY is not set
    hint: store the key with `tine login`, or set ANTHROPIC_API_KEY; `--model sim/echo` needs none
    hint: /model lists the models that can be used now
    error: no API key: ANTHROPIC_API_KEY is not set
    hint: store the key with `tine login`, or set ANTHROPIC_API_KEY; `--model sim/echo` needs none
    Models for new agents
     1  anthropic/x  ([HOME]/config.toml)
     2  sim/tour  (a tour with the simulator: no model, no key, no network)
    ");
}

#[test]
fn a_question_is_shown_with_line_numbers_and_a_no_carries_its_reason() {
    let text =
        piped(&talk_question::long_file(), "go\n/answer show\n/answer n use fewer lines", "");
    assert!(text.contains("a new file of 200 lines\n  1 + line 1\n"), "{text}");
    assert!(text.contains("\n100 + line 100\n"), "{text}");
    assert!(text.contains("Denied by the user: use fewer lines."), "{text}");
}

#[test]
fn a_question_that_nobody_can_answer_ends_with_the_pipe() {
    let text = piped(&home(), "the command", "");
    assert!(text.contains("wants to use Bash") && text.contains("It said: "), "{text}");
}

#[test]
fn a_dumb_terminal_gets_lines_and_control_c_interrupts() {
    let home = home();
    let mut terminal = Terminal::start_with(&home, &[], &[("TERM", "dumb")]);
    terminal.until("Say what is to be done", 1);
    terminal.type_in("hello\n");
    terminal.until("You said: hello", 1);
    // What is said while it still runs would wait for its next turn.
    terminal.until("idle]", 2);
    terminal.type_in("stall\n");
    terminal.until("The first part", 1);
    terminal.type_in("\u{3}");
    terminal.until("Interrupted. What was done is kept", 1);
    terminal.type_in("\u{4}");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("interrupting "), "{text}");
}

#[test]
fn without_a_model_the_first_screen_says_what_to_do_and_the_tour_begins_at_once() {
    let home = Home::new();
    let mut terminal = Terminal::start_with(&home, &[], &[("TINE_LOCAL_PORTS", "vllm=9")]);
    let screen = terminal.screen("No server answers");
    shape!(home.masked(&screen), @r#"
    tine: a fork() for agents

    There is no model yet.
    Leave and store a key with `tine login`, or set one of ANTHROPIC_API_KEY,
    OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY, MINIMAX_API_KEY; then start
    tine again. Or write model = "provider/name" into [HOME]/config.toml.
    Or choose now, by a number and Enter:

       1  sim/tour  (a tour with the simulator: no model, no key, no network)

    No server answers on this machine (vLLM at port 9); /model looks again.









    ────────────────────────────────────────────────────────────────────────────────
    ❯
    no model · default (Shift+Tab)
    "#);
    terminal.see("hello\r", "there is no model yet; type the number of one");
    terminal.see_at_rest("1\r", "/fork \"and in another way?\"");
    // What was said before there was a model waits in the line.
    terminal.screen("❯ hello");
    let screen = terminal.at_rest("sim/tour ·");
    assert!(screen.contains("not a model") || screen.contains("Glob"), "{screen}");
    terminal.type_in("\u{3}/quit\r");
    assert_eq!(terminal.end().0, 0);
}

/// A server that lists two models as Ollama does, and lets the simulator answer everything else.
fn ollama() -> u16 {
    let (send, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let scenario = Scenario::built_in("echo").unwrap();
        let sim = runtime.block_on(SimServer::start(SimOptions::new(scenario))).unwrap();
        let behind = sim.base_url().strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        send.send(listener.local_addr().unwrap().port()).unwrap();
        for stream in listener.incoming() {
            let (stream, behind) = (stream.unwrap(), behind.clone());
            std::thread::spawn(move || serve(stream, &behind));
        }
    });
    port.recv().unwrap()
}

fn serve(mut stream: TcpStream, behind: &str) {
    let mut begin = [0; 4096];
    let length = stream.read(&mut begin).unwrap();
    if begin.starts_with(b"GET /api/tags ") {
        let list = r#"{"models":[{"name":"qwen:1b"},{"name":"llama:8b"}]}"#;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{list}");
        stream.write_all(answer.as_bytes()).unwrap();
        return;
    }
    let mut sim = TcpStream::connect(behind).unwrap();
    // The simulator wants a key, which such servers do not.
    let request = String::from_utf8_lossy(&begin[..length]);
    let request = request.replacen("\r\n", "\r\nAuthorization: Bearer sim\r\n", 1);
    sim.write_all(request.as_bytes()).unwrap();
    let (mut from, mut to) = (stream.try_clone().unwrap(), sim.try_clone().unwrap());
    std::thread::spawn(move || {
        // Either side may hang up at any time.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut sim, &mut stream);
    let _ = stream.shutdown(Shutdown::Both);
}

#[test]
fn a_local_server_is_found_talked_to_and_kept_without_a_restart() {
    let home = Home::new();
    let ports = format!("vllm=9,ollama={}", ollama());
    let text = piped(&home, "3\nhello\n/model keep", &ports);
    assert!(text.contains(" 2  openai-compat/qwen:1b  (Ollama at port "), "{text}");
    assert!(text.contains("New agents use openai-compat/llama:8b."), "{text}");
    assert!(text.contains("\nhello\n\nThis is tine's simulator"), "{text}");
    assert!(
        text.contains("wrote model = \"openai-compat/llama:8b\" into [HOME]/config.toml"),
        "{text}"
    );
    // From now on every command has it.
    let said = home.done(&["run", "-q", "again"]);
    assert!(said.contains("\nagain\n"), "{said}");
}

#[test]
fn without_colours_none_is_sent() {
    let home = home();
    let mut terminal = Terminal::start_with(&home, &[], &[("NO_COLOR", "1"), ("LC_ALL", "C")]);
    terminal.screen("Say what is to be done.");
    let screen = terminal.see_at_rest("look around\r", "That is all.");
    assert!(screen.is_ascii() && screen.contains("* Glob"), "{screen}");
    terminal.type_in("/quit\r");
    let (_, text) = terminal.end();
    let colours = (30..=38).any(|colour| text.contains(&format!("\u{1b}[{colour}m")));
    assert!(!colours && !plain(&text).is_empty(), "{text}");
}
