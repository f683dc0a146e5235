//! Finds the worktrees of a repository again that was moved or renamed: git's links, what checkouts are known by, and tine's rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tine_model::{AgentId, WorktreeRecord};
use tine_store::{AgentFilter, Relocation};
use tine_worktree::{Move, Repository, WorktreeError};

use super::checkouts::{blocking, name_of};
use super::place::text;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// A worktree that is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Whose it is.
    pub agent: AgentId,
    /// The folder of its files, or the one that they were in before it was removed.
    pub path: PathBuf,
    /// The earlier place of git's folder of its repository.
    pub from: PathBuf,
    /// The present place of that folder.
    pub repository: PathBuf,
}

/// The outcome of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repair {
    /// Worktrees that are found again.
    pub repaired: Vec<Repaired>,
    /// Agents whose directory moved along with the repository.
    pub followed: Vec<AgentId>,
}

/// Worktrees of one repository that are to be found again.
struct Lost {
    /// Their rows as they are to be.
    records: Vec<WorktreeRecord>,
    moved: Move,
}

impl Runtime {
    /// Finds worktrees again whose repository is by now the one that `directory` lies in. Nothing is done where nothing is due.
    pub async fn repair_worktrees(&self, directory: &Path) -> Result<Repair, RuntimeError> {
        let policy = self.worktree_policy().cloned();
        let root = policy.as_ref().map(|policy| policy.root.clone());
        let _alone = match policy {
            Some(policy) => Some(blocking(move || policy.lock()).await?),
            None => None,
        };
        let (records, directory) = (self.store().worktrees().await?, directory.to_owned());
        let before = records.clone();
        let lost = blocking(move || {
            let repository = Repository::at(&directory)?;
            let lost = find_lost(&repository, records, root.as_deref())?;
            lost.iter().try_for_each(|lost| mend(&repository, lost))?;
            Ok(lost)
        })
        .await?;
        let mut repair = Repair::default();
        let mut relocation = Relocation::default();
        let agents = self.store().agents(AgentFilter::All).await?;
        for Lost { records, moved } in lost {
            for record in records {
                let old = before.iter().find(|old| old.agent == record.agent);
                if old.is_some_and(|old| *old != record) {
                    repair.repaired.push(Repaired {
                        agent: record.agent,
                        path: PathBuf::from(&record.path),
                        from: old.map(|old| PathBuf::from(&old.repository)).unwrap_or_default(),
                        repository: PathBuf::from(&record.repository),
                    });
                    let path = old.map(|old| PathBuf::from(&old.path)).unwrap_or_default();
                    let files = Move { from: path, to: PathBuf::from(&record.path) };
                    follow(&files, &agents, &mut relocation);
                    relocation.worktrees.push(record);
                }
            }
            follow(&moved, &agents, &mut relocation);
        }
        repair.followed = relocation.directories.iter().map(|(agent, _)| *agent).collect();
        if !relocation.worktrees.is_empty() || !relocation.directories.is_empty() {
            self.store().relocate(relocation).await?;
        }
        Ok(repair)
    }
}

/// Adds the agents whose directory moved along.
fn follow(moved: &Move, agents: &[tine_model::AgentRecord], relocation: &mut Relocation) {
    for agent in agents {
        let is_known = relocation.directories.iter().any(|(known, _)| *known == agent.id);
        let moved = moved.follow(Path::new(&agent.directory)).filter(|_| !is_known);
        relocation.directories.extend(moved.map(|directory| (agent.id, text(&directory))));
    }
}

/// Finds rows whose repository is this one by now: of one that is gone from its old place, whose worktrees are known here. Rows that say
/// so already are looked at as well: their links may not be mended yet.
fn find_lost(
    repository: &Repository,
    records: Vec<WorktreeRecord>,
    root: Option<&Path>,
) -> Result<Vec<Lost>, WorktreeError> {
    let mut groups: BTreeMap<PathBuf, Vec<WorktreeRecord>> = BTreeMap::new();
    for record in records {
        groups.entry(PathBuf::from(&record.repository)).or_default().push(record);
    }
    let mut lost = Vec::new();
    for (from, records) in groups {
        let to = repository.common_dir();
        if from != to && (knows_one(repository, &records)? && !is_there(&from, &records)) {
            lost.push(moved(records, Move::between(&from, to), (to, root)));
        } else if from == to {
            lost.push(moved(records, Move { from: from.clone(), to: from }, (to, root)));
        }
    }
    Ok(lost)
}

/// The rows as they are to be.
fn moved(records: Vec<WorktreeRecord>, moved: Move, (to, root): (&Path, Option<&Path>)) -> Lost {
    let follow = |path: &str| moved.follow(Path::new(path)).map(|path| text(&path));
    let records = records.into_iter().map(|record| WorktreeRecord {
        path: follow(&record.path)
            .or_else(|| below_root(&record.path, root))
            .unwrap_or_else(|| record.path.clone()),
        origin: follow(&record.origin).unwrap_or_else(|| record.origin.clone()),
        repository: text(to),
        ..record
    });
    Lost { records: records.collect(), moved }
}

/// The folder that holds the files of a worktree if all worktrees were moved together.
fn below_root(path: &str, root: Option<&Path>) -> Option<String> {
    let (path, root) = (Path::new(path), root?);
    let folder = path.parent()?.file_name()?;
    let moved = root.join(folder).join(path.file_name()?);
    (!path.exists() && moved.exists()).then(|| text(&moved))
}

fn knows_one(repository: &Repository, records: &[WorktreeRecord]) -> Result<bool, WorktreeError> {
    for record in records {
        if repository.has_worktree(&name_of(record.agent)?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true where the old place still has the repository: then the other one is a copy.
fn is_there(common_dir: &Path, records: &[WorktreeRecord]) -> bool {
    let places = [common_dir.parent(), Some(common_dir)];
    let found = places.into_iter().flatten().filter_map(|place| Repository::at(place).ok());
    found.filter(|found| found.common_dir() == common_dir).any(|found| {
        // Where nobody can tell, nothing is taken away.
        knows_one(&found, records).unwrap_or(true)
    })
}

/// Mends git's side. The rows come after it: whoever is cut short in between finds the same again.
fn mend(repository: &Repository, lost: &Lost) -> Result<(), WorktreeError> {
    let mut tops = BTreeSet::new();
    let Move { from, to } = &lost.moved;
    for record in &lost.records {
        let (path, origin) = (Path::new(&record.path), Path::new(&record.origin));
        repository.relink(&name_of(record.agent)?, path, origin)?;
        for top in [origin, path] {
            if let Ok(inside) = top.strip_prefix(to) {
                let from: PathBuf = from.join(inside).components().collect();
                tops.insert(Move { from, to: top.to_owned() });
            }
        }
    }
    if from != to {
        let top = repository.top();
        if let Ok(inside) = top.strip_prefix(to) {
            let from: PathBuf = from.join(inside).components().collect();
            tops.insert(Move { from, to: top.to_owned() });
        }
        let tops: Vec<Move> = tops.into_iter().filter(|top| !top.from.exists()).collect();
        repository.rename_refs(&tops)?;
    }
    Ok(())
}
