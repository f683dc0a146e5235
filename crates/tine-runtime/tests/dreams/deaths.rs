//! A process that dies at any call of the store leaves the memory as it was before the run or as it is after it, and the record says
//! which.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_store::{StepHook, StoreError};
use tine_testkit::share;
use tine_worktree::NotesRepository;

use super::*;

/// Steps that no run reaches.
const STEPS_MAX: usize = 1_000;

/// A process that dies at this step: nothing is written from there on.
fn dying_at(step: usize, reached: &Arc<AtomicUsize>) -> OpenOptions {
    let reached = Arc::clone(reached);
    let hook: StepHook = Arc::new(move |_| {
        match reached.fetch_add(1, Ordering::SeqCst) >= step {
            // Nothing that stands behind it happens: not the next write, and no tidying up of files.
            true => std::panic::panic_any(StoreError::Full { path: "killed".into() }),
            false => Ok(()),
        }
    });
    OpenOptions { step_hook: Some(hook), ..OpenOptions::default() }
}

/// Each run writes a note of its own.
async fn place() -> Place {
    let mut round = 0;
    let place = Place::new(Box::new(move |turn, notes| match turn {
        0 => {
            round += 1;
            calls(&[write(&notes.join(format!("round-{round}.md")), "noted\n")])
        }
        _ => Answer::text("One note."),
    }))
    .await;
    place.sessions(200).await;
    place
}

/// The notes that are there.
fn notes(place: &Place) -> Vec<PathBuf> {
    let entries = place.settings.memory_dir.read_dir().unwrap();
    let mut notes: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    notes.sort();
    notes
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_call_of_the_store_leaves_the_memory_as_before_or_as_after() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.payload().is::<StoreError>() {
        true => {}
        false => usual(info),
    }));
    let place = Arc::new(place().await);
    let ask = DreamAsk { forced: true, current: None };
    let reached = Arc::new(AtomicUsize::new(0));
    let whole = other_process(&place.house, dying_at(STEPS_MAX, &reached)).await;
    let begin = reached.load(Ordering::SeqCst);
    whole.dream(&place.settings, ask, &options()).await.unwrap();
    let steps = reached.load(Ordering::SeqCst);
    assert!(steps > begin + 20, "{begin} to {steps}");
    drop(whole);
    let mut ends = [0, 0];
    for step in share("calls at which a consolidation dies", 0, begin..steps) {
        let before = notes(&place);
        let count = place.house.runtime.dreams(&place.settings.memory_dir).await.unwrap().len();
        let reached = Arc::new(AtomicUsize::new(0));
        let other = other_process(&place.house, dying_at(step, &reached)).await;
        let dreaming = Arc::clone(&place);
        let mut process = tokio::task::JoinSet::new();
        process
            .spawn(async move { other.dream(&dreaming.settings, ask, &options()).await.map(drop) });
        let died = process.join_next().await.unwrap();
        assert!(died.is_err() || reached.load(Ordering::SeqCst) <= step, "step {step}");
        // The next command of anybody finds it.
        place.house.runtime.recover().await.unwrap();
        let runs = place.house.runtime.dreams(&place.settings.memory_dir).await.unwrap();
        let after = notes(&place);
        let last = runs.last().unwrap();
        match runs.len() - count {
            0 => assert_eq!(before, after, "step {step}: no record of it"),
            1 if last.outcome == DreamOutcome::Completed => {
                assert_ne!(before, after, "step {step}");
                ends[1] += 1;
            }
            1 => {
                assert_eq!((last.outcome, before), (DreamOutcome::Lost, after), "step {step}");
                ends[0] += 1;
            }
            more => panic!("step {step}: {more} runs"),
        }
        let repository = NotesRepository::open(&place.settings.memory_dir).unwrap();
        assert_eq!(
            repository.changes().unwrap(),
            Vec::<PathBuf>::new(),
            "step {step}: nothing is half done"
        );
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}
