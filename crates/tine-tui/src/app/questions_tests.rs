//! Questions as events in and effects out.

use crossterm::event::KeyCode;
use tine_guard::OfferedRule;
use tine_model::{AgentRecord, AgentState, PermissionScope, Standing};
use tine_runtime::{Answer, PermissionRequest};

use super::fixture::{agent, id, request, request_id};
use super::questions::{GLANCE_MS, Standby};
use super::tests::{control, key, said, session};
use super::*;
use crate::question::{Choice, Step, choices};

const YES: Answer = Answer::Allow(PermissionScope::Once);
const NO: Answer = Answer::Deny(PermissionScope::Once);

/// A session with an agent that works.
fn working() -> App {
    let mut app = session(&[agent(1, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    app
}

fn ask(app: &mut App, byte: u8, of: u8, widest: PermissionScope) {
    app.update(Event::Asked(Box::new(request(byte, of, widest))));
}

/// Draws all of the question in front, as a screen does.
fn show(app: &mut App) {
    app.question_is_shown();
    if app.overlay.is_none() {
        app.questions.is_seen();
    }
}

/// Time in which the person only reads.
fn read(app: &mut App) {
    show(app);
    app.now_ms += GLANCE_MS;
    show(app);
}

fn enter(app: &mut App) -> Vec<Effect> {
    key(app, KeyCode::Enter)
}

fn front(app: &App) -> Option<tine_model::PermissionId> {
    app.questions.front().map(|request| request.id)
}

/// Types a text slowly enough that the screen is drawn behind each letter.
fn type_slowly(app: &mut App, text: &str) {
    for letter in text.chars() {
        assert_eq!(key(app, KeyCode::Char(letter)), [], "{letter} of {text:?}");
        app.now_ms += 80;
        show(app);
    }
}

fn answers(effects: &[Effect]) -> Vec<&Answer> {
    let of = effects.iter().filter_map(|effect| match effect {
        Effect::Answer(_, answer) => Some(answer),
        _ => None,
    });
    of.collect()
}

#[test]
fn sentences_of_every_first_letter_grant_nothing_at_any_time() {
    let endings = ["hat does this do?", " y yes", "", "es, but first the tests", "o"];
    for delay_ms in [0, 200, 800, 3_000] {
        let others = ['/', '!', '?', ' ', 'ä', 'Ö', 'ü', 'ß', 'é', 'ж', '是'];
        for first in ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(others) {
            for ending in endings {
                let mut app = working();
                ask(&mut app, 1, 1, PermissionScope::Always);
                for _ in 0..(delay_ms / 100) {
                    show(&mut app);
                    app.now_ms += 100;
                }
                show(&mut app);
                let text = format!("{first}{ending}");
                let is_armed = app.standby() == Standby::Armed;
                let is_answer = ["y", "yes", "n", "no"].contains(&text.to_lowercase().as_str());
                // A digit alone marks a choice.
                if is_armed && (is_answer || text.len() == 1 && first.is_ascii_digit()) {
                    continue;
                }
                type_slowly(&mut app, &text);
                assert_eq!(app.line().text(), text);
                let effects = enter(&mut app);
                let allowed =
                    |answer: &&Answer| matches!(answer, Answer::Allow(_) | Answer::AllowRule(..));
                assert!(!answers(&effects).iter().any(allowed), "{text:?} at {delay_ms}");
                if !is_armed && is_bare(&text) {
                    assert_eq!((effects, app.line().is_empty()), (Vec::new(), true));
                } else if !is_armed && !"/! ".contains(first) {
                    assert_eq!(effects, [Effect::Send(id(1), text)]);
                }
            }
        }
    }
}

#[test]
fn enter_on_an_empty_line_confirms_the_marked_choice() {
    let mut app = working();
    for byte in 1..=3 {
        ask(&mut app, byte, 1, PermissionScope::Once);
    }
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
    read(&mut app);
    key(&mut app, KeyCode::Down);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(2), NO)]);
    read(&mut app);
    key(&mut app, KeyCode::Char('2'));
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(3), NO)]);
    assert!(app.questions.is_empty());
}

