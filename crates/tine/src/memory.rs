//! The memory of a project, as the settings have it.

use std::path::PathBuf;

use tine_guard::{PermissionMode, Rules};
use tine_model::AgentId;
use tine_runtime::{
    DreamSettings, MemoryPlaces, ModelWords, Permissions, RunOptions, SessionOrder, project_of,
};
use tokio_util::sync::CancellationToken;

use crate::caching::policy;
use crate::config::Config;
use crate::confine::around_notes;
use crate::context::Context;
use crate::detached::begin;
use crate::fail::Failure;
use tine_tui::words::one_line;

/// Where the notes of projects are.
pub(crate) fn places(config: &Config, root: PathBuf) -> Result<MemoryPlaces, Failure> {
    let named = config.dream.memory_dir.as_ref().map(PathBuf::from);
    match &named {
        Some(named) if !named.is_absolute() => Err(Failure::input(format!(
            "dream.memory_dir is `{}`",
            one_line(&named.display().to_string())
        ))
        .hint("it is an absolute path: the notes of all projects are in it")),
        Some(_) | None => Ok(MemoryPlaces { root, named }),
    }
}

/// How the memory of this directory's project is kept.
pub(crate) fn settings(context: &Context) -> Result<DreamSettings, Failure> {
    settings_of(context, project_of(&context.directory))
}

/// A turn of a session has ended: a consolidation begins in the background, where one may be due. What goes wrong here is nobody's
/// failure.
pub(crate) async fn after_turn(context: &Context, session: AgentId) {
    let is_persons = context.caller.is_none() && context.detached.is_none();
    if !is_persons || context.config.dream.enabled != Some(true) {
        return;
    }
    let Ok(settings) = settings(context) else { return };
    if context.runtime.dream_may_be_due(&settings).await.unwrap_or(false) {
        // `tine dream status` says why it did not run; the turn is over all the same.
        let _ = begin(context, &["dream", "--current", &session.to_string()]);
    }
}

/// How the memory of a project is kept.
pub(crate) fn settings_of(context: &Context, project: PathBuf) -> Result<DreamSettings, Failure> {
    let places = context.runtime.memory_places();
    let memory_dir = places.map(|places| places.of(&project)).unwrap_or_else(|| project.clone());
    with_table(DreamSettings::new(project, memory_dir), &context.config)
}

fn with_table(usual: DreamSettings, config: &Config) -> Result<DreamSettings, Failure> {
    let table = &config.dream;
    let mut settings = usual;
    let rules = &mut settings.rules;
    rules.enabled = table.enabled.unwrap_or(rules.enabled);
    rules.min_hours = table.min_hours.unwrap_or(rules.min_hours);
    rules.scan_minutes = table.scan_minutes.unwrap_or(rules.scan_minutes);
    rules.min_sessions = table.min_sessions.unwrap_or(rules.min_sessions);
    if rules.min_hours == 0 || rules.min_sessions == 0 {
        return Err(Failure::input("dream.min_hours and dream.min_sessions are at least 1")
            .hint("`tine dream --force` runs whatever the gates say"));
    }
    settings.model = table.model.as_deref().map(ModelWords::parse).transpose()?;
    settings.sessions_max = table.sessions.map_or(settings.sessions_max, |most| most as usize);
    settings.session_tokens = table.session_tokens.unwrap_or(settings.session_tokens);
    settings.order = match table.order.as_deref() {
        None => settings.order,
        Some("newest") => SessionOrder::Newest,
        Some("oldest") => SessionOrder::Oldest,
        Some(other) => {
            return Err(Failure::input(format!("dream.order is `{}`", one_line(other)))
                .hint("it is newest or oldest: which session the run is told of first"));
        }
    };
    Ok(settings)
}

/// The options of a hidden run: it asks nobody, and what it may do stands in its row.
pub(crate) fn hidden_options(
    context: &Context,
    cancel: &CancellationToken,
) -> Result<RunOptions, Failure> {
    let permissions = Permissions::new(PermissionMode::ReadOnly, Rules::default());
    Ok(RunOptions {
        cancel: cancel.clone(),
        caching: policy(&context.config, false)?,
        confinement: around_notes(&context.config, &context.directory)?,
        ..RunOptions::new(permissions)
    })
}
