//! `tine sim`: the provider simulator as a server of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde::Serialize;
use tine_model::Usage;
use tine_sim::{
    CapturedRequest, Clock, ManualClock, Scenario, SimError, SimOptions, SimServer, SystemClock,
};

use crate::cli::{ClockArg, SimServeArgs};
use crate::fail::Failure;
use crate::output;
use crate::watch::interrupted;
use tine_tui::figures::{grouped, plural};

/// The JSON shape of a server's addresses. Others rely on it: fields are only ever added.
#[derive(Serialize)]
struct ServingJson<'a> {
    scenario: &'a str,
    /// For `ANTHROPIC_BASE_URL`.
    anthropic: &'a str,
    /// For `OPENAI_BASE_URL` and `OPENAI_COMPAT_BASE_URL`.
    openai: String,
    /// For `GEMINI_BASE_URL`.
    gemini: &'a str,
    /// For `DEEPSEEK_BASE_URL`.
    deepseek: &'a str,
    /// For `MINIMAX_BASE_URL`.
    minimax: &'a str,
    pid: u32,
}

pub(crate) async fn serve(args: SimServeArgs) -> Result<u8, Failure> {
    let scenario = Scenario::load(&args.scenario).map_err(|error| {
        Failure::input("cannot use the scenario")
            .because(&error)
            .hint("a scenario is a built-in name such as `echo`, or a TOML file")
    })?;
    let name = scenario.name().to_owned();
    let options = SimOptions {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)),
        log_bodies: args.log_bodies,
        clock: clock(args.clock),
        ..SimOptions::new(scenario)
    };
    let server = SimServer::start(options).await.map_err(|error| not_started(&error))?;
    // Before anybody can know that it runs: who asks it to end at once is heard.
    let interrupted = interrupted()?;
    let url = server.base_url();
    output::json(&ServingJson {
        scenario: &name,
        anthropic: url,
        openai: format!("{url}/v1"),
        gemini: url,
        deepseek: url,
        minimax: url,
        pid: std::process::id(),
    })?;
    output::say(&format!(
        "simulating a provider with scenario {name}; no model answers here\n\
         hint: export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=any, then use any anthropic/… model; Ctrl-C stops",
    ));
    interrupted.await;
    let requests = server.requests();
    server.shutdown().await;
    output::say(&summary(&requests));
    Ok(0)
}

/// A manual clock begins at the machine's time and stands still.
fn clock(asked: ClockArg) -> Arc<dyn Clock> {
    match asked {
        ClockArg::System => Arc::new(SystemClock),
        ClockArg::Manual => Arc::new(ManualClock::new(SystemClock.now_ms())),
    }
}

fn not_started(error: &SimError) -> Failure {
    let hint = match error {
        SimError::Listen { .. } => "choose another --port; 0 takes a free one",
        SimError::Log { .. } => "give --log-bodies a new or empty directory",
    };
    Failure::input("cannot start the simulator").because(error).hint(hint)
}

/// What was served. The newest request's number counts those too that are no longer kept.
fn summary(requests: &[CapturedRequest]) -> String {
    let count = requests.last().map_or(0, |request| request.number);
    let mut sum = Usage::default();
    for usage in requests.iter().filter_map(|request| request.usage) {
        sum += usage;
    }
    format!(
        "{}; tokens: {} written to the cache, {} read from it, {} uncached, {} generated",
        plural(count, "request"),
        grouped(sum.written()),
        grouped(sum.read.unwrap_or(0)),
        grouped(sum.uncached),
        grouped(sum.output),
    )
}
