//! Lets go of what is kept of worktrees that are gone: all refs below `refs/tine/<name>/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::WorktreeError;
use crate::git::parts;
use crate::ids::Name;
use crate::repository::Repository;

/// All refs that a repository has of one worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRefs {
    /// The name of the worktree.
    pub name: Name,
    /// When the newest of them was made, in milliseconds since the Unix epoch, to the second.
    pub kept_ms: i64,
    /// The things that go for good with them.
    pub holds: Holds,
    /// Each ref, and the object that it leads to.
    refs: Vec<(String, String)>,
}

/// The things in the refs of a worktree that exist nowhere else once they are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// Only what the worktree started from: it was removed unchanged, or never came to be.
    Nothing,
    /// The state of checkouts before work came into them, by which `undo` brings it back.
    Undo,
    /// Work, which was brought into a checkout as it stands.
    BroughtWork,
    /// Work that no checkout got as it stands.
    Work,
}

/// Returns the remotes of the repository that `directory` lies in that get all refs at each push; none where it lies in no repository.
pub fn open_mirrors(directory: &Path) -> Result<Vec<String>, WorktreeError> {
    match Repository::at(directory) {
        Ok(repository) => repository.open_mirrors(),
        Err(WorktreeError::Refused(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Repository {
    /// Lists the refs of all worktrees, of those that are there and of those that are gone.
    pub fn kept_refs(&self) -> Result<Vec<KeptRefs>, WorktreeError> {
        let format = "--format=%(refname) %(objectname) %(creatordate:unix)";
        let said = self.git().text(["for-each-ref", format, "refs/tine/"])?;
        let mut kept: BTreeMap<Name, KeptRefs> = BTreeMap::new();
        for line in said.lines() {
            let mut words = line.split(' ');
            let (Some(refname), Some(object)) = (words.next(), words.next()) else { continue };
            let Some(name) = owner_of(refname) else { continue };
            // A list of files is no commit, and has no date.
            let seconds: i64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let new = || KeptRefs {
                name: name.clone(),
                kept_ms: 0,
                holds: Holds::Nothing,
                refs: Vec::new(),
            };
            let one = kept.entry(name.clone()).or_insert_with(new);
            one.kept_ms = one.kept_ms.max(seconds.saturating_mul(1000));
            one.refs.push((refname.to_owned(), object.to_owned()));
        }
        let with_holds = |kept: KeptRefs| KeptRefs { holds: holds(&kept), ..kept };
        Ok(kept.into_values().map(with_holds).collect())
    }

    /// Deletes the refs, all or none. Returns false, and deletes nothing, where one of them was changed meanwhile.
    pub fn purge(&self, kept: &KeptRefs) -> Result<bool, WorktreeError> {
        let lines = |(name, object): &(String, String)| format!("delete {name} {object}\n");
        let text: String = kept.refs.iter().map(lines).collect();
        match self.git().fed(["update-ref", "--stdin"], text.as_bytes()) {
            Ok(_) => Ok(true),
            Err(error) => {
                let now = self.kept_refs()?.into_iter().find(|now| now.name == kept.name);
                if now.is_some_and(|now| now.refs == kept.refs) { Err(error) } else { Ok(false) }
            }
        }
    }

    /// Returns how many bytes on disk git can free once these refs are gone, by what no other ref leads to.
    pub fn bytes_held(&self, purged: &[KeptRefs]) -> Result<u64, WorktreeError> {
        let going: BTreeSet<&str> =
            purged.iter().flat_map(|kept| &kept.refs).map(|(name, _)| name.as_str()).collect();
        if going.is_empty() {
            return Ok(0);
        }
        let git = self.git();
        let said = git.text(["for-each-ref", "--format=%(objectname) %(refname)"])?;
        let mut lines = String::new();
        for (object, name) in said.lines().filter_map(|line| line.split_once(' ')) {
            let sign = if going.contains(name) { "" } else { "^" };
            lines.push_str(&format!("{sign}{object}\n"));
        }
        if let Some(head) = self.find_commit(&self.head()?)? {
            lines.push_str(&format!("^{head}\n"));
        }
        let arguments = ["rev-list", "--objects", "--disk-usage", "--ignore-missing", "--stdin"];
        let said = git.fed(arguments, lines.as_bytes())?;
        let text = String::from_utf8_lossy(&said).trim().to_owned();
        text.parse().map_err(|_| WorktreeError::Output { what: "number of bytes", text })
    }

    /// Returns the remotes that get all refs at each push, tine's among them. Git hides refs from a push by refspecs alone, and these have
    /// a place only in the settings of a remote that has a name.
    pub fn open_mirrors(&self) -> Result<Vec<String>, WorktreeError> {
        let git = self.git();
        let pattern = r"^remote\..*\.(mirror|push)$";
        let (_, said) = git.answer(["config", "--null", "--get-regexp", pattern], &[])?;
        let (mut mirrors, mut hiding) = (Vec::new(), BTreeSet::new());
        for line in parts(&said) {
            let line = String::from_utf8_lossy(line);
            let (key, value) = line.split_once('\n').unwrap_or((&line, "true"));
            let Some((remote, what)) =
                key.strip_prefix("remote.").and_then(|key| key.rsplit_once('.'))
            else {
                continue;
            };
            match (what, value) {
                ("mirror", "true" | "yes" | "on" | "1" | "push") => mirrors.push(remote.to_owned()),
                ("push", "^refs/tine/*") => {
                    hiding.insert(remote.to_owned());
                }
                _ => {}
            }
        }
        mirrors.retain(|remote| !hiding.contains(remote));
        Ok(mirrors)
    }

    /// Deletes what is kept of a worktree that is removed unchanged, where it is only what the worktree started from.
    pub(crate) fn forget_start(&self, name: &Name) -> Result<(), WorktreeError> {
        let own = [name.included_ref(), name.start_ref()];
        let below = format!("refs/tine/{name}/");
        let said = self.git().text(["for-each-ref", "--format=%(refname)", &below])?;
        if said.lines().any(|found| own.iter().all(|own| own != found)) {
            return Ok(());
        }
        own.iter().try_for_each(|name| self.delete_ref(name))
    }
}

/// The worktree that a ref belongs to; `None` for a ref that is not tine's.
pub(crate) fn owner_of(refname: &str) -> Option<Name> {
    let (name, _) = refname.strip_prefix("refs/tine/")?.split_once('/')?;
    Name::new(name).ok()
}

fn holds(kept: &KeptRefs) -> Holds {
    let named = |wanted: &str| {
        let is_wanted = move |name: &str| name.rsplit_once('/').is_some_and(|(_, it)| it == wanted);
        kept.refs.iter().find(|(name, _)| is_wanted(name)).map(|(_, object)| object)
    };
    let is_brought = |end: &String| {
        kept.refs.iter().any(|(name, object)| name.contains("/brought-") && object == end)
    };
    let [start, included] = ["start", "included"].map(|name| u8::from(named(name).is_some()));
    match named("end") {
        Some(end) if is_brought(end) && named("ignored").is_none() => Holds::BroughtWork,
        Some(_) => Holds::Work,
        None if named("ignored").is_some() => Holds::Work,
        None if kept.refs.len() > usize::from(start + included) => Holds::Undo,
        None => Holds::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_tell_what_goes_for_good_with_them() {
        let check = |refs: &[(&str, &str)], expected: Holds| {
            let full = |(name, object): &(&str, &str)| {
                (format!("refs/tine/a1/{name}"), (*object).to_owned())
            };
            let kept = KeptRefs {
                name: Name::new("a1").unwrap(),
                kept_ms: 0,
                holds: Holds::Nothing,
                refs: refs.iter().map(full).collect(),
            };
            assert_eq!(holds(&kept), expected, "{refs:?}");
        };
        check(&[("start", "1")], Holds::Nothing);
        check(&[("included", "2"), ("start", "1")], Holds::Nothing);
        check(&[("before", "3"), ("start", "1")], Holds::Undo);
        check(&[("end", "3"), ("start", "1")], Holds::Work);
        check(&[("brought-0f", "2"), ("end", "3"), ("start", "1")], Holds::Work);
        check(&[("brought-0f", "3"), ("end", "3"), ("start", "1")], Holds::BroughtWork);
        check(&[("brought-0f", "3"), ("end", "3"), ("ignored", "4")], Holds::Work);
        check(&[("ignored", "4"), ("start", "1")], Holds::Work);
    }

    #[test]
    fn other_refs_are_nobodys() {
        assert_eq!(owner_of("refs/tine/a1/start"), Some(Name::new("a1").unwrap()));
        for other in ["refs/tine/start", "refs/heads/tine/a", "refs/tine/-/end", "refs/tine//end"] {
            assert_eq!(owner_of(other), None, "{other}");
        }
    }
}