#[test]
fn a_digit_that_is_no_choice_goes_to_nobody() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Once);
    read(&mut app);
    type_slowly(&mut app, "7");
    assert_eq!((enter(&mut app), app.line().is_empty()), (Vec::new(), true));
    assert!(!app.questions.is_empty());
    assert_eq!(app.word.as_ref().map(|(word, _)| word.as_str()), Some("there is no choice 7"));
}

#[test]
fn a_yes_beyond_once_needs_a_second_enter_that_was_read() {
    for (digit, scope) in [
        ('1', PermissionScope::Agent),
        ('2', PermissionScope::Tree),
        ('3', PermissionScope::Always),
    ] {
        let mut app = working();
        ask(&mut app, 1, 1, PermissionScope::Always);
        read(&mut app);
        key(&mut app, KeyCode::Char('2'));
        assert_eq!(enter(&mut app), []);
        assert_eq!(enter(&mut app), [], "the same key twice");
        show(&mut app);
        assert_eq!(enter(&mut app), [], "not read yet");
        read(&mut app);
        key(&mut app, KeyCode::Char(digit));
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), Answer::Allow(scope))]);
    }
    // Escape goes one step back, and puts the question aside only then.
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Tree);
    read(&mut app);
    key(&mut app, KeyCode::Down);
    enter(&mut app);
    key(&mut app, KeyCode::Esc);
    assert_eq!((app.questions.choosing(), app.standby()), ((&Step::Answer, 0), Standby::Unread));
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.standby(), Standby::Inactive);
}

#[test]
fn a_wider_rule_is_chosen_in_two_steps_and_the_second_names_it_whole() {
    let mut app = working();
    let offer = OfferedRule {
        rule: "FileEdit(/srv/src/**)".into(),
        short: "FileEdit(src/**)".into(),
        note: "Not what runs later.",
    };
    let asked = request(1, 1, PermissionScope::Always);
    let rule = Some("FileEdit(/srv/src/a.rs)".into());
    let asked = PermissionRequest { rule, offers: vec![offer], ..asked };
    app.update(Event::Asked(Box::new(asked.clone())));
    let words = |app: &App| {
        let choices = choices(&asked, app.questions.choosing().0);
        choices.iter().map(Choice::words).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(words(&app), @"
    yes, once
    yes, and from now on `FileEdit(/srv/src/a.rs)`
    yes, and from now on `FileEdit(src/**)`
    no
    ");
    read(&mut app);
    key(&mut app, KeyCode::Char('3'));
    assert_eq!(enter(&mut app), []);
    let Step::Reach(cover) = app.questions.choosing().0 else { panic!("no second step") };
    insta::assert_snapshot!(cover.whole_words(), @"Allow `FileEdit(/srv/src/**)` without a question. Not what runs later.");
    read(&mut app);
    key(&mut app, KeyCode::Down);
    let yes = Answer::AllowRule(PermissionScope::Tree, "FileEdit(/srv/src/**)".into());
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), yes)]);
}

#[test]
fn a_line_that_is_y_or_n_answers_once() {
    for (text, answer) in [("y", YES), ("Yes", YES), ("n", NO), ("no", NO)] {
        let mut app = working();
        ask(&mut app, 1, 1, PermissionScope::Always);
        read(&mut app);
        type_slowly(&mut app, text);
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), answer)]);
        assert!(app.line().is_empty());
    }
}

#[test]
fn other_words_mean_no_and_are_told_to_the_agent() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Always);
    read(&mut app);
    type_slowly(&mut app, "use make instead");
    let no = Answer::DenyBecause(PermissionScope::Once, "use make instead".into());
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), no)]);
    // Digits that moved the mark are text once letters follow.
    ask(&mut app, 2, 1, PermissionScope::Always);
    read(&mut app);
    type_slowly(&mut app, "12 tests fail");
    assert_eq!(app.line().text(), "12 tests fail");
    // A text that is too long stays in the line.
    app.update(Event::Paste("x".repeat(9_000)));
    assert_eq!(enter(&mut app), []);
    assert_eq!((app.questions.len(), app.line().text().len()), (1, 9_013));
}

