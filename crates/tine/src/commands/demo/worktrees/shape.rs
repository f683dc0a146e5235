//! `tine demo --worktrees --json`. A promise to scripts: fields may be added, never renamed or removed.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use tine_model::AgentId;
use tine_runtime::Work;

use super::Told;
use super::story::{MODEL, WAYS};
use crate::commands::fan::{CacheShape, TaskShape, cache_shape, task_shape};
use crate::commands::pick::PickJson;
use crate::render::change::FileJson;

/// The whole demo. `tasks` and `cache` are those of `tine fan --json`; `candidates`, `best` and `taken` those of `tine pick --json`.
#[derive(Serialize)]
pub(super) struct DemoShape<'a> {
    /// The root agent.
    agent: String,
    model: &'static str,
    /// Where the demo was asked for.
    directory: Cow<'a, str>,
    /// The demo's own checkout; `null` where it is gone by now.
    checkout: Option<Cow<'a, str>>,
    tasks: Vec<TaskShape<'a>>,
    cache: CacheShape<'a>,
    /// What each worker changed, in the order of `tasks`.
    diffs: Vec<DiffShape<'a>>,
    #[serde(flatten)]
    pick: PickJson<'a>,
    after: AfterShape<'a>,
}

#[derive(Serialize)]
struct DiffShape<'a> {
    agent: String,
    way: &'static str,
    files: Vec<FileJson>,
    /// As `git apply` takes it; what is not text in it is replaced.
    patch: Cow<'a, str>,
}

/// The checkout in the end.
#[derive(Serialize)]
struct AfterShape<'a> {
    /// The file in which the root agent had begun a paragraph.
    file: &'a str,
    /// The paragraph: begun before the fork, written on by hand after it, with the link that came.
    paragraph: &'a [String],
    /// Whether the index is what it was before the work came.
    index_kept: bool,
}

impl<'a> DemoShape<'a> {
    /// The shape of what has happened.
    pub(super) fn new(told: &'a Told, directory: &'a Path, kept: bool) -> Self {
        let works = told.fan.tasks.iter().zip(WAYS).zip(&told.works);
        Self {
            agent: told.root.to_string(),
            model: MODEL,
            directory: directory.to_string_lossy(),
            checkout: kept.then(|| told.checkout.to_string_lossy()),
            tasks: told.fan.tasks.iter().map(task_shape).collect(),
            cache: cache_shape(&told.fan.cache),
            diffs: works.map(|((task, way), work)| diff_shape(task.agent, way, work)).collect(),
            pick: PickJson::of(&told.candidates, told.taken.as_ref()),
            after: AfterShape {
                file: &told.file,
                paragraph: &told.paragraph,
                index_kept: told.index_is_kept,
            },
        }
    }
}

fn diff_shape<'a>(agent: AgentId, way: &'static str, work: &'a Work) -> DiffShape<'a> {
    DiffShape {
        agent: agent.to_string(),
        way,
        files: work.changes.files.iter().map(FileJson::from).collect(),
        patch: String::from_utf8_lossy(&work.patch),
    }
}
