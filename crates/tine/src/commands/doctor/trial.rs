//! One whole run against the simulator, in a directory that is gone afterwards: store, runtime, HTTP and wire format.

use std::path::{Path, PathBuf};

use tine_fork::run::RunLimits;
use tine_guard::{PermissionMode, Rules};
use tine_model::{ModelRef, ModelSettings, Provider, Reach};
use tine_runtime::{Ids, NewRoot, Permissions, RunOptions, Runtime, system_prompt};

use super::Check;
use crate::connect::ports_without_settings;
use crate::fail::Failure;
use tine_fork::host::SystemIds;

/// What the simulator is to say back.
const WORD: &str = "tine doctor asks for an echo";

/// A directory that is removed when the trial is over.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It lies among the system's temporary files, which are cleared away anyway.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether an agent can be made, run and answered.
pub(super) async fn simulator(directory: &Path) -> Check {
    match run(directory).await {
        Ok(Some(text)) if text.contains(WORD) => {
            Check::ok("simulator", "an agent was made, asked sim/echo, and was answered")
        }
        Ok(answer) => {
            let answer = answer.unwrap_or_else(|| "nothing".to_owned());
            Check::failure("simulator", &Failure::failed(format!("it answered: {answer}")))
        }
        Err(failure) => Check::failure("simulator", &failure),
    }
}

async fn run(directory: &Path) -> Result<Option<String>, Failure> {
    let random: String = SystemIds.random().iter().map(|byte| format!("{byte:02x}")).collect();
    let scratch = Scratch(std::env::temp_dir().join(format!("tine-doctor-{random}")));
    let (database, owners) = (scratch.0.join("tine.db"), scratch.0.join("run"));
    let runtime = Runtime::open(database, owners, ports_without_settings(), None).await?;
    let agent = runtime.create_root(root(directory)).await?;
    let permissions = Permissions::new(PermissionMode::ReadOnly, Rules::default());
    let limits = RunLimits { turns: 1, ..RunLimits::default() };
    let options = RunOptions { limits, ..RunOptions::new(permissions) };
    let outcome = runtime.run(agent, Some(WORD.to_owned()), &options).await?;
    runtime.close().await?;
    let said = outcome.report.final_text();
    match outcome.report.error {
        Some(error) => Err(Failure::failed("the run failed").because(&error)),
        None => Ok(said),
    }
}

fn root(directory: &Path) -> NewRoot {
    NewRoot {
        name: None,
        settings: ModelSettings {
            model: ModelRef { provider: Provider::Sim, name: "echo".to_owned() },
            max_tokens: 256,
            thinking: None,
            effort: None,
        },
        system: system_prompt(None),
        stream: true,
        directory: directory.to_owned(),
        reach: Reach::open(),
    }
}
