//! Sessions as events in and lines out.

use tine_model::{
    AgentRecord, AgentState, Block, Entry, EntryBody, Message, PermissionId, PermissionScope,
    RawJson, Role, ToolInput,
};
use tine_runtime::{FoldedEntry, PermissionRequest};

use super::*;
use crate::app::fixture::{agent, id};
use crate::app::{Effect, Event, Face, Happening, Tone};
use crate::host::{ModelChoice, Offer};

/// A session, and all that it printed.
struct Session {
    app: App,
    printer: Printer,
    shown: String,
}

impl Session {
    fn new(echoes: bool) -> Self {
        let mut app = App::at(1_000_000);
        app.new_model = Some("sim/echo".into());
        Self { app, printer: Printer::new(echoes), shown: String::new() }
    }

    fn at(agents: &[tine_model::AgentRecord]) -> Self {
        let mut session = Self::new(false);
        session.event(Event::Registry(agents.to_vec(), Vec::new()));
        session.app.go(agents[0].id);
        session
    }

    fn event(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.app.update(event);
        self.shown += &self.printer.look(&mut self.app, false);
        effects
    }

    fn line(&mut self, text: &str) -> Vec<Effect> {
        self.printer.typed(text);
        self.event(Event::Line(text.into()))
    }

    fn happened(&mut self, happening: Happening) {
        self.event(Event::Happened(id(1), happening));
    }

    /// The run has ended, and its row says so.
    fn ended(&mut self, agents: &[tine_model::AgentRecord]) {
        self.happened(Happening::Ended);
        self.event(Event::Registry(agents.to_vec(), Vec::new()));
    }

    fn log(&mut self, agent: AgentId, after: Option<i64>, messages: Vec<(i64, Message)>) {
        let entry = |(number, message): (i64, Message)| FoldedEntry {
            entry: Entry {
                id: EntryId(number),
                agent,
                at_ms: 0,
                body: EntryBody::Message(message.into()),
            },
            effective: true,
        };
        let entries = messages.into_iter().map(entry).collect();
        self.event(Event::Log { agent, after: after.map(EntryId), entries });
    }
}

