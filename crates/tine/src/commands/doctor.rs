//! `tine doctor`: checks that everything tine needs is there, and says what it found. Asks no provider anything.

mod checks;
mod cluster;
mod confinement;
mod trial;
mod trust;
mod worktrees;

pub(crate) use self::confinement::read_width;
use serde::Serialize;

use crate::cli::JsonArgs;
use crate::config::{Config, Sources};
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::{FAILED, Failure};
use crate::open::{Surroundings, work_directory};
use crate::output;
use tine_tui::figures::plural;
use tine_tui::words::{CYAN, GREEN, RED, YELLOW, one_line, styled};

/// The check of the model that new agents get.
const MODEL: &str = "default model";

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// Something works less well than it could.
    Warning,
    Failure,
}

/// One check. Its JSON shape is what others rely on: fields are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: String,
    status: Status,
    detail: String,
    hint: Option<String>,
}

/// The JSON shape of the whole.
#[derive(Serialize)]
struct DoctorJson {
    /// Whether no check failed.
    ok: bool,
    checks: Vec<Check>,
    verdict: String,
}

impl Check {
    fn new(name: impl Into<String>, status: Status, detail: impl Into<String>) -> Self {
        Self { name: name.into(), status, detail: detail.into(), hint: None }
    }

    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, detail)
    }

    fn warning(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Warning, detail)
    }

    /// A check that ended in an error: its words, and its hints, each on one line. The picture of a place in a file is
    /// left out; its line and column are in the words.
    fn failure(name: impl Into<String>, failure: &Failure) -> Self {
        let text = failure.text();
        let (hints, words): (Vec<&str>, Vec<&str>) = text
            .lines()
            .filter(|line| {
                !line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).starts_with('|')
            })
            .partition(|line| line.starts_with("hint: "));
        let words: Vec<&str> =
            words.iter().map(|line| line.trim_start_matches("error: ")).collect();
        let hints: Vec<&str> = hints.iter().map(|line| line.trim_start_matches("hint: ")).collect();
        let hint = (!hints.is_empty()).then(|| hints.join("; "));
        Self { hint, ..Self::new(name, Status::Failure, words.join(": ")) }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

pub(crate) async fn doctor(surroundings: Surroundings, args: JsonArgs) -> Result<u8, Failure> {
    let directory = work_directory(surroundings.directory)?;
    let mut checks = vec![checks::version()];
    let mut config = None;
    match Dirs::find(&variable) {
        Err(failure) => checks.push(Check::failure("directories", &failure)),
        Ok(dirs) => {
            checks.extend(checks::directories(&dirs));
            checks.extend(checks::database(&dirs, &directory).await);
            checks.push(checks::conversations(&dirs));
            let sources = Sources {
                dirs: &dirs,
                directory: &directory,
                variable: &variable,
                trusts_once: surroundings.trusts_once,
            };
            match Config::load(sources) {
                Err(failure) => checks.push(Check::failure("settings", &failure)),
                Ok(read) => {
                    checks.extend(checks::settings(&read));
                    checks.push(checks::leaves(&read));
                    checks.extend(trust::checks(&read, &directory));
                    checks.push(checks::agents(&read, &directory));
                    checks.extend(worktrees::checks(&read, &dirs));
                    config = Some(read);
                }
            }
            checks.push(checks::models(&dirs));
        }
    }
    checks.extend(checks::programs(variable("PATH").unwrap_or_default().as_ref()));
    checks.extend(confinement::checks(config.as_ref(), &directory));
    checks.push(checks::terminal());
    checks.push(trial::simulator(&directory).await);

    report(checks, args)
}

/// `tine cluster doctor`
pub(crate) async fn cluster(config: &Config, args: JsonArgs) -> Result<u8, Failure> {
    let checks = cluster::checks(config).await?;
    report(checks, args)
}

/// Prints the checks; the exit code says whether one has failed.
fn report(checks: Vec<Check>, args: JsonArgs) -> Result<u8, Failure> {
    let ok = checks.iter().all(|check| check.status != Status::Failure);
    let verdict = verdict(&checks);
    if args.json {
        output::json(&DoctorJson { ok, checks, verdict })?;
    } else {
        let text: String = checks.iter().map(line).collect();
        output::write_out(&format!("{text}{verdict}\n"))?;
    }
    Ok(if ok { 0 } else { FAILED })
}

/// The whole in one line.
fn verdict(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|check| check.status == Status::Failure);
    let failed: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
    let lacks_model = |check: &Check| check.name == MODEL && check.status == Status::Warning;
    match (failed.len(), checks.iter().any(lacks_model)) {
        (0, false) => "ready".to_owned(),
        (0, true) => "ready, but no model can be asked yet".to_owned(),
        (count, _) => {
            format!("not ready: {} failed ({})", plural(count as u64, "check"), failed.join(", "))
        }
    }
}

/// One check as a line, and its hint below.
fn line(check: &Check) -> String {
    let (style, word) = match check.status {
        Status::Ok => (GREEN, "ok  "),
        Status::Warning => (YELLOW, "warn"),
        Status::Failure => (RED, "fail"),
    };
    let word = styled(style, word);
    let hint = check
        .hint
        .iter()
        .map(|hint| format!("      {} {}\n", styled(CYAN, "hint:"), one_line(hint)));
    let hint: String = hint.collect();
    format!("{word}  {}: {}\n{hint}", check.name, one_line(&check.detail))
}
