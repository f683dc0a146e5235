//! Mail of guests, as their program's prompts take it.

use tine_model::{AgentId, AgentState};
use tine_runtime::{KillSpec, TakenMail};

use super::host::{Host, Program};

async fn taken(host: &Host, session: &str) -> TakenMail {
    host.runtime.take_mail_of_session("test", session).await.unwrap()
}

#[tokio::test]
async fn mail_of_a_session_is_taken_once_from_all_of_its_lines() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    let mut other = program.clone();
    host.turn(&mut program, "three", "four").await;
    let line = host.turn(&mut other, "another", "way").await;
    assert_ne!(guest, line);
    let stranger = host.turn(&mut Program::new("t"), "five", "six").await;
    assert_eq!(taken(&host, "s").await, TakenMail::default());
    host.runtime.send(line, "first".to_owned()).await.unwrap();
    host.runtime.send(guest, "second".to_owned()).await.unwrap();
    host.runtime.send_from(Some(line), stranger, "third".to_owned()).await.unwrap();
    let told = ["Message from the user:\nfirst", "Message from the user:\nsecond"];
    assert_eq!(
        taken(&host, "s").await,
        TakenMail { texts: told.map(str::to_owned).into(), left: 0 }
    );
    assert_eq!(taken(&host, "s").await, TakenMail::default());
    assert_eq!(taken(&host, "unknown").await, TakenMail::default());
    let third = format!("Message from agent {}:\nthird", line.short());
    assert_eq!(taken(&host, "t").await.texts, [third]);
    // The conversation is what its program sends, and goes on as before.
    let state = host.runtime.agent(guest).await.unwrap().state;
    assert_eq!((state, host.runtime.is_held(guest).await.unwrap()), (AgentState::Idle, false));
    assert_eq!(host.turn(&mut program, "5", "6").await, guest);
    assert_eq!(host.texts(guest).await, ["one", "two", "three", "four", "5", "6"]);
}

#[tokio::test]
async fn of_prompts_at_once_one_gets_it() {
    let mut host = Host::new().await;
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    for round in 0..8 {
        host.runtime.send(guest, format!("report {round}")).await.unwrap();
        let (one, other) = tokio::join!(taken(&host, "s"), taken(&host, "s"));
        let texts = [one.texts, other.texts].concat();
        assert_eq!(texts, [format!("Message from the user:\nreport {round}")]);
    }
}

#[tokio::test]
async fn what_is_too_much_for_a_prompt_waits_and_a_dead_guest_gets_nothing() {
    let mut host = Host::new().await;
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    let long = |letter: &str| letter.repeat(6_000);
    host.runtime.send(guest, long("a")).await.unwrap();
    host.runtime.send(guest, long("b")).await.unwrap();
    let first = taken(&host, "s").await;
    assert!(first.left == 1 && first.texts.len() == 1 && first.texts[0].ends_with(&long("a")));
    let second = taken(&host, "s").await;
    assert!(second.left == 0 && second.texts.len() == 1 && second.texts[0].ends_with(&long("b")));
    host.runtime.send(guest, "late".to_owned()).await.unwrap();
    kill(&host, guest).await;
    assert_eq!(taken(&host, "s").await, TakenMail::default());
}

async fn kill(host: &Host, agent: AgentId) {
    let spec = KillSpec { agent, roots: true };
    host.runtime.kill(spec).await.unwrap();
}
