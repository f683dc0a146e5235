//! `tine eval`: a suite of scripted prompts through forks. Needs no store: nothing of it is kept but what is asked for.

mod shape;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use tine_eval::{
    Client, NoModel, Progress, Recorder, Replayer, RunOptions, Runner, Suite, SuiteError,
    SuiteReport, Tape, TapeError, TapeWriter, junit,
};
use tine_fork::DefaultForkSubagent;
use tine_llm::LlmClient;
use tine_model::ModelRef;
use tine_runtime::{Connector, ModelWords, RuntimeError};
use tokio_util::sync::CancellationToken;

use crate::caching;
use crate::cli::EvalArgs;
use crate::config::{Config, Sources};
use crate::connect::Models;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::interruptible;
use crate::model::default_model;
use crate::open::{Surroundings, work_directory};
use crate::output;
use crate::render::screen::Screen;
use crate::talk::STOPPING;
use crate::trust::notes;
use crate::whole_file::write_file;
use tine_tui::figures::plural;

/// Who answers, and what is kept of it.
struct Cast {
    clients: Vec<Client>,
    /// Holds the simulators.
    _connector: Option<Models>,
    reel: Reel,
}

/// The tape, if there is one.
enum Reel {
    None,
    Recorded(Arc<TapeWriter>),
    Replayed(Arc<Replayer>),
}

/// Runs a suite.
pub(crate) async fn eval(surroundings: Surroundings, args: EvalArgs) -> Result<u8, Failure> {
    let directory = work_directory(surroundings.directory)?;
    let mut suite = Suite::load(&args.suite).map_err(|error| bad_suite(&error))?;
    choose(&mut suite, &args.cases)?;
    let dirs = Dirs::find(&variable)?;
    let config = Config::load(Sources {
        dirs: &dirs,
        directory: &directory,
        variable: &variable,
        trusts_once: surroundings.trusts_once,
    })?;
    for note in notes(&config.projects, &config.withheld) {
        output::say(&format!("note: {note}"));
    }
    let cast = cast(&config, &suite, &args).await?;
    let cancel = CancellationToken::new();
    let jobs = usize::try_from(args.jobs).unwrap_or(usize::MAX);
    let runner = Runner {
        forks: DefaultForkSubagent::new().with_models(Arc::new(caching::models(&dirs.models_file))),
        options: RunOptions { repeat: args.repeat, jobs, cancel: cancel.clone() },
    };
    let screen = Screen::stderr();
    let on_progress = |progress: &Progress<'_>| {
        let columns = screen.columns();
        screen.show(vec![text::progress(progress, columns)]);
    };
    let run = async {
        screen.show(vec![text::STARTING.to_owned()]);
        runner.run(&suite, &cast.clients, &on_progress).await
    };
    let report = interruptible(run, &cancel, || screen.say(STOPPING)).await;
    screen.show(Vec::new());
    tell_of_tape(&cast.reel)?;
    // What others are told of their agents does not hold here: there are none.
    let report = report.map_err(|failure| match failure.code {
        INTERRUPTED => Failure::coded(INTERRUPTED, "interrupted at once; nothing was judged"),
        _ => failure,
    })?;
    finish(&report, &args, cancel.is_cancelled())
}

/// Prints the result; the exit code says whether all is well.
fn finish(report: &SuiteReport, args: &EvalArgs, stopped: bool) -> Result<u8, Failure> {
    if let Some(path) = &args.junit {
        let failed = |error: &dyn std::error::Error| {
            Failure::failed(format!("cannot write {}", path.display())).because(error)
        };
        let xml = junit(report).map_err(|error| failed(&error))?;
        write_file(path, &xml).map_err(|error| failed(&error))?;
    }
    if args.json {
        output::transcript_json(&shape::EvalShape::new(report), false)?;
    } else {
        output::transcript(&text::page(report, output::stdout_columns()), false)?;
    }
    Ok(match (stopped, report.passed()) {
        (true, _) => INTERRUPTED,
        (false, true) => 0,
        (false, false) => FAILED,
    })
}

/// Keeps the cases that were asked for.
fn choose(suite: &mut Suite, asked: &[String]) -> Result<(), Failure> {
    if asked.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = suite.cases.iter().map(|case| case.name.clone()).collect();
    suite.cases.retain(|case| asked.iter().any(|text| case.name.contains(text.as_str())));
    if suite.cases.is_empty() {
        Err(Failure::input("no case of this name is in the suite")
            .hint(format!("the cases are {}", names.join(", "))))
    } else {
        Ok(())
    }
}

