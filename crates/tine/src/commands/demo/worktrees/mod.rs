//! `tine demo --worktrees`: four workers do one task in four ways, each in a worktree of its own; a check looks at each, the best work
//! is applied onto a checkout in which somebody has gone on. It plays in a repository of its own that has the user's history; the
//! user's is only read.

mod page;
mod shape;
mod story;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_cache::Asked;
use tine_guard::PermissionMode;
use tine_model::{AgentId, Reach, TaskStatus};
use tine_runtime::{
    Applied, BringSpec, Brought, BroughtOutcome, Candidate, Check, Confinement, EventFilter,
    FanReport, FanSpec, Missing, OnConflict, Placement, RunOptions, Runtime, RuntimeError, Start,
    Work, WorktreeError, WorktreeRefusal, best, try_out,
};
use tokio_util::sync::CancellationToken;

use super::home::Home;
use super::look;
use super::view::{self, FanView};
use crate::cli::DemoArgs;
use crate::fail::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::interruptible;
use crate::output;
use crate::render::screen::Screen;
use story::{MODEL, PROMPT, SCENARIO, WAYS};
use tine_tui::words::{DIM, styled};

/// What the repository is called whose directory has no name.
const NAMELESS: &str = "repository";

/// What has happened.
struct Told {
    root: AgentId,
    fan: FanReport,
    /// The top of the demo's own checkout.
    checkout: PathBuf,
    /// The file in it in which the root agent has begun.
    file: String,
    /// What each worker did, in the order of the ways.
    works: Vec<Work>,
    candidates: Vec<Candidate>,
    /// Whose work was applied, and what came of it; `None` where none was good.
    taken: Option<(AgentId, Brought<Applied>)>,
    /// The paragraph in the end.
    paragraph: Vec<String>,
    /// Whether the checkout's index is byte for byte what it was before.
    index_is_kept: bool,
}

/// Plays the demo on the repository around `directory`.
pub(super) async fn demo(directory: &Path, args: &DemoArgs) -> Result<u8, Failure> {
    let screen = Arc::new(Screen::stderr());
    let name = directory.file_name().unwrap_or(OsStr::new(NAMELESS));
    let (mut home, room) = Home::with_room(args.keep, name).await?;
    let result = play(&mut home, (directory, room), &screen, args).await;
    home.close().await;
    result
}

async fn play(
    home: &mut Home,
    (directory, room): (&Path, PathBuf),
    screen: &Arc<Screen>,
    args: &DemoArgs,
) -> Result<u8, Failure> {
    let cancel = CancellationToken::new();
    let work = async {
        screen.show(vec![styled(DIM, "… takes what is committed")]);
        let made = try_out(directory.to_owned(), room).await;
        screen.show(Vec::new());
        let checkout = made.map_err(unfit)?;
        view::greet(screen, ("tine demo --worktrees", directory), MODEL);
        screen.say(&styled(DIM, "It plays in a copy of this repository, which is only read."));
        screen.say("");
        if args.keep {
            home.keep_room();
        }
        tell(home.runtime(), screen, &checkout, &cancel).await
    };
    let told = interruptible(work, &cancel, || {}).await?;
    if cancel.is_cancelled() {
        view::say_interrupted(screen, args.keep);
        return Ok(INTERRUPTED);
    }
    let Some(told) = told? else { return Ok(INTERRUPTED) };
    if args.json {
        output::json(&shape::DemoShape::new(&told, directory, args.keep))?;
    } else {
        let page = page::Page { told: &told, kept: args.keep, columns: screen.columns() };
        output::write_out(&page.to_text())?;
    }
    let completed = told.fan.tasks.iter().all(|task| task.status == TaskStatus::Completed);
    let is_written = |(_, brought): &(AgentId, Brought<Applied>)| {
        brought.came.outcome == BroughtOutcome::Written
    };
    Ok(if completed && told.taken.as_ref().is_some_and(is_written) { 0 } else { FAILED })
}