#[test]
fn words_from_before_the_question_was_read_are_a_prompt() {
    let mut app = working();
    type_slowly(&mut app, "yes please");
    ask(&mut app, 1, 1, PermissionScope::Always);
    read(&mut app);
    app.now_ms += 60_000;
    show(&mut app);
    assert_eq!(app.standby(), Standby::Draft);
    assert_eq!(enter(&mut app), [Effect::Send(id(1), "yes please".into())]);
    assert_eq!(enter(&mut app), [], "it must be read first");
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
}

#[test]
fn a_key_that_is_held_down_answers_nothing() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Always);
    for _ in 0..100 {
        show(&mut app);
        assert_eq!(enter(&mut app), []);
        app.now_ms += 33;
    }
    read(&mut app);
    ask(&mut app, 2, 1, PermissionScope::Always);
    assert_eq!(enter(&mut app).len(), 1);
    show(&mut app);
    assert_eq!(enter(&mut app), [], "the next question was not read");
}

#[test]
fn a_line_that_was_begun_waits_while_the_person_answers() {
    let mut app = working();
    type_slowly(&mut app, "and then");
    ask(&mut app, 1, 1, PermissionScope::Once);
    control(&mut app, 'p');
    assert!(app.line().is_empty());
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
    assert_eq!(app.line().text(), "and then");
}

#[test]
fn the_line_of_another_agent_is_no_answer() {
    let mut app = session(&[agent(1, None), agent(2, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    app.update(Event::Happened(id(2), Happening::Began));
    app.go(id(2));
    type_slowly(&mut app, "yes, go on");
    app.go(id(1));
    ask(&mut app, 1, 1, PermissionScope::Once);
    read(&mut app);
    app.go(id(2));
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Send(id(2), "yes, go on".into())]);
}

#[test]
fn commands_stay_commands() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Always);
    read(&mut app);
    type_slowly(&mut app, "/fork \"meanwhile\"");
    assert!(matches!(enter(&mut app).as_slice(), [Effect::Fork(..)]));
    assert_eq!(app.questions.len(), 1);
    type_slowly(&mut app, "!ls");
    assert!(matches!(enter(&mut app).as_slice(), [Effect::Shell(..)]));
}

#[test]
fn a_question_from_elsewhere_takes_no_key_before_one_goes_to_it() {
    let mut app = session(&[agent(1, None), agent(2, None)]);
    ask(&mut app, 1, 2, PermissionScope::Always);
    read(&mut app);
    assert_eq!(enter(&mut app), []);
    type_slowly(&mut app, "yes");
    assert_eq!(enter(&mut app), [Effect::Run(id(1), Some("yes".into()))]);
    control(&mut app, 'p');
    assert_eq!(enter(&mut app), [], "not read yet");
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
}

#[test]
fn a_question_of_here_is_before_those_of_elsewhere_and_gives_them_no_keys() {
    let mut app = session(&[agent(1, None), agent(2, None)]);
    app.update(Event::Happened(id(1), Happening::Began));
    ask(&mut app, 1, 2, PermissionScope::Once);
    ask(&mut app, 2, 1, PermissionScope::Once);
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(2), YES)]);
    read(&mut app);
    assert_eq!(app.standby(), Standby::Inactive);
    assert_eq!(enter(&mut app), []);
    assert_eq!(front(&app), Some(request_id(1)));
}

#[test]
fn a_question_is_allowed_only_after_all_of_it_was_shown_and_refused_at_any_time() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Once);
    ask(&mut app, 2, 1, PermissionScope::Once);
    // The screen is too small for all of it.
    let glance = |app: &mut App| {
        app.question_is_shown();
        app.now_ms += GLANCE_MS;
        app.question_is_shown();
    };
    glance(&mut app);
    let asked = Box::new(request(1, 1, PermissionScope::Once));
    assert_eq!(enter(&mut app), [Effect::Open(asked.clone())]);
    assert_eq!(enter(&mut app), [Effect::Open(asked)], "nothing was shown yet");
    // What is read of another question is not shown for this one.
    app.update(Event::Opened(request_id(2), "other".into()));
    assert!(app.overlay.is_none());
    app.update(Event::Opened(request_id(1), "make test\n".into()));
    let Some(Overlay::Page(Page { title, text, from: 0, .. })) = &app.overlay else {
        panic!("{:?}", app.overlay)
    };
    assert_eq!((title.as_str(), text.as_str()), ("Bash of 01010101", "make test\n"));
    glance(&mut app);
    enter(&mut app);
    assert_eq!(enter(&mut app), [], "it was covered");
    glance(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
    glance(&mut app);
    key(&mut app, KeyCode::Down);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(2), NO)]);
}