fn call(tool: &str) -> Message {
    let input = ToolInput::Valid(RawJson::parse(r#"{"command":"ls -l"}"#).unwrap());
    let call = Block::ToolUse { id: ToolCallId("t1".into()), name: tool.into(), input };
    let thinking = Block::Thinking { text: "First this.\nThen that.".into(), signature: None };
    Message::new(Role::Assistant, vec![thinking, Block::Text("I look. Now.".into()), call])
}

fn says(text: impl Into<String>) -> Message {
    Message::new(Role::Assistant, vec![Block::Text(text.into())])
}

fn answer() -> Message {
    let result = Block::result(ToolCallId("t1".into()), "a\nb\n\u{1b}[2J\n", false);
    Message::new(Role::User, vec![result])
}

fn question() -> PermissionId {
    PermissionId::from_random([7; 16])
}

fn request() -> PermissionRequest {
    PermissionRequest {
        id: question(),
        agent: id(1),
        label: Some("look around".into()),
        tool: "Bash".into(),
        input: RawJson::parse(r#"{"command":"ls\nrm a"}"#).unwrap(),
        what: "ls; rm a".into(),
        directory: "/srv".into(),
        why: "no rule allows it".into(),
        rule: Some("Bash(rm a)".into()),
        offers: Vec::new(),
        widest: PermissionScope::Agent,
        warning: None,
        deadline_ms: 0,
        fallback: tine_model::Decision::Deny,
    }
}

#[test]
fn a_turn_is_told_in_order_and_once() {
    let mut session = Session::at(&[agent(1, None)]);
    session.log(id(1), None, Vec::new());
    assert_eq!(session.line("look"), [Effect::Run(id(1), Some("look".into()))]);
    session.happened(Happening::Began);
    session.happened(Happening::Written);
    session.log(id(1), None, vec![(1, Message::user("look"))]);
    session.happened(Happening::Request);
    session.happened(Happening::Text("I look. N".into()));
    session.happened(Happening::Text("ow.".into()));
    session.happened(Happening::Written);
    // The next reply begins before the log of the first is read.
    session.happened(Happening::Written);
    session.happened(Happening::Request);
    session.happened(Happening::Text("There are two. ".into()));
    session.log(id(1), Some(1), vec![(2, call("Bash"))]);
    session.log(id(1), Some(1), vec![(2, call("Bash")), (3, answer())]);
    session.happened(Happening::Written);
    session.log(id(1), Some(3), vec![(4, says("There are two. Both old."))]);
    session.ended(&[agent(1, None)]);
    session.log(id(1), Some(4), Vec::new());
    session.event(Event::Told(Some(id(1)), Tone::Plain, "A word.".into()));
    session.event(Event::Tick);
    insta::assert_snapshot!(session.shown, @"
    [no agent yet · sim/echo]
    Say what is to be done; /help lists all commands.
    [agent 01010101 · sim/echo · idle]
    > look
    I look. Now.
    [1] reasoning: First this. (and 1 more line)
    [2] Bash ls -l
    [2] answered: 3 lines
    There are two. Both old.
    [agent 01010101 · sim/echo · idle]
    A word.
    ");
}

/// A reply is in the log before its run says so, and somebody may have read it between the two.
#[test]
fn a_reply_that_is_read_before_its_run_says_so_is_told_once() {
    let mut session = Session::at(&[agent(1, None)]);
    session.happened(Happening::Began);
    session.happened(Happening::Request);
    session.happened(Happening::Text("You said: hello".into()));
    session.log(id(1), None, vec![(1, Message::user("hello")), (2, says("You said: hello"))]);
    session.happened(Happening::Written);
    session.log(id(1), Some(2), Vec::new());
    session.happened(Happening::Request);
    session.happened(Happening::Text("More. ".into()));
    assert_eq!(session.shown.matches("You said: ").count(), 1, "{}", session.shown);
    assert!(session.shown.ends_with("You said: hello\nMore. "), "{}", session.shown);
}

/// The row from during the run says that the agent runs, and the log may be read before it is read again.
#[test]
fn where_an_agent_stands_is_told_when_its_row_is_read_again() {
    let running = AgentRecord { state: AgentState::Running, ..agent(1, None) };
    let mut session = Session::at(&[agent(1, None), agent(2, None)]);
    session.log(id(1), None, Vec::new());
    session.happened(Happening::Began);
    session.event(Event::Registry(vec![running.clone(), agent(2, None)], Vec::new()));
    session.happened(Happening::Ended);
    session.log(id(1), None, vec![(1, says("Done."))]);
    session.event(Event::Told(Some(id(1)), Tone::Plain, "A word.".into()));
    session.shown.clear();
    let interrupted = AgentRecord { state: AgentState::Interrupted, ..agent(1, None) };
    session.event(Event::Registry(vec![interrupted, agent(2, None)], Vec::new()));
    session.log(id(1), None, vec![(1, says("Done."))]);
    assert_eq!(session.shown, "[agent 01010101 · sim/echo · interrupted]\n");
}

#[test]
fn calls_are_shown_whole_by_their_numbers() {
    let mut session = Session::at(&[agent(1, None)]);
    session.log(id(1), None, vec![(2, call("Bash")), (3, answer())]);
    session.shown.clear();
    session.line("/show 1");
    session.line("/show");
    session.line("/show 3");
    session.line("/show x");
    insta::assert_snapshot!(session.shown, @r#"
    1: reasoning
    First this.
    Then that.
    2: Bash
    Bash ls -l

    Arguments:
    {"command":"ls -l"}

    Answer:
    a
    b
    Error: nothing has this number; calls and reasoning have one each
    Error: usage: /show [NUMBER]
    "#);
}

#[test]
fn a_question_is_told_with_all_of_it_and_lines_answer() {
    let mut session = Session::at(&[agent(1, None)]);
    session.app.face = Face::Lines;
    session.log(id(1), None, Vec::new());
    session.happened(Happening::Began);
    session.shown.clear();
    session.event(Event::Asked(Box::new(request())));
    // An answer that was typed before anybody could read it goes to nobody.
    assert_eq!(session.line("y"), []);
    session.app.now_ms += 1_000;
    session.event(Event::Tick);
    assert_eq!(session.line("/answer"), []);
    session.app.now_ms += 1_000;
    session.event(Event::Tick);
    assert_eq!(session.line("2"), []);
    session.app.now_ms += 1_000;
    session.event(Event::Tick);
    let allowed = tine_runtime::Answer::Allow(PermissionScope::Agent);
    assert_eq!(session.line(" 1 "), [Effect::Answer(question(), allowed)]);
    session.line("/answer y");
    insta::assert_snapshot!(session.shown, @"
    ? look around (01010101) wants to use Bash
      ls
      rm a
      in /srv: no rule allows it
      1 yes, once
      2 yes, and from now on `Bash(rm a)`
      3 no
    Answer y, n or a number; other words mean no, and what to do instead. /answer show shows it with line numbers.
    (auto-denied in 0s)
    the question has just come; read it, and answer again
    ? look around (01010101) wants to use Bash
      ls
      rm a
      in /srv: no rule allows it
      1 yes, once
      2 yes, and from now on `Bash(rm a)`
      3 no
    Answer y, n or a number; other words mean no, and what to do instead. /answer show shows it with line numbers.
    (auto-denied in 0s)
    ? look around (01010101) wants to use Bash
      ls
      rm a
      in /srv: no rule allows it
    Allow `Bash(rm a)` without a question:
      1 for this agent
    A number adds this rule; n means no.
    (auto-denied in 0s)
    nobody asks anything
    ");
}

#[test]
fn a_question_of_elsewhere_is_counted_and_told_once_one_goes_to_it() {
    let mut session = Session::at(&[agent(1, None)]);
    session.shown.clear();
    let of_dead = PermissionRequest { agent: id(9), ..request() };
    session.event(Event::Asked(Box::new(of_dead)));
    session.event(Event::Tick);
    insta::assert_snapshot!(session.shown, @"
    [agent 01010101 · sim/echo · idle]
    1 question elsewhere; /answer goes there
    ");
    session.line("/answer");
    assert!(session.shown.contains("? look around (09090909) wants to use Bash"));
}

#[test]
fn other_words_at_a_question_mean_no() {
    for (line, answer) in [
        (
            "what is this",
            tine_runtime::Answer::DenyBecause(PermissionScope::Once, "what is this".into()),
        ),
        ("n", tine_runtime::Answer::Deny(PermissionScope::Once)),
        ("yes", tine_runtime::Answer::Allow(PermissionScope::Once)),
    ] {
        let mut session = Session::at(&[agent(1, None)]);
        session.happened(Happening::Began);
        session.event(Event::Asked(Box::new(request())));
        session.app.now_ms += 1_000;
        session.event(Event::Tick);
        assert_eq!(session.line(line), [Effect::Answer(question(), answer)]);
    }
}

#[test]
fn a_fork_is_not_told_what_its_parent_was() {
    let mut session = Session::at(&[agent(1, None), agent(2, Some(1))]);
    let said = || vec![(1, Message::user("hello")), (2, says("Hello."))];
    session.log(id(1), None, said());
    session.app.go(id(2));
    let more = (3, says("I am the fork."));
    session.log(id(2), None, said().into_iter().chain([more]).collect());
    session.event(Event::Told(Some(id(1)), Tone::Warning, "To the parent.".into()));
    session.line("/parent");
    session.line("/tree");
    session.line("/frok");
    insta::assert_snapshot!(session.shown, @"
    [no agent yet · sim/echo]
    Say what is to be done; /help lists all commands.
    [agent 01010101 · sim/echo · idle]
    > hello
    Hello.
    [agent 02020202 · sim/echo · idle]
    I am the fork.
    [agent 01010101 · sim/echo · idle]
    To the parent.
    2 agents; /resume NAME goes to one
    01010101, talk, idle, sim/echo, 16m ago, you are here
      02020202, fork, idle, sim/echo, 16m ago
    there is no command /frok; did you mean /fork?
    ");
}

#[test]
fn who_comes_to_a_long_conversation_hears_its_end() {
    let mut session = Session::at(&[agent(1, None)]);
    let many = (1..=30).map(|number| (number, says(format!("{number}."))));
    session.log(id(1), None, many.collect());
    assert!(session.shown.contains("(10 earlier parts are left out; /log has all)\n11.\n"));
    assert!(session.shown.ends_with("30.\n"));
}

#[test]
fn what_the_terminal_echoes_is_not_repeated_and_a_sign_says_when_to_type() {
    let mut session = Session::new(true);
    session.app.enter(agent(1, None));
    session.log(id(1), None, Vec::new());
    session.shown += &session.printer.look(&mut session.app, true);
    session.line("hello");
    session.shown.push_str("hello\n");
    session.log(id(1), None, vec![(1, Message::user("hello")), (2, says("Hi."))]);
    session.shown += &session.printer.look(&mut session.app, true);
    session.event(Event::Told(None, Tone::Plain, "Something.".into()));
    insta::assert_snapshot!(session.shown, @"
    [agent 01010101 · sim/echo · idle]
    > hello
    Hi.
    > 
    Something.
    ");
}

#[test]
fn others_are_named_when_they_begin_and_end() {
    let mut session = Session::at(&[agent(1, None), agent(2, Some(1))]);
    session.event(Event::Happened(id(2), Happening::Began));
    session.event(Event::Happened(id(2), Happening::Text("Not for you. ".into())));
    let as_it_is = |state| {
        let fork = tine_model::AgentRecord { state, ..agent(2, Some(1)) };
        Event::Registry(vec![agent(1, None), fork], Vec::new())
    };
    session.event(as_it_is(tine_model::AgentState::Running));
    session.event(Event::Happened(id(2), Happening::Ended));
    session.event(as_it_is(tine_model::AgentState::Idle));
    assert!(session.shown.ends_with("* 02020202 works in the background\n02020202 is done\n"));
}

#[test]
fn control_c_interrupts_and_twice_leaves() {
    let mut session = Session::at(&[agent(1, None)]);
    session.happened(Happening::Began);
    assert_eq!(session.event(Event::Break), [Effect::Stop(id(1))]);
    session.happened(Happening::Ended);
    assert_eq!(session.event(Event::Break), []);
    assert_eq!(session.event(Event::Break), [Effect::Quit]);
}

#[test]
fn what_can_be_chosen_is_told_as_it_is_found() {
    let mut session = Session::new(false);
    session.app.new_model = None;
    let choice = |model: &str| ModelChoice {
        model: model.into(),
        origin: "here".into(),
        ..ModelChoice::default()
    };
    session.app.open_setup(Offer {
        settings_file: "/c.toml".into(),
        variables: vec!["A_KEY"],
        servers: vec!["Ollama".into()],
        choices: vec![choice("sim/tour")],
    });
    session.event(Event::Tick);
    session.event(Event::Found(vec![choice("openai-compat/a")]));
    session.event(Event::Looked);
    session.line("hello");
    assert_eq!(session.line("2"), [Effect::Choose(choice("openai-compat/a"))]);
    session.event(Event::Chosen("openai-compat/a".into(), None));
    insta::assert_snapshot!(session.shown, @r#"
    [no agent yet · no model]
    There is no model yet.
    Leave and store a key with `tine login`, or set one of A_KEY; then start tine again. Or write model = "provider/name" into /c.toml.
    Or choose now, by a number and Enter:
     1  sim/tour  (here)
    Looking for servers: Ollama ...
     2  openai-compat/a  (here)
    there is no model yet; type the number of one, and your words go to it
    New agents use openai-compat/a. /model keep writes that into your settings.
    "#);
}
