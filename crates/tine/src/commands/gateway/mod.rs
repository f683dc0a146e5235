//! `tine with` and `tine gateway serve`: other programs' requests, passed on unchanged; and the way back, `tine gateway hook`.

mod codex;
pub(super) mod hook;
mod lend;
mod record;

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tine_fork::host::{Ids as _, SystemIds};
use tine_gateway::{Format, Gateway, GatewayError, Lending, Options, Threads};
use tine_tools::{ProgramEnd, run_in_foreground};
use tine_tui::figures::plural;

use self::codex::CodexRoute;
use self::lend::{Vault, socket_in, sweep};
use self::record::{OnTrouble, Recorder, Upstreams, Written};
use crate::cli::{GatewayArgs, GatewayFormat, GatewayServeArgs, WithArgs};
use crate::dirs::Dirs;
use crate::environment::{folder_of, variable};
use crate::fail::Failure;
use crate::inside;
use crate::open::{Surroundings, work_directory};
use crate::output;
use crate::watch::interrupted;

/// Said where the end of what passed is not written.
const LATE: &str = "the store is held by another process, or slower than the requests came";

/// Variables that name a provider's base URL: that of whoever starts the gateway is where requests go on to.
const ANTHROPIC: &str = "ANTHROPIC_BASE_URL";
const OPENAI: &str = "OPENAI_BASE_URL";

/// The JSON shape of a gateway's addresses. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ServingJson {
    /// For `ANTHROPIC_BASE_URL`.
    anthropic: String,
    /// For `OPENAI_BASE_URL`.
    openai: String,
    pid: u32,
}

/// The way by which a program learns its base URL.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    /// By an environment variable.
    Variable(String, Format),
    /// By an option of Codex (0.169), which reads no variable.
    CodexOption(CodexRoute),
}

impl Told {
    fn of(args: &WithArgs) -> Result<Self, Failure> {
        if let (Some(name), Some(format)) = (&args.base_url_env, args.format) {
            let format = match format {
                GatewayFormat::Anthropic => Format::Anthropic,
                GatewayFormat::OpenAi => Format::OpenAi,
            };
            return Ok(Self::Variable(name.clone(), format));
        }
        let program = args.command.first().map(OsString::as_os_str).unwrap_or_default();
        let name = Path::new(program).file_name().unwrap_or(program);
        match name.to_str() {
            Some("claude") => Ok(Self::Variable(ANTHROPIC.to_owned(), Format::Anthropic)),
            Some("codex") => {
                let folder = folder_of(&variable, "CODEX_HOME", ".codex")?;
                Ok(Self::CodexOption(CodexRoute::of(&folder)))
            }
            _ => Err(Failure::usage(format!(
                "nobody knows how {} is told its base URL",
                name.to_string_lossy()
            ))
            .hint("say it: `tine with --base-url-env NAME --format anthropic|openai PROGRAM`")),
        }
    }
}