/// The model of this name. A suite says itself how much its models are to reason.
fn model_of(name: &str) -> Result<ModelRef, Failure> {
    match ModelWords::parse(name)? {
        ModelWords { model, level: None } => Ok(model),
        ModelWords { model, .. } => {
            Err(Failure::input(format!("`{name}` names a level of reasoning"))
                .hint(format!("name the model alone: {model}")))
        }
    }
}

/// Connects every model that the suite needs, before anything runs.
async fn cast(config: &Config, suite: &Suite, args: &EvalArgs) -> Result<Cast, Failure> {
    let asked = args.model.as_deref().map(model_of).transpose()?;
    if let Some(path) = &args.replay {
        let tape = Tape::load(path).map_err(|error| bad_tape(&error))?;
        let forced = asked.or_else(|| tape.model.clone());
        let models = suite.models(forced.as_ref(), tape.fallback.as_ref()).map_err(no_model)?;
        let replayer = Arc::new(Replayer::new(tape));
        let llm = Arc::clone(&replayer) as Arc<dyn LlmClient>;
        let client = |model| Client { model, llm: Arc::clone(&llm), account: "tape".into() };
        let clients = models.into_iter().map(client).collect();
        return Ok(Cast { clients, _connector: None, reel: Reel::Replayed(replayer) });
    }
    let fallback = default_model(config).map(|setting| model_of(&setting.value)).transpose()?;
    let models = suite.models(asked.as_ref(), fallback.as_ref()).map_err(no_model)?;
    let connector = Models::of(config)?;
    let mut connected: HashMap<ModelRef, Arc<dyn LlmClient>> = HashMap::new();
    for model in &models {
        if !connected.contains_key(model) {
            let llm = connector.connect(model).await.map_err(RuntimeError::Connect)?;
            connected.insert(model.clone(), llm);
        }
    }
    // Only now: a model that cannot be had must not cost an older tape.
    let reel = match &args.record {
        None => Reel::None,
        Some(path) => {
            let models = (asked.as_ref(), fallback.as_ref());
            let created = TapeWriter::create(path, &suite.name, models);
            Reel::Recorded(created.map_err(|error| bad_tape(&error))?)
        }
    };
    let client = |model: ModelRef| {
        let account = connector.account(&model).into();
        let llm = Arc::clone(connected.get(&model)?);
        let llm = match &reel {
            Reel::None | Reel::Replayed(_) => llm,
            Reel::Recorded(tape) => Arc::new(Recorder::new(llm, model.clone(), Arc::clone(tape))),
        };
        Some(Client { model, llm, account })
    };
    let clients = models.into_iter().filter_map(client).collect();
    Ok(Cast { clients, _connector: Some(connector), reel })
}

/// What the tape has to do with the result.
fn tell_of_tape(reel: &Reel) -> Result<(), Failure> {
    let requests = |count: usize| plural(count as u64, "request");
    match reel {
        Reel::None => {}
        Reel::Recorded(tape) => {
            let (recorded, unanswered) = tape.finish().map_err(|error| bad_tape(&error))?;
            output::say(&format!("recorded {}", plural(recorded as u64, "exchange")));
            if unanswered > 0 {
                output::say(&format!(
                    "warning: {} without a reply could not be recorded; the runs that made them cannot be replayed",
                    requests(unanswered)
                ));
            }
        }
        Reel::Replayed(replayer) => match replayer.missed() {
            0 => {}
            missed => output::say(&format!(
                "warning: not on the tape: {}\nhint: a suite that was changed must be recorded again, with --record",
                requests(missed)
            )),
        },
    }
    Ok(())
}

fn bad_suite(error: &SuiteError) -> Failure {
    let hint = error.hint().unwrap_or("`tine man` describes suites under EVALUATIONS");
    Failure::input("the suite cannot be used").because(error).hint(hint)
}

fn bad_tape(error: &TapeError) -> Failure {
    let hint = match error {
        TapeError::Write { .. } => "check the disk and the path",
        TapeError::Read { .. }
        | TapeError::NoTape(_)
        | TapeError::Version { .. }
        | TapeError::Line { .. } => "`tine eval SUITE --record FILE` makes a tape",
    };
    Failure::input("the tape cannot be used").because(error).hint(hint)
}

fn no_model(error: NoModel) -> Failure {
    Failure::input("no model is configured and no API key is set")
        .because(&error)
        .hint("name one with --model provider/name, or `model` in the suite")
}