#[test]
fn one_goes_from_question_to_question_without_answering() {
    let mut app = working();
    (1..=3).for_each(|byte| ask(&mut app, byte, 1, PermissionScope::Once));
    read(&mut app);
    key(&mut app, KeyCode::Right);
    assert_eq!((front(&app), app.question_place().0), (Some(request_id(2)), 2));
    key(&mut app, KeyCode::Left);
    key(&mut app, KeyCode::Left);
    assert_eq!((front(&app), app.question_place().0), (Some(request_id(3)), 3));
    read(&mut app);
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(3), YES)]);
    assert_eq!(front(&app), Some(request_id(1)));
    read(&mut app);
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.standby(), Standby::Inactive);
    assert_eq!(key(&mut app, KeyCode::Esc), [Effect::Stop(id(1))]);
}

#[test]
fn a_question_that_somebody_else_answers_goes_and_the_one_in_front_stays() {
    let mut app = working();
    (1..=3).for_each(|byte| ask(&mut app, byte, 1, PermissionScope::Once));
    read(&mut app);
    key(&mut app, KeyCode::Right);
    app.update(Event::Settled(request_id(1), Some("allowed without your word: a".into())));
    assert_eq!((front(&app), app.question_place().0), (Some(request_id(2)), 1));
    read(&mut app);
    app.update(Event::Settled(request_id(2), None));
    assert_eq!((front(&app), app.standby()), (Some(request_id(3)), Standby::Unread));
    app.update(Event::Settled(request_id(3), None));
    assert!(app.questions.is_empty());
    insta::assert_snapshot!(said(&app).join("\n"), @"allowed without your word: a");
}

#[test]
fn a_command_answers_only_what_was_read() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Tree);
    read(&mut app);
    type_slowly(&mut app, "/answer y");
    app.update(Event::Settled(request_id(1), None));
    ask(&mut app, 2, 1, PermissionScope::Tree);
    show(&mut app);
    assert_eq!(enter(&mut app), []);
    read(&mut app);
    type_slowly(&mut app, "/answer y");
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(2), YES)]);
}

#[test]
fn a_request_that_is_put_again_stands_once_and_keeps_its_place() {
    let mut app = working();
    ask(&mut app, 1, 1, PermissionScope::Once);
    ask(&mut app, 2, 1, PermissionScope::Once);
    ask(&mut app, 1, 1, PermissionScope::Once);
    assert_eq!((app.questions.len(), front(&app)), (2, Some(request_id(1))));
}

#[test]
fn the_queue_is_looked_at_once_a_deadline_is_past() {
    let mut app = App::at(0);
    ask(&mut app, 1, 1, PermissionScope::Once);
    app.now_ms = 59_999;
    assert_eq!(app.update(Event::Tick), []);
    app.now_ms = 60_000;
    assert_eq!(app.update(Event::Tick), [Effect::LookAtQueue]);
}

