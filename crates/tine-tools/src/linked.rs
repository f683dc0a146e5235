//! Linked worktrees of git: where the parts of a checkout are that shares its repository with others.
//!
//! What is known here is read from the files `.git`, `gitdir` and `commondir`; no git runs. Such files come with checkouts and
//! archives, so they are believed only where the repository names the checkout back.

mod parted;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::beneath::open_regular;
use crate::repository::settings_in;
pub(crate) use parted::OWN_COMMON;
pub use parted::part_linked_worktree;

/// Where a repository keeps the directories of its linked worktrees.
const WORKTREES: &str = "worktrees";

/// A linked worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The checkout: the directory with the `.git` file.
    pub(crate) top: PathBuf,
    /// The worktree's own directory in its repository: HEAD, the index, what a merge or a rebase notes.
    pub(crate) administration: PathBuf,
    /// The repository, which all its worktrees share.
    pub(crate) common: PathBuf,
}

impl Linked {
    /// The linked worktree that a directory is, or lies in; the directory must be a real path. `None` for every other one,
    /// and where a `.git` file leads anywhere else than to a worktree's directory that names it back.
    pub(crate) fn around(directory: &Path) -> Option<Self> {
        let (top, own) = nearest(directory)?;
        if !own.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let administration = real(&top.join(line(&own)?.strip_prefix("gitdir: ")?))?;
        let back = line(&administration.join("gitdir"))?;
        if real(&administration.join(back))? != real(&own)? {
            return None;
        }
        let all = administration.parent().filter(|all| all.ends_with(WORKTREES))?;
        let common = all.parent()?.to_owned();
        let named = real(&administration.join(line(&administration.join("commondir"))?))?;
        let is_named = named == common || named == administration.join(OWN_COMMON);
        let is_repository = is_named && common.join("HEAD").is_file();
        is_repository.then(|| Self { top: top.to_owned(), administration, common })
    }

    /// What commits and their like write outside the checkout: the worktree's own directory, and the objects. Nothing that
    /// another worktree or a person would notice is below them.
    pub(crate) fn written(&self) -> Vec<PathBuf> {
        let objects = self.common.join("objects");
        // Behind a link are the objects of somebody else.
        let objects = Some(objects).filter(|objects| real(objects).as_ref() == Some(objects));
        [self.administration.clone()].into_iter().chain(objects).collect()
    }

    /// Whether it has a lock of its own for refs.
    fn is_parted(&self) -> bool {
        line(&self.administration.join("commondir")).is_some_and(|named| named == OWN_COMMON)
    }

    /// The folder with the links to what is shared, which stays where it is.
    pub(crate) fn own_common(&self) -> PathBuf {
        self.administration.join(OWN_COMMON)
    }

    /// Files that decide which repository, and so which settings and hooks, git takes in this worktree.
    pub(crate) fn steering(&self) -> Vec<PathBuf> {
        let common = self.own_common();
        let mut steering = vec![self.top.join(".git")];
        steering.extend(settings_in(&self.administration).chain(settings_in(&common)));
        steering
    }
}

/// The nearest directory, from this one upwards, that has a `.git`, and that.
pub(crate) fn nearest(directory: &Path) -> Option<(&Path, PathBuf)> {
    let mut above = directory.ancestors().map(|above| (above, above.join(".git")));
    above.find(|(_, own)| own.symlink_metadata().is_ok())
}