/// Runs a program whose requests go through a gateway in this process. Its exit code is the command's.
pub(crate) async fn with(surroundings: Surroundings, args: WithArgs) -> Result<u8, Failure> {
    inside::only_a_person("starts no other agent", "a person runs `tine with` in a terminal")?;
    let told = Told::of(&args)?;
    let mut options = options(args.gateway);
    match &told {
        Told::Variable(name, format) => {
            if let Some(url) = base_url(name) {
                match format {
                    Format::Anthropic => options.anthropic = url,
                    Format::OpenAi => options.openai = url,
                }
            }
        }
        // The variable is for tine: Codex does not read it.
        Told::CodexOption(route) => {
            if let Some(url) = route.upstream.clone().filter(|_| base_url(OPENAI).is_none()) {
                options.openai = url;
            }
        }
    }
    let directory = surroundings.directory.clone().map(|asked| work_directory(Some(asked)));
    let directory = directory.transpose()?;
    let trouble = Arc::<Mutex<Option<String>>>::default();
    let told_later = Arc::clone(&trouble);
    // The terminal is the program's until it has ended.
    let on_trouble: OnTrouble = Arc::new(move |failure| {
        let mut told = told_later.lock().unwrap_or_else(PoisonError::into_inner);
        told.get_or_insert_with(|| failure.message().to_owned());
    });
    let recorder = recorder(surroundings, args.gateway, &mut options, on_trouble).await;
    let gateway = Gateway::start(options).await.map_err(|error| not_started(&error))?;
    let (mut arguments, mut variables) = (Vec::new(), Vec::new());
    match &told {
        Told::Variable(name, format) => {
            variables.push((name.into(), gateway.base_url(*format).into()));
        }
        Told::CodexOption(CodexRoute { option, .. }) => {
            let url = gateway.base_url(Format::OpenAi);
            arguments.extend(["-c".into(), format!("{option}=\"{url}\"").into()]);
        }
    }
    let (program, own) = args.command.split_first().ok_or_else(|| Failure::usage("no program"))?;
    arguments.extend(own.iter().cloned());
    output::set_screen_drawn(true);
    let end = run_in_foreground(program, &arguments, &variables, directory.as_deref()).await;
    gateway.stop().await;
    let written = match recorder {
        Some(recorder) => Some(recorder.finish().await),
        None => None,
    };
    output::set_screen_drawn(false);
    if let Some(written) = written {
        let trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        say_written(&written, trouble.as_deref());
    }
    match end {
        Ok(ProgramEnd::Code(code)) => Ok(u8::try_from(code).unwrap_or(u8::MAX)),
        // As a shell says it.
        Ok(ProgramEnd::Signal(signal)) => Ok(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Err(error) => Err(cannot_run(program, &error)),
    }
}

/// Passes requests on until it is interrupted.
pub(crate) async fn serve(
    surroundings: Surroundings,
    args: GatewayServeArgs,
) -> Result<u8, Failure> {
    let mut options = Options { port: args.port, ..options(args.gateway) };
    let on_trouble: OnTrouble = Arc::new(|failure| say_trouble(failure.message()));
    let recorder = recorder(surroundings, args.gateway, &mut options, on_trouble).await;
    let gateway = Gateway::start(options).await.map_err(|error| not_started(&error))?;
    // Before anybody can know that it runs: who asks it to end at once is heard.
    let interrupted = interrupted()?;
    let (anthropic, openai) =
        (gateway.base_url(Format::Anthropic), gateway.base_url(Format::OpenAi));
    output::say(&format!(
        "hint: export ANTHROPIC_BASE_URL={anthropic}, or `codex -c openai_base_url={openai}`; Ctrl+C stops"
    ));
    output::json(&ServingJson { anthropic, openai, pid: std::process::id() })?;
    interrupted.await;
    gateway.stop().await;
    if let Some(recorder) = recorder {
        let written = recorder.finish().await;
        if written.is_late {
            say_trouble(LATE);
        }
    }
    Ok(0)
}

/// Begins to record what passes, unless that is not wanted. Forks of what is recorded have a way through the gateway.
async fn recorder(
    surroundings: Surroundings,
    args: GatewayArgs,
    options: &mut Options,
    on_trouble: OnTrouble,
) -> Option<Recorder> {
    if args.no_record {
        return None;
    }
    let vault = Vault::default();
    let mut socket = None;
    // Without a socket the program goes on all the same; forks need a key of tine's then.
    if let Ok(dirs) = Dirs::find(&variable) {
        let directory = dirs.gateways();
        sweep(&directory).await;
        let path = socket_in(&directory);
        options.lending = Lending::open(&path, vault.lender()).ok();
        socket = options.lending.as_ref().map(|_| path.display().to_string());
    }
    let upstreams = Upstreams {
        anthropic: options.anthropic.clone(),
        openai: options.openai.clone(),
        socket,
        vault,
    };
    let recorder = Recorder::start(surroundings, upstreams, args.keep_days, on_trouble);
    options.observer = Some(recorder.observer());
    Some(recorder)
}

fn say_trouble(why: &str) {
    output::say(&format!("warning: not all that passed the gateway is recorded: {why}"));
}

/// Says to a person what was recorded, and in any case what was not.
fn say_written(written: &Written, trouble: Option<&str>) {
    if let Some(why) = trouble.or(written.is_late.then_some(LATE)) {
        say_trouble(why);
    }
    if !std::io::stderr().is_terminal() {
        return;
    }
    let Some(guest) = written.guests.first() else {
        if !written.has_passed {
            output::say(
                "note: nothing has passed the gateway: the program's own settings may name another base URL",
            );
        }
        return;
    };
    let requests = plural(written.requests, "request");
    let guest = guest.short();
    output::say(&format!(
        "note: {requests} recorded; `tine cache explain {guest}` says what the cache did"
    ));
}

/// The vendors' addresses, or those that the environment names.
fn options(args: GatewayArgs) -> Options {
    let mut options = Options::new(SystemIds.random());
    if args.pass_threads {
        options.threads = Threads::PassedOn;
    }
    options.anthropic = base_url(ANTHROPIC).unwrap_or(options.anthropic);
    options.openai = base_url(OPENAI).unwrap_or(options.openai);
    options
}

fn base_url(name: &str) -> Option<String> {
    variable(name).filter(|url| !url.trim().is_empty())
}

fn not_started(error: &GatewayError) -> Failure {
    let failure = match error {
        GatewayError::BaseUrl { .. } => Failure::input("cannot start the gateway")
            .hint("look at ANTHROPIC_BASE_URL and OPENAI_BASE_URL"),
        GatewayError::Listen { .. } => {
            Failure::failed("cannot start the gateway").hint("`--port 0` takes a free port")
        }
        GatewayError::Tls(_) => Failure::failed("cannot start the gateway"),
    };
    failure.because(error)
}

fn cannot_run(program: &OsStr, error: &std::io::Error) -> Failure {
    let name = program.to_string_lossy();
    Failure::failed(format!("cannot run {name}")).because(error).hint(match error.kind() {
        std::io::ErrorKind::NotFound => "install it, or give its path".to_owned(),
        _ => "try it without `tine with`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> Result<Told, Failure> {
        let command = words.iter().map(OsString::from).collect();
        Told::of(&WithArgs {
            gateway: GatewayArgs { pass_threads: false, no_record: true, keep_days: 1 },
            base_url_env: None,
            format: None,
            command,
        })
    }

    #[test]
    fn a_program_is_known_by_its_name() {
        let anthropic = Told::Variable("ANTHROPIC_BASE_URL".to_owned(), Format::Anthropic);
        assert_eq!(told(&["claude", "-p", "hi"]).ok(), Some(anthropic));
        assert!(matches!(told(&["/opt/bin/codex", "exec"]), Ok(Told::CodexOption(_))));
        assert!(told(&["pi"]).is_err());
    }
}
