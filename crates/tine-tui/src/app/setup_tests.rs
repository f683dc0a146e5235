//! The first start and `/model` as events in and effects out.

use super::super::fixture::{agent, id};
use super::super::{Body, Event};
use super::*;
use crate::app::event;

fn choice(model: &str) -> ModelChoice {
    ModelChoice { model: model.into(), origin: "found".into(), ..ModelChoice::default() }
}

fn offer() -> Offer {
    Offer {
        settings_file: "tine/config.toml".into(),
        variables: vec!["A_KEY", "B_KEY"],
        servers: vec!["Ollama at 11434".into()],
        choices: vec![choice("sim/tour")],
    }
}

fn said(app: &App) -> Vec<String> {
    let lobby = app.lobby_words.iter().map(|(_, text)| text.clone());
    let room = app.room().map(|room| room.pieces.as_slice()).unwrap_or_default();
    let asides = room.iter().filter_map(|piece| match &piece.body {
        Body::Aside(_, text) => Some(text.clone()),
        _ => None,
    });
    lobby.chain(asides).chain(app.word.iter().map(|(word, _)| word.clone())).collect()
}

fn shown(app: &App) -> String {
    let setup = &app.setup;
    let lines = [setup.head(app.new_model.is_none()), setup.choices(0), setup.foot()].concat();
    lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_a_model_one_screen_says_what_to_do_and_a_number_does_it() {
    let mut app = App::at(0);
    assert_eq!(app.open_setup(offer()), [event::Effect::Look]);
    insta::assert_snapshot!(shown(&app), @r#"
    There is no model yet.
    Leave and store a key with `tine login`, or set one of A_KEY, B_KEY; then start tine again. Or write model = "provider/name" into tine/config.toml.
    Or choose now, by a number and Enter:
     1  sim/tour  (found)
    Looking for servers: Ollama at 11434 ...
    "#);
    app.update(Event::Found(vec![choice("openai-compat/a"), choice("openai-compat/a:b")]));
    app.update(Event::Looked);
    assert_eq!(app.say_in_lobby("hello".into()), []);
    assert_eq!(app.input().text(), "", "the number is typed there");
    assert_eq!(app.say_in_lobby("4".into()), []);
    assert_eq!(app.say_in_lobby(" 3".into()), [Effect::Choose(choice("openai-compat/a:b"))]);
    let effects = app.update(Event::Chosen("openai-compat/a:b".into(), None));
    assert_eq!(effects, [Effect::Begin("hello".into())], "what was said before goes to it");
    assert!(!app.setup.is_open);
    insta::assert_snapshot!(said(&app).join("\n"), @"
    New agents use openai-compat/a:b. /model keep writes that into your settings.
    there is no such choice
    ");
    // Numbers are words again, also after a list that nothing was chosen from.
    app.model("");
    assert_eq!(app.say_in_lobby("hello".into()), [Effect::Begin("hello".into())]);
    assert_eq!(app.say_in_lobby("3".into()), [Effect::Begin("3".into())]);
}

#[test]
fn the_tour_begins_by_itself() {
    let mut app = App::at(0);
    app.open_setup(offer());
    let effects = app.update(Event::Chosen("sim/tour".into(), Some("Show me around.".into())));
    assert_eq!(effects, [Effect::Begin("Show me around.".into())]);
    assert_eq!(app.input().text(), "");
}

#[test]
fn what_was_said_before_the_tour_waits_in_the_line() {
    let mut app = App::at(0);
    app.open_setup(offer());
    assert_eq!(app.say_in_lobby("hello".into()), []);
    app.update(Event::Chosen("sim/tour".into(), Some("Show me around.".into())));
    app.update(Event::Made(Box::new(crate::app::fixture::agent(1, None))));
    assert_eq!(app.input().text(), "hello");
}

#[test]
fn servers_that_do_not_answer_are_named_and_many_models_are_cut() {
    let mut app = App::at(0);
    app.open_setup(Offer { choices: Vec::new(), ..offer() });
    app.update(Event::Looked);
    let foot = app.setup.foot();
    assert_eq!(
        foot[0].1,
        "No server answers on this machine (Ollama at 11434); /model looks again."
    );
    let many = (0..20).map(|number| choice(&format!("openai-compat/{number}"))).collect();
    app.update(Event::Found(many));
    assert_eq!(app.setup.choices(0).len(), LISTED_MAX);
    assert_eq!(app.setup.foot()[0].1, "and 8 more: /model NAME takes any");
    assert_eq!(app.model("openai-compat/19"), [Effect::Choose(choice("openai-compat/19"))]);
}

#[test]
fn model_before_an_agent_is_that_of_the_next_one() {
    let mut app = App::at(0);
    let named = |model: &str| {
        vec![Effect::Choose(ModelChoice { model: model.into(), ..ModelChoice::default() })]
    };
    assert_eq!(app.model(""), [Effect::Look]);
    assert_eq!(app.model("anthropic/x/high"), named("anthropic/x/high"));
    assert_eq!(app.model("keep"), [Effect::KeepModel]);
    assert_eq!(app.model("gpt-5"), named("openai/gpt-5"));
    assert_eq!(app.model("x"), []);
    assert_eq!(app.model("openai/x/huge"), []);
    insta::assert_snapshot!(said(&app).join("\n"), @"
    Error: Unknown model 'x' (did you mean openai/gpt-5.1-codex-mini, minimax/MiniMax-M3, minimax/MiniMax-M2.7, minimax/MiniMax-M2.5-lightning, minimax/MiniMax-M2.1-lightning, minimax/MiniMax-M2?)
    Error: Invalid thinking level 'huge' (must be: none, low, med, high)
    ");
}

#[test]
fn model_alone_in_a_conversation_says_which_there_are() {
    let mut app = App::at(0);
    app.enter(agent(1, None));
    assert_eq!(app.model(""), [Effect::Look]);
    app.update(Event::Offered(Box::new(offer())));
    app.update(Event::Found(vec![choice("openai-compat/a")]));
    app.update(Event::Looked);
    insta::assert_snapshot!(said(&app).join("\n"), @"
    The model is sim/echo. Another one cannot use what is cached of this conversation: /model NAME says what that costs, and /new and /model NAME begin anew with it.
    Models that can be used:
      sim/tour  (found)
      openai-compat/a  (found)
      `tine models` lists them with prices, also those of other providers
    ");
    // The servers are looked for again at the first screen, and the conversation hears nothing of it.
    app.update(Event::Looked);
    assert_eq!(said(&app).len(), 2);
}

#[test]
fn a_name_without_its_provider_is_understood_in_a_conversation() {
    let mut app = App::at(0);
    app.enter(agent(1, None));
    let effects = app.model("gpt-5");
    let [Effect::Fork(_, words)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(words.model.as_ref().unwrap().to_string(), "openai/gpt-5");
}

#[test]
fn model_of_an_agent_is_a_fork_that_says_what_it_loses() {
    let mut app = App::at(0);
    app.enter(agent(1, None));
    assert_eq!(app.model("sim/echo"), []);
    let forked = |effects: Vec<Effect>| match effects.as_slice() {
        [Effect::Fork(parent, words)] => {
            assert_eq!(*parent, id(1));
            (words.model.as_ref().unwrap().to_string(), words.accept_cache_loss)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(forked(app.model("sim/demo")), ("sim/demo".into(), false));
    app.update(Event::NotForked(id(1), "error: no cache".into()));
    let asked = app.model("sim/echo/low --accept-cache-loss");
    assert_eq!(forked(asked), ("sim/echo/low".into(), true));
    insta::assert_snapshot!(said(&app).join("\n"), @"
    error: no cache
    the model is sim/echo already
    ");
}
