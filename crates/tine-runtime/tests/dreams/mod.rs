//! Consolidation of a memory: gates in simulated time, what a run may do, and what is left of one that dies.

mod deaths;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tine_model::{AgentId, Reach, Standing};
use tine_runtime::{
    Confinement, DreamAsk, DreamContext, DreamOutcome, DreamRules, DreamRun, DreamSettings,
    Dreamed, MemoryPlaces, RunOptions, Runtime, RuntimeError,
};
use tine_store::OpenOptions;
use tine_testkit::{Answer, Captured, ScriptedModel};

use super::fixture::{House, options};
use super::merged::arrivals::other_process;

const HOUR_MS: i64 = 3_600_000;

/// A house whose agents work in `work`, and whose memory is `memory`.
struct Place {
    house: House,
    world: tempfile::TempDir,
    settings: DreamSettings,
}

/// What the hidden run answers, by how many of its replies stand in the request.
type Script = Box<dyn FnMut(usize, &Path) -> Answer + Send>;

impl Place {
    /// A place where everybody says `hello`, and the hidden run goes by a script.
    async fn new(mut script: Script) -> Self {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        let (work, memory) = (root.join("work"), root.join("memory"));
        std::fs::create_dir(&work).unwrap();
        let notes = memory.clone();
        let house = House::new(ScriptedModel::answering(move |request| match turn(request) {
            Some(turn) => script(turn, &notes),
            None => Answer::text("hello"),
        }))
        .await;
        let usual = DreamSettings::new(work, memory);
        let rules = DreamRules { enabled: true, ..DreamRules::default() };
        Self { house, world, settings: DreamSettings { rules, ..usual } }
    }

    /// One that writes its index and one note.
    async fn noting() -> Self {
        Self::new(Box::new(|turn, notes| match turn {
            0 => calls(&[
                write(&notes.join("MEMORY.md"), "- build.md\n"),
                write(&notes.join("build.md"), "make\n"),
            ]),
            _ => Answer::text("Two notes."),
        }))
        .await
    }

    /// So many sessions, each with a prompt and an answer.
    async fn sessions(&self, count: usize) -> Vec<AgentId> {
        let mut sessions = Vec::new();
        for number in 0..count {
            let root = self.house.root_in(self.settings.project.clone()).await;
            self.say(root, &format!("session {number}")).await;
            sessions.push(root);
        }
        sessions
    }

    async fn say(&self, agent: AgentId, text: &str) {
        self.house.clock.advance_ms(1_000);
        self.house.runtime.run(agent, Some(text.to_owned()), &options()).await.unwrap();
    }

    async fn dream(&self, ask: DreamAsk) -> Dreamed {
        self.house.runtime.dream(&self.settings, ask, &options()).await.unwrap()
    }

    async fn forced(&self) -> DreamRun {
        match self.dream(DreamAsk { forced: true, current: None }).await {
            Dreamed::Ran(run) => *run,
            Dreamed::Closed(gates) => panic!("closed: {gates:?}"),
        }
    }

    fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.settings.memory_dir.join(name)).ok()
    }
}

/// The number of the hidden run's turn, from 0; `None` of other agents' requests.
fn turn(request: &Captured) -> Option<usize> {
    let text = request.text();
    text.contains("You look after the memory")
        .then(|| text.matches("\"tool_result\"").count().min(1))
}

fn write(path: &Path, text: &str) -> (&'static str, String) {
    ("FileWrite", json!({ "file_path": path, "content": text }).to_string())
}

