//! `tine demo`: an agent looks around in this directory and forks into workers. Everything is real but the model, which is
//! the simulator and says so.

mod home;
mod picture;
mod savings;
mod shape;
mod story;
mod view;
mod worktrees;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_cache::Asked;
use tine_fork::run::RunReport;
use tine_guard::PermissionMode;
use tine_model::{AgentId, Outcome, TaskStatus};
use tine_runtime::{EventFilter, FanReport, FanSpec, RunOptions, Runtime};
use tokio_util::sync::CancellationToken;

use crate::cli::DemoArgs;
use crate::fail::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::interruptible;
use crate::open::work_directory;
use crate::output;
use crate::render::screen::Screen;
use home::Home;
use story::{JOBS, MODEL, PROMPT, SCENARIO};
use view::{FanView, LookView};

/// What has happened.
struct Told {
    root: AgentId,
    looked: RunReport,
    fan: FanReport,
}

/// Plays the demo in `directory`.
pub(crate) async fn demo(directory: Option<PathBuf>, args: DemoArgs) -> Result<u8, Failure> {
    let directory = work_directory(directory)?;
    if args.worktrees {
        return worktrees::demo(&directory, &args).await;
    }
    let screen = Arc::new(Screen::stderr());
    let home = Home::open(args.keep).await?;
    let result = play(&home, &screen, &directory, &args).await;
    home.close().await;
    result
}

async fn play(
    home: &Home,
    screen: &Arc<Screen>,
    directory: &Path,
    args: &DemoArgs,
) -> Result<u8, Failure> {
    let cancel = CancellationToken::new();
    view::greet(screen, ("tine demo", directory), MODEL);
    screen.say("");
    let work = tell(home.runtime(), screen, directory, &cancel);
    let told = interruptible(work, &cancel, || {}).await?;
    if cancel.is_cancelled() {
        view::say_interrupted(screen, args.keep);
        return Ok(INTERRUPTED);
    }
    let told = told?;
    if args.json {
        output::json(&shape::DemoShape::new(&told, directory))?;
    } else {
        let rows = output::stdout_is_terminal().then(|| screen.rows());
        let page = picture::Page { told: &told, kept: args.keep, columns: screen.columns(), rows };
        output::write_out(&page.to_text())?;
    }
    let completed = told.fan.tasks.iter().all(|task| task.status == TaskStatus::Completed);
    Ok(if completed { 0 } else { FAILED })
}

/// The story: one agent looks around, then forks into a worker for each job.
async fn tell(
    runtime: &Runtime,
    screen: &Arc<Screen>,
    directory: &Path,
    cancel: &CancellationToken,
) -> Result<Told, Failure> {
    let permissions = story::permissions(SCENARIO, PermissionMode::Default)?;
    let options = RunOptions { cancel: cancel.clone(), ..RunOptions::new(permissions) };
    let (root, looked) = look(runtime, screen, (MODEL, directory, PROMPT), &options).await?;
    let titles = JOBS.iter().map(|job| job.title.to_owned()).collect();
    let mut view = FanView::new(Arc::clone(screen), titles);
    // The prefix is warm but for the root's last reply. With a leader that is written once too, so that the demo shows
    // what a cold prefix would show: each of its tokens is written once, by whoever comes first.
    let directives = JOBS.iter().map(|job| job.directive.to_owned()).collect();
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Leader };
    let stream = runtime.subscribe(EventFilter::Tree(root));
    let fan = stream.during(runtime.fan(spec, &options), |heard| view.heard(&heard)).await;
    view.end();
    Ok(Told { root, looked, fan: fan? })
}

/// A new root agent does what its prompt says, and one sees it.
async fn look(
    runtime: &Runtime,
    screen: &Arc<Screen>,
    (model, directory, prompt): (&str, &Path, &str),
    options: &RunOptions,
) -> Result<(AgentId, RunReport), Failure> {
    let root = runtime.create_root(story::root(model, directory)?).await?;
    let mut look = LookView::new(Arc::clone(screen), directory.to_owned());
    look.begin(root, prompt);
    let stream = runtime.subscribe(EventFilter::Agent(root));
    let run = Box::pin(runtime.run(root, Some(prompt.to_owned()), options));
    let outcome = stream.during(run, |heard| look.heard(&heard)).await;
    look.end();
    let looked = outcome?.report;
    match &looked.outcome {
        Outcome::Completed => Ok((root, looked)),
        Outcome::Failed(why) => Err(Failure::failed(why.clone())),
        other => Err(Failure::failed(format!("the root agent ended early: {}", other.as_str()))),
    }
}

/// The model, for people: it is none.
fn model_words(model: &str) -> String {
    format!("{model}: the simulator, not a model")
}