#[test]
fn who_asks_is_told_by_what_it_is_to_whom_and_where_it_runs() {
    let running = |record: AgentRecord| AgentRecord { state: AgentState::Running, ..record };
    let worker = |byte, of| AgentRecord { standing: Standing::Worker, ..agent(byte, Some(of)) };
    let agents = [
        agent(1, None),
        worker(2, 1),
        agent(3, None),
        agent(4, Some(3)),
        running(worker(5, 4)),
        worker(6, 4),
    ];
    let mut app = session(&agents);
    [1, 2]
        .into_iter()
        .for_each(|byte| drop(app.update(Event::Happened(id(byte), Happening::Began))));
    let told = |byte| app.standing_of(&request(1, byte, PermissionScope::Once)).join(" · ");
    insta::assert_snapshot!([1, 2, 3, 5, 6].map(told).join("\n"), @"
    worker of 01010101
    another tree · cut off; it reads the answer once it is resumed
    worker of 04040404 · tree of 03030303 · in another process
    worker of 04040404 · tree of 03030303 · cut off; it reads the answer once it is resumed
    ");
}

/// An agent of another tree that works in another directory.
fn stranger(byte: u8, state: AgentState) -> AgentRecord {
    AgentRecord { directory: "/elsewhere".into(), state, ..agent(byte, None) }
}

#[test]
fn a_question_of_a_dead_run_or_another_directory_is_counted_and_never_in_front() {
    let of_dead = agent(2, None);
    let of_elsewhere = stranger(3, AgentState::Running);
    for record in [of_dead, of_elsewhere] {
        let asker = record.id;
        let mut app = session(&[agent(1, None), record]);
        let asked = PermissionRequest { agent: asker, ..request(1, 2, PermissionScope::Once) };
        app.update(Event::Asked(Box::new(asked)));
        read(&mut app);
        assert_eq!((app.shown_question(), app.questions.len()), (None, 1));
        // One that concerns the person comes before it, and leaves nothing in front.
        app.update(Event::Happened(id(1), Happening::Began));
        ask(&mut app, 2, 1, PermissionScope::Once);
        read(&mut app);
        control(&mut app, 'p');
        read(&mut app);
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(2), YES)]);
        read(&mut app);
        assert_eq!((app.shown_question(), app.standby()), (None, Standby::Inactive));
        // It is answered by whoever goes to it, and goes away again with Esc.
        control(&mut app, 'p');
        read(&mut app);
        assert_eq!(app.shown_question().map(|shown| shown.id), Some(request_id(1)));
        key(&mut app, KeyCode::Esc);
        assert_eq!(app.shown_question(), None);
        ask(&mut app, 3, 1, PermissionScope::Once);
        read(&mut app);
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(3), YES)]);
        control(&mut app, 'p');
        read(&mut app);
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
    }
}

#[test]
fn a_run_of_another_process_asks_in_front_where_its_tree_or_directory_is_seen() {
    let running = |record: AgentRecord| AgentRecord { state: AgentState::Running, ..record };
    let in_worktree = AgentRecord { directory: "/elsewhere".into(), ..agent(2, Some(1)) };
    for record in [running(in_worktree), running(agent(2, None))] {
        let mut app = session(&[agent(1, None), record.clone()]);
        ask(&mut app, 1, 2, PermissionScope::Once);
        assert!(app.shown_question().is_some(), "{record:?}");
        // Its process dies.
        let dead = AgentRecord { state: AgentState::Interrupted, ..record };
        app.update(Event::Registry(vec![agent(1, None), dead], Vec::new()));
        assert_eq!(app.shown_question(), None);
    }
}

/// An agent at work, and three workers of it that work here, too.
fn with_workers() -> App {
    let worker = |byte| AgentRecord { standing: Standing::Worker, ..agent(byte, Some(1)) };
    let mut app = session(&[agent(1, None), worker(2), worker(3), worker(4)]);
    for byte in 1..=4 {
        app.update(Event::Happened(id(byte), Happening::Began));
    }
    app
}

#[test]
fn words_go_to_the_agent_on_the_line_until_one_went_to_the_question_of_a_worker() {
    let enters: [fn(&mut App); 2] =
        [|app| drop(control(app, 'p')), |app| drop(key(app, KeyCode::Down))];
    for goes_to_it in enters {
        let mut app = with_workers();
        ask(&mut app, 1, 2, PermissionScope::Always);
        read(&mut app);
        type_slowly(&mut app, "also look at the README");
        let sent = Effect::Send(id(1), "also look at the README".into());
        assert_eq!(enter(&mut app), [sent]);
        read(&mut app);
        goes_to_it(&mut app);
        read(&mut app);
        type_slowly(&mut app, "use make");
        let no = Answer::DenyBecause(PermissionScope::Once, "use make".into());
        assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), no)]);
        // The next question was not gone to.
        ask(&mut app, 2, 3, PermissionScope::Always);
        read(&mut app);
        type_slowly(&mut app, "12 tests fail");
        assert_eq!(enter(&mut app), [Effect::Send(id(1), "12 tests fail".into())]);
    }
    // Nor has one gone to it who goes to another agent.
    let mut app = with_workers();
    ask(&mut app, 1, 2, PermissionScope::Always);
    control(&mut app, 'p');
    app.go(id(3));
    read(&mut app);
    type_slowly(&mut app, "hello");
    assert_eq!(enter(&mut app), [Effect::Send(id(3), "hello".into())]);
}

