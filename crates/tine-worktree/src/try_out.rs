//! A repository to try things out in: the HEAD of another, and nothing else of it.

use std::fs;
use std::path::Path;

use crate::error::{Refusal, WorktreeError};
use crate::git::Git;
use crate::ids::Commit;
use crate::repository::Repository;

/// Files of git LFS stay the notes that git has of them: to get them is a matter of the network.
const NO_LARGE_FILES: (&str, &str) = ("GIT_LFS_SKIP_SMUDGE", "1");

/// The branch of a repository made from a HEAD that is on none.
const BRANCH: &str = "main";

impl Repository {
    /// Makes a repository at `to`, which must not exist, that has the commit which is checked out here as its HEAD, its history, and its
    /// files as they are committed. It takes the objects from here, and nothing here is written, not even a file of git's own;
    /// branches, settings and hooks stay behind. It works as long as this one is there.
    pub fn try_out(&self, to: &Path) -> Result<Self, WorktreeError> {
        let git = self.git();
        let (is_there, head) =
            git.answer(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[])?;
        if !is_there {
            return Err(Refusal::NoCommit("HEAD".to_owned()).into());
        }
        let head = Commit::parse(String::from_utf8_lossy(&head).trim_ascii_end())?;
        let (is_on_branch, branch) =
            git.answer(["symbolic-ref", "--quiet", "--short", "HEAD"], &[])?;
        let branch = if is_on_branch {
            String::from_utf8_lossy(&branch).trim_ascii_end().to_owned()
        } else {
            BRANCH.to_owned()
        };
        let format = git.text(["rev-parse", "--show-object-format"])?;
        fs::create_dir(to)
            .map_err(|source| WorktreeError::file("make the directory", to, source))?;
        let made = Git::at(to).with(NO_LARGE_FILES.0, NO_LARGE_FILES.1.as_ref());
        made.run([
            "init".to_owned(),
            "--quiet".to_owned(),
            "--template=".to_owned(),
            format!("--initial-branch={branch}"),
            format!("--object-format={}", format.trim_ascii_end()),
        ])?;
        self.lend(&to.join(".git"))?;
        made.run(["reset", "--quiet", "--hard", head.as_str()])?;
        Self::at(to)
    }

    /// Lets a repository take objects from here, whose history is as short as it is here.
    fn lend(&self, git_dir: &Path) -> Result<(), WorktreeError> {
        let info = git_dir.join("objects").join("info");
        let failed = |source| WorktreeError::file("make the directory", &info, source);
        fs::create_dir_all(&info).map_err(failed)?;
        let (alternates, objects) = (info.join("alternates"), self.common_dir().join("objects"));
        let lent = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
        fs::write(&alternates, lent)
            .map_err(|source| WorktreeError::file("write", &alternates, source))?;
        let shallow = self.common_dir().join("shallow");
        if shallow.exists() {
            fs::copy(&shallow, git_dir.join("shallow"))
                .map_err(|source| WorktreeError::file("copy", &shallow, source))?;
        }
        Ok(())
    }
}