fn calls(calls: &[(&'static str, String)]) -> Answer {
    let ids: Vec<String> = (0..calls.len()).map(|number| format!("c{number}")).collect();
    let calls = ids.iter().zip(calls);
    Answer::calls(calls.map(|(id, (tool, input))| (id.as_str(), *tool, input.as_str())))
}

fn closed(dreamed: &Dreamed) -> String {
    match dreamed {
        Dreamed::Ran(run) => format!("ran: {}", run.outcome.as_str()),
        Dreamed::Closed(gates) => {
            let gate = gates.iter().find(|gate| !gate.open).unwrap();
            format!("{}: {}", gate.name, gate.reason)
        }
    }
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_forced_run_writes_notes_and_says_what_it_did() {
    let place = Place::noting().await;
    let sessions = place.sessions(2).await;
    let before = place.house.runtime.store().own_entries(sessions[1], None).await.unwrap();
    let run = place.forced().await;
    assert_eq!((run.outcome, run.context), (DreamOutcome::Completed, DreamContext::Warm));
    assert_eq!(run.files, ["MEMORY.md", "build.md"]);
    assert_eq!((&run.escapes, &run.refused, run.turns), (&vec![], &vec![], 2));
    assert!(run.commit.is_some() && run.cost_usd.is_none());
    assert_eq!(run.sessions, [sessions[1], sessions[0]]);
    assert_eq!(place.note("build.md").as_deref(), Some("make\n"));
    // The session that it was forked from does not know of it.
    let after = place.house.runtime.store().own_entries(sessions[1], None).await.unwrap();
    assert_eq!(before, after);
    let hidden = place.house.runtime.store().agent(run.run).await.unwrap();
    assert_eq!((hidden.standing, hidden.parent), (Standing::Hidden, Some(sessions[1])));
    // Taken back, and only once.
    let undone = place.house.runtime.undo_dream(&place.settings.memory_dir, run.run).await.unwrap();
    assert!(undone.undone.is_some() && place.note("build.md").is_none());
    let again = place.house.runtime.undo_dream(&place.settings.memory_dir, run.run).await;
    assert!(matches!(again, Err(RuntimeError::UndoneBefore(_))), "{again:?}");
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_hostile_session_gets_nothing() {
    let place = Place::new(Box::new(|turn, notes| match turn {
        0 => calls(&[
            write(&notes.join("../work/made"), "x"),
            write(Path::new("/etc/cron.d/made"), "x"),
            write(&notes.join(".git/hooks/post-commit"), "x"),
            write(&notes.join("keys.md"), "the key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl-AA"),
            ("FileRead", json!({ "file_path": "~/.ssh/id_ed25519" }).to_string()),
            ("Bash", json!({ "command": "rm -rf ." }).to_string()),
            ("Agent", json!({ "prompt": "x", "description": "x" }).to_string()),
            write(&notes.join("good.md"), "fine\n"),
        ]),
        _ => Answer::text("Done."),
    }))
    .await;
    place.sessions(1).await;
    let run = place.forced().await;
    assert_eq!(
        (run.outcome, run.files.as_slice()),
        (DreamOutcome::Completed, &["good.md".to_owned()][..])
    );
    assert_eq!(run.refused.len(), 7, "{:?}", run.refused);
    assert_eq!(run.escapes, Vec::<String>::new());
    assert!(place.note("keys.md").is_none() && !place.settings.project.join("made").exists());
}

/// Time passes, sessions are used, and runs come out.
#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn runs_begin_at_the_edges_of_the_gates_and_never_twice() {
    let place = Place::noting().await;
    let clock = place.house.clock.clone();
    let memory = place.settings.memory_dir.display().to_string();
    let mut lines = Vec::new();
    let mut told =
        |what: &str, dreamed: &Dreamed| lines.push(format!("{what} -> {}", closed(dreamed)));
    let by_itself = DreamAsk::default();
    told("no memory", &place.dream(by_itself).await);
    std::fs::create_dir(&place.settings.memory_dir).unwrap();
    told("no session", &place.dream(by_itself).await);
    let sessions = place.sessions(5).await;
    told("counted just now", &place.dream(by_itself).await);
    clock.advance_ms(10 * 60_000);
    let current = DreamAsk { forced: false, current: Some(sessions[4]) };
    told("five, one of them held now", &place.dream(current).await);
    clock.advance_ms(10 * 60_000);
    told("five", &place.dream(by_itself).await);
    clock.advance_ms(24 * HOUR_MS - 60_000);
    place.sessions(5).await;
    told("five more, too early", &place.dream(by_itself).await);
    clock.advance_ms(HOUR_MS);
    told("five more", &place.dream(by_itself).await);
    told("at once again", &place.dream(by_itself).await);
    told("forced", &place.dream(DreamAsk { forced: true, current: None }).await);
    clock.advance_ms(-48 * HOUR_MS);
    place.sessions(5).await;
    told("the clock was set back", &place.dream(by_itself).await);
    told("forced, at that time", &place.dream(DreamAsk { forced: true, current: None }).await);
    clock.advance_ms(24 * HOUR_MS);
    place.sessions(5).await;
    told("a day after that", &place.dream(by_itself).await);
    insta::assert_snapshot!(lines.join("\n").replace(&memory, "[MEMORY]"), @"
    no memory -> memory: [MEMORY] is not there; a forced run makes it
    no session -> sessions: this project has no session yet
    counted just now -> scan: 5 s since the sessions were counted, of 10 min
    five, one of them held now -> sessions: 4 since the last run, of 5 that it takes
    five -> ran: completed
    five more, too early -> hours: 23 h 59 min since the last run that succeeded, of 24 h
    five more -> ran: completed
    at once again -> hours: 0 s since the last run that succeeded, of 24 h
    forced -> ran: completed
    the clock was set back -> hours: the clock shows 47 h less than it did: `tine dream --force` sets this right
    forced, at that time -> ran: completed
    a day after that -> ran: completed
    ");
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn of_several_processes_one_runs() {
    let place = Place::noting().await;
    std::fs::create_dir(&place.settings.memory_dir).unwrap();
    place.sessions(5).await;
    let mut processes: Vec<Runtime> = Vec::new();
    for _ in 0..3 {
        processes.push(other_process(&place.house, OpenOptions::default()).await);
    }
    for ask in [DreamAsk::default(), DreamAsk { forced: true, current: None }] {
        let options = options();
        let runs = processes.iter().map(|one| one.dream(&place.settings, ask, &options));
        let ran = futures_util::future::join_all(runs).await;
        let ran = ran.into_iter().filter(|ran| matches!(ran, Ok(Dreamed::Ran(_)))).count();
        assert!(ran >= 1 && (ask.forced || ran == 1), "{ran} of three ran");
    }
    let runs = place.house.runtime.dreams(&place.settings.memory_dir).await.unwrap();
    let mut ends: Vec<(i64, i64)> =
        runs.iter().map(|run| (run.began_ms, run.ended_ms.unwrap())).collect();
    ends.sort_unstable();
    assert!(ends.windows(2).all(|two| two[0].1 <= two[1].0), "no two at a time: {ends:?}");
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_run_that_does_not_complete_leaves_the_memory_as_it_was() {
    let place = Place::new(Box::new(|turn, notes| match turn {
        0 => calls(&[write(&notes.join("half.md"), "half\n")]),
        _ => Answer::hang(),
    }))
    .await;
    let sessions = place.sessions(1).await;
    std::fs::create_dir(&place.settings.memory_dir).unwrap();
    std::fs::write(place.settings.memory_dir.join("mine.md"), "by hand\n").unwrap();
    let options = options();
    let ask = DreamAsk { forced: true, current: None };
    let run = place.house.runtime.dream(&place.settings, ask, &options);
    let stop = async {
        place.house.model.requested(sessions.len() + 2).await;
        assert_eq!(place.note("half.md").as_deref(), Some("half\n"));
        let status =
            place.house.runtime.dream_status(&place.settings, DreamAsk::default()).await.unwrap();
        let last = status.last.unwrap();
        assert_eq!((last.outcome, last.phase), (DreamOutcome::Running, "updating"));
        assert!(status.gates.iter().any(|gate| gate.name == "lock" && !gate.open));
        options.cancel.cancel();
    };
    let (ran, ()) = tokio::join!(run, stop);
    let Dreamed::Ran(run) = ran.unwrap() else { panic!("it ran") };
    assert_eq!((run.outcome, run.commit.clone()), (DreamOutcome::Stopped, None));
    assert_eq!(
        (place.note("half.md"), place.note("mine.md").as_deref()),
        (None, Some("by hand\n"))
    );
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn new_agents_of_the_project_are_told_what_was_learnt() {
    let mut place = Place::noting().await;
    let places = MemoryPlaces {
        root: place.world.path().into(),
        named: Some(place.settings.memory_dir.clone()),
    };
    place.house.runtime = place.house.runtime.clone().with_memory(places);
    place.sessions(1).await;
    place.forced().await;
    let root = place.house.root_in(place.settings.project.clone()).await;
    place.say(root, "what do you know?").await;
    let told = place.house.model.requests().pop().unwrap().text();
    assert_eq!(told.matches("<project-memory>").count(), 1, "{told}");
    assert!(told.contains("- build.md"), "{told}");
    place.say(root, "and now?").await;
    let told = place.house.model.requests().pop().unwrap().text();
    assert_eq!(told.matches("<project-memory>").count(), 1, "{told}");
}

/// Notes lie among tine's own files, which confined agents do not see: what they are told of they read, and nothing beside it.
#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_confined_agent_reads_the_notes_that_it_is_told_of() {
    let world = tempfile::tempdir().unwrap();
    let root = world.path().canonicalize().unwrap();
    let (work, own) = (root.join("work"), root.join("own"));
    let memory = own.join("memory");
    for folder in [&work, &memory] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(memory.join("MEMORY.md"), "- build.md\n").unwrap();
    std::fs::write(memory.join("build.md"), "the noted word\n").unwrap();
    std::fs::write(own.join("tine.db"), "the kept word\n").unwrap();
    let read = |path: PathBuf| ("FileRead", json!({ "file_path": path }).to_string());
    let answers =
        [calls(&[read(memory.join("build.md")), read(own.join("tine.db"))]), Answer::text("done")];
    let mut house = House::new(ScriptedModel::new(answers)).await;
    let places = MemoryPlaces { root: own.clone(), named: Some(memory) };
    house.runtime = house.runtime.clone().with_memory(places);
    let agent = house.root_in(work).await;
    let confinement =
        Confinement { reach: Reach::directory().into(), own: vec![own], ..Confinement::default() };
    let options = RunOptions { confinement, ..options() };
    house.runtime.run(agent, Some("look it up".into()), &options).await.unwrap();
    let told = house.model.requests().pop().unwrap().text();
    assert!(told.contains("the noted word") && !told.contains("the kept word"), "{told}");
}