/// Why there is no repository to play in.
fn unfit(error: RuntimeError) -> Failure {
    match error {
        RuntimeError::Worktree(WorktreeError::Refused(WorktreeRefusal::NoCommit(_))) => {
            Failure::input("this repository has no commit yet")
                .hint("commit something first; `tine demo` plays in any directory")
        }
        RuntimeError::Worktree(WorktreeError::Refused(WorktreeRefusal::NoRepository(_))) => {
            Failure::from(error).hint("`tine demo` plays in any directory")
        }
        error => error.into(),
    }
}

/// The story; `None` where it was stopped.
async fn tell(
    runtime: &Runtime,
    screen: &Arc<Screen>,
    checkout: &Path,
    cancel: &CancellationToken,
) -> Result<Option<Told>, Failure> {
    let permissions = super::story::permissions(SCENARIO, PermissionMode::AcceptEdits)?;
    // Its commands see no more of this process's environment than the wall lets through: a variable could lead git elsewhere.
    let confinement = Confinement {
        reach: Reach::directory().into(),
        missing: Missing::RefuseCommands,
        ..Confinement::default()
    };
    let options = RunOptions {
        confinement: confinement.clone(),
        cancel: cancel.clone(),
        ..RunOptions::new(permissions)
    };
    let (root, _) = look(runtime, screen, (MODEL, checkout, PROMPT), &options).await?;
    let unreadable = |error: io::Error| Failure::failed("cannot read the checkout").because(&error);
    let file = story::begun(checkout)
        .map_err(unreadable)?
        .ok_or_else(|| Failure::failed("the root agent has begun nothing"))?;
    let titles = WAYS.map(str::to_owned).to_vec();
    let mut view = FanView::new(Arc::clone(screen), titles);
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec {
            place: Placement::Worktree(Start::State),
            ..tine_runtime::ForkSpec::of(root)
        },
        directives: WAYS.map(story::directive).to_vec(),
        plan: Asked::Leader,
    };
    let stream = runtime.subscribe(EventFilter::Tree(root));
    let fan = stream.during(runtime.fan(spec, &options), |heard| view.heard(&heard)).await;
    view.end();
    let fan = fan?;
    if cancel.is_cancelled() {
        return Ok(None);
    }
    story::write_on(&checkout.join(&file)).map_err(unreadable)?;
    let meanwhile =
        format!("Meanwhile the demo has written a line into {file}, as a person would.");
    screen.say(&styled(DIM, &meanwhile));
    let index = || fs::read(checkout.join(".git").join("index")).map_err(unreadable);
    let before = index()?;
    let agents: Vec<AgentId> = fan.tasks.iter().map(|task| task.agent).collect();
    let check = story::check(&file);
    let (works, candidates) =
        judged(runtime, screen, (&agents, &check), (&confinement, cancel)).await?;
    let taken = match best(&candidates) {
        Some(best) => Some((best.agent, applied(runtime, best.agent).await?)),
        None => None,
    };
    let paragraph = story::paragraph(&checkout.join(&file)).map_err(unreadable)?;
    let index_is_kept = index()? == before;
    let checkout = checkout.to_owned();
    Ok(Some(Told { root, fan, checkout, file, works, candidates, taken, paragraph, index_is_kept }))
}

/// What each did, and whether it passes the check; one after the other, as `tine pick` does it.
async fn judged(
    runtime: &Runtime,
    screen: &Screen,
    (agents, check): (&[AgentId], &Check),
    how: (&Confinement, &CancellationToken),
) -> Result<(Vec<Work>, Vec<Candidate>), Failure> {
    let mut works = Vec::with_capacity(agents.len());
    let mut candidates = Vec::with_capacity(agents.len());
    for (index, agent) in agents.iter().enumerate() {
        let line = format!("checking {} of {}: {}", index + 1, agents.len(), agent.short());
        screen.show(vec![styled(DIM, &line)]);
        works.push(runtime.work_of(*agent, Vec::new()).await?);
        candidates.push(runtime.candidate(*agent, Some(check), how).await?);
    }
    screen.show(Vec::new());
    Ok((works, candidates))
}

async fn applied(runtime: &Runtime, agent: AgentId) -> Result<Brought<Applied>, Failure> {
    let spec = BringSpec { agent, to: None, dry_run: false, as_held: true };
    Ok(runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await?)
}