#[test]
fn an_answer_from_before_the_question_counts_is_held_and_confirmed_later() {
    for is_begun_before in [false, true] {
        for (text, answer) in [("1", YES), ("y", YES), ("Yes", YES), ("2", NO), ("n", NO)] {
            let mut app = working();
            if is_begun_before {
                type_slowly(&mut app, text);
                ask(&mut app, 1, 1, PermissionScope::Once);
                read(&mut app);
            } else {
                // Nothing of it is on the screen yet.
                ask(&mut app, 1, 1, PermissionScope::Once);
                app.input().set(text);
            }
            assert_eq!(enter(&mut app), [], "{text:?} is sent to nobody");
            assert!(app.line().is_empty());
            assert_eq!(enter(&mut app), [], "not read yet");
            read(&mut app);
            assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), answer)]);
        }
    }
}

#[test]
fn equal_questions_of_siblings_are_one_and_answered_together() {
    let asked_by_three = || {
        let mut app = with_workers();
        (1..=3).for_each(|byte| ask(&mut app, byte, byte + 1, PermissionScope::Once));
        // Another call, and another agent that is no sibling, are questions of their own.
        let other = request(4, 2, PermissionScope::Once);
        let other = PermissionRequest { directory: "/elsewhere".into(), ..other };
        app.update(Event::Asked(Box::new(other)));
        ask(&mut app, 5, 1, PermissionScope::Once);
        read(&mut app);
        app
    };
    let mut app = asked_by_three();
    assert_eq!((app.question_place(), app.questions.len()), ((1, 3), 5));
    let words: Vec<String> = app.panel_choices().iter().map(|choice| choice.words()).collect();
    insta::assert_snapshot!(words.join("\n"), @"
    yes, once
    yes, once, for all 3
    no
    no, for all 3
    ");
    key(&mut app, KeyCode::Char('2'));
    let all =
        |answer: &Answer| [1, 2, 3].map(|byte| Effect::Answer(request_id(byte), answer.clone()));
    assert_eq!(enter(&mut app), all(&YES));
    assert_eq!((front(&app), app.question_place()), (Some(request_id(4)), (1, 2)));
    let mut app = asked_by_three();
    key(&mut app, KeyCode::Up);
    assert_eq!(enter(&mut app), all(&NO));
    // One of them alone; what is left are two.
    let mut app = asked_by_three();
    assert_eq!(enter(&mut app), [Effect::Answer(request_id(1), YES)]);
    read(&mut app);
    assert_eq!(app.question_place(), (1, 3));
    key(&mut app, KeyCode::Right);
    assert_eq!(front(&app), Some(request_id(4)));
    key(&mut app, KeyCode::Right);
    key(&mut app, KeyCode::Right);
    assert_eq!(front(&app), Some(request_id(2)));
}

#[test]
fn another_number_of_equal_questions_must_be_read_first() {
    let mut app = with_workers();
    ask(&mut app, 1, 2, PermissionScope::Once);
    ask(&mut app, 2, 3, PermissionScope::Once);
    read(&mut app);
    key(&mut app, KeyCode::Char('2'));
    ask(&mut app, 3, 4, PermissionScope::Once);
    show(&mut app);
    assert_eq!(app.standby(), Standby::Unread);
    assert_eq!(enter(&mut app), []);
    // What is not shown yet is not answered.
    read(&mut app);
    key(&mut app, KeyCode::Char('2'));
    ask(&mut app, 4, 4, PermissionScope::Once);
    assert_eq!(enter(&mut app).len(), 3);
}
