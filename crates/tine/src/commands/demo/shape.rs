//! `tine demo --json`. A promise to scripts: fields may be added, never renamed or removed.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use super::Told;
use super::story::MODEL;
use crate::commands::fan::{CacheShape, TaskShape, cache_shape, task_shape};

/// The whole demo. `tasks` and `cache` are those of `tine fan --json`.
#[derive(Serialize)]
pub(super) struct DemoShape<'a> {
    /// The root agent.
    agent: String,
    model: &'static str,
    tasks: Vec<TaskShape<'a>>,
    cache: CacheShape<'a>,
    directory: Cow<'a, str>,
}

impl<'a> DemoShape<'a> {
    /// The shape of what has happened in `directory`.
    pub(super) fn new(told: &'a Told, directory: &'a Path) -> Self {
        Self {
            agent: told.root.to_string(),
            model: MODEL,
            tasks: told.fan.tasks.iter().map(task_shape).collect(),
            cache: cache_shape(&told.fan.cache),
            directory: directory.to_string_lossy(),
        }
    }
}