/// Longest file of this kind; such a file holds one path.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The one line of a small file. What commands may have put in its place, a link, a pipe or a device, is not opened.
fn line(path: &Path) -> Option<String> {
    let name = path.file_name()?;
    let folder = std::fs::File::open(path.parent()?).ok()?;
    let (file, _) = open_regular(folder, name).ok()??;
    let mut text = String::new();
    file.take(LINE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.trim_end().to_owned())
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    struct World {
        root: tempfile::TempDir,
    }

    impl World {
        /// A repository `main/.git` with the worktree `work`, as git makes them.
        fn new() -> Self {
            let world = Self { root: tempfile::tempdir().unwrap() };
            let administration = world.path("main/.git/worktrees/name");
            write(&world.path("main/.git/HEAD"), "ref: refs/heads/main\n");
            std::fs::create_dir(world.path("main/.git/objects")).unwrap();
            write(&administration.join("commondir"), "../..\n");
            let back = format!("{}\n", world.path("work/.git").display());
            write(&administration.join("gitdir"), &back);
            write(&world.path("work/.git"), &format!("gitdir: {}\n", administration.display()));
            std::fs::create_dir_all(world.path("work/below/deep")).unwrap();
            world
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().canonicalize().unwrap().join(name)
        }

        fn found(&self, name: &str) -> Option<Linked> {
            Linked::around(&self.path(name))
        }
    }

    #[test]
    fn a_worktree_is_known_from_anywhere_in_it() {
        let world = World::new();
        let linked = world.found("work").unwrap();
        assert_eq!(linked.top, world.path("work"));
        assert_eq!(linked.common, world.path("main/.git"));
        let written =
            ["main/.git/worktrees/name", "main/.git/objects"].map(|name| world.path(name));
        assert_eq!(linked.written(), written);
        assert_eq!(world.found("work/below/deep"), Some(linked));
        assert_eq!(world.found("main"), None);
        // Relative, as newer versions of git can write them.
        write(&world.path("work/.git"), "gitdir: ../main/.git/worktrees/name\n");
        write(&world.path("main/.git/worktrees/name/gitdir"), "../../../../work/.git\n");
        assert!(world.found("work").is_some());
    }

    #[test]
    fn a_file_that_leads_nowhere_sensible_is_believed_nothing() {
        let lies: [(&str, &str, &str); 7] = [
            (
                "another checkout that claims to be this one",
                "liar/.git",
                "gitdir: @main/.git/worktrees/name\n",
            ),
            ("the repository itself", "liar/.git", "gitdir: @main/.git\n"),
            ("a place of keys", "liar/.git", "gitdir: @keys\n"),
            ("nothing", "liar/.git", "gitdir: @none\n"),
            ("no path", "liar/.git", "\u{0}\n"),
            ("a repository elsewhere", "main/.git/worktrees/name/commondir", "@other\n"),
            ("names somebody else back", "main/.git/worktrees/name/gitdir", "@other/.git\n"),
        ];
        for (what, file, text) in lies {
            let world = World::new();
            write(&world.path("keys/HEAD"), "");
            write(&world.path("other/HEAD"), "ref: refs/heads/main\n");
            write(&world.path("other/.git"), "");
            write(&world.path(file), &text.replace('@', &world.path("").display().to_string()));
            let name = if file.starts_with("liar") { "liar" } else { "work" };
            assert_eq!(world.found(name), None, "{what}");
        }
    }

    #[test]
    fn a_directory_that_is_no_worktrees_is_believed_nothing_even_if_it_names_the_checkout_back() {
        let world = World::new();
        for (name, commondir) in
            [("trap", "."), ("deep/trap", "../.."), ("trap/worktrees/x", "../../..")]
        {
            let trap = world.path(name);
            let checkout = world.path("work/below");
            write(&trap.join("gitdir"), &format!("{}\n", checkout.join(".git").display()));
            write(&trap.join("commondir"), &format!("{commondir}\n"));
            write(&trap.join("HEAD"), "");
            write(&world.path("HEAD"), "");
            write(&checkout.join(".git"), &format!("gitdir: {}\n", trap.display()));
            assert_eq!(world.found("work/below"), None, "{name}");
        }
    }

    #[test]
    fn a_worktree_is_parted_once_and_known_as_before() {
        let world = World::new();
        let administration = world.path("main/.git/worktrees/name");
        write(&world.path("main/.git/packed-refs"), "packed");
        let before = world.found("work").unwrap();
        assert!(!before.is_parted());
        // A crash had left some of it.
        write(&administration.join("tine-common/objects"), "");
        part_linked_worktree(&world.path("work/below")).unwrap();
        let own = administration.join("tine-common");
        let mut names: Vec<_> = own
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["HEAD", "objects", "packed-refs", "worktrees"]);
        assert_eq!(own.join("objects").canonicalize().unwrap(), world.path("main/.git/objects"));
        assert_eq!(world.found("work"), Some(before));
        write(&own.join("packed-refs"), "changed by git");
        part_linked_worktree(&world.path("work")).unwrap();
        assert_eq!(line(&own.join("packed-refs")).unwrap(), "changed by git");
        part_linked_worktree(&world.path("main")).unwrap();
    }

    #[test]
    fn a_worktree_is_parted_by_several_workers_at_the_same_time() {
        let world = World::new();
        let (all, work) = (std::sync::Barrier::new(8), world.path("work"));
        std::thread::scope(|scope| {
            let part = || {
                all.wait();
                part_linked_worktree(&work)
            };
            let parts: Vec<_> = (0..8).map(|_| scope.spawn(part)).collect();
            parts.into_iter().for_each(|part| part.join().unwrap().unwrap());
        });
        assert!(world.found("work").unwrap().is_parted());
    }

    #[test]
    fn what_a_command_has_put_in_the_way_is_neither_followed_nor_waited_for() {
        let world = World::new();
        let administration = world.path("main/.git/worktrees/name");
        write(&world.path("precious"), "dear");
        let link = administration.join("commondir.tine");
        std::os::unix::fs::symlink(world.path("precious"), &link).unwrap();
        part_linked_worktree(&world.path("work")).unwrap();
        assert_eq!(std::fs::read_to_string(world.path("precious")).unwrap(), "dear");
        assert!(world.found("work").unwrap().is_parted());
        // A pipe that nobody writes to.
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        std::fs::remove_file(administration.join("commondir")).unwrap();
        let pipe = administration.join("commondir");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(world.found("work"), None);
    }

    #[test]
    fn objects_behind_a_link_are_not_written() {
        let world = World::new();
        std::fs::remove_dir(world.path("main/.git/objects")).unwrap();
        std::fs::create_dir(world.path("theirs")).unwrap();
        std::os::unix::fs::symlink(world.path("theirs"), world.path("main/.git/objects")).unwrap();
        let written = world.found("work").unwrap().written();
        assert_eq!(written, [world.path("main/.git/worktrees/name")]);
    }
}
