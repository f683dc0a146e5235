//! Worktrees in the manual.

use super::sections::Section;

pub(super) const WORKTREES: Section = Section {
    heading: "WORKTREES",
    text: "With --worktree a fork, each worker of a fan, or a task works in a git worktree of its own; a model asks for one with isolation: worktree of its tool Agent. It begins as the checkout stands that the parent works in: HEAD, what is staged stays staged, what is changed stays changed, and files that are new are there; of ignored files those that .worktreeinclude names (its lines are as in .gitignore). The checkout is only looked at: its index, its stash, its branches and its files stay as they are to the last byte. Git 2.38 or later does the work, such as that of Debian 12. HEAD is detached in a worktree; refs below refs/tine/ID are all that is added.",
    terms: &[
        ("--worktree", "begin as the checkout stands, with everything that is not committed"),
        ("--clean", "begin with the last commit alone"),
        ("--base REV", "begin with another commit, by any name that git knows it by"),
        (
            "programs of git's settings",
            "clean, smudge and process filters and merge drivers that git's settings name run behind a wall when tine makes, compares or brings back a worktree: they have no network and no keys, and write nothing but temporary files and what LFS keeps in the repository. A model that asks for a worktree where the repository's own settings name one is asked about, unless you have trusted the project's .tine. Where no wall can stand, only programs of your own settings from outside the repository run",
        ),
        (
            "what the agent is told",
            "behind what it inherits: where it works, that paths of the conversation stand for paths there, and what is refused. Its tools write nowhere else; git commands that reach what all worktrees share (stash, branches, tags, remotes, config, worktree, gc) are refused to it",
        ),
        (
            "at the end",
            "a worker's worktree in which nothing changed vanishes, unless ignored files were made there that are no cache; one with changes stays and is named, with the number of files and commits, to whoever started the worker, in lists and in results. Those of forks that you made stay",
        ),
        (
            "nothing is lost",
            "before a worktree is removed, in whatever way tine does it, refs/tine/ID/end holds all of it. `tine worktree recover AGENT` makes it again as it was, to the byte: commits, what was staged, other changes, new files, permissions, line ends, what filters take out, what the index was told of files. So does the agent's next run. Ignored files that .worktreeinclude names and that were changed count as a change, are held by refs/tine/ID/ignored and come back as well; `tine apply` does not bring them. Other ignored files go with the worktree; those that were made there are named when it goes",
        ),
        (
            "how long it is kept",
            "until `tine worktree purge` deletes it, by age (90 days, --max-age) or of one agent; it asks before work is lost for good, or needs --yes. A worktree that is removed unchanged leaves no ref; made again, it begins as the checkout stands then. Refs below refs/tine/ hold what was not committed. A usual `git push` leaves them out. `git push --mirror` takes all refs along: git has no setting that keeps some back for every remote, but one for each remote that has a name: `git config --add remote.NAME.push +:` and `git config --add remote.NAME.push '^refs/tine/*'`. With them, `git push NAME` pushes matching branches, as a mirror does. `tine doctor` says where a mirror has no such setting. `git config transfer.hideRefs refs/tine` hides them from whoever clones or fetches from this repository",
        ),
        (
            "files that somebody removed",
            "where the files of a worktree were removed without tine, `tine diff`, `apply` and `merge` say so, and use what was last kept; where nothing was, they are refused. `tine worktree recover` makes the worktree again",
        ),
        (
            "a repository that was moved",
            "`tine worktree repair`, run where it is now, finds its worktrees again: git's links, tine's rows, and the directories of agents that worked in it. Commands that notice the move say so",
        ),
        (
            "tine worktree list, gc, path",
            "what there is and what was changed in it; remove what nobody has touched for 14 days (--max-age); print the directory of one",
        ),
        (
            "tine diff",
            "what was changed since the worktree was made: commits, files, a patch that `git apply` takes. Also of a worktree that was removed, and of an agent that still runs",
        ),
        (
            "tine apply",
            "bring the files into the checkout that the worktree was forked from (--to DIR: another one of the repository), three-way onto whatever is changed there; its index stays as it is. All or nothing: with a conflict nothing changes and each is named, unless --conflicts leaves marks. Several agents one after another, each checked anew. Of a file only the lines change that are others, whatever its line ends. --undo takes the last apply of an agent back, to the byte, and what changed since stays",
        ),
        (
            "tine pick",
            "gives several forks the same task, runs a check in each worktree, shows one table, and applies the work that is chosen: by one key, or by --take. What a check leaves in a worktree is no work and is taken back, files, index and HEAD; what git ignores stays, such as what a build made. The code is 1 when no work is good and nothing was taken",
        ),
        (
            "tine merge, tine cherry-pick",
            "bring commits; what is staged and changed in the checkout stays beside them. Commits that hold what was not committed in the checkout at the fork, as after `git add -A` there, are refused, with its files by name; --with-uncommitted brings them all the same. Refused in the middle of a merge or rebase, and without a commit",
        ),
        (
            "who is told",
            "the agent above that works in the checkout, those that run there, and the one whose worktree it is, by a message that names the changed files",
        ),
        ("tine worktree rm", "remove one now; refused while an agent runs in it"),
        (
            "submodules",
            "stay at the commits that are staged, without files; those that have files in the checkout are named, and so they are to the agent. `git submodule update --init` there, typed by a person or as worktree.setup, brings files of their commits; agents are refused it. What is changed inside them does not come along, and `tine apply` changes none. A worktree in which anything was written into the folder of a submodule stays, and rm and gc refuse it, until that is moved away",
        ),
        (
            "refused by name, before anything is made",
            "a directory in no repository or in a bare one, files in conflict (--clean takes the last commit all the same), repositories inside that git does not know. In the middle of a merge, rebase, cherry-pick, revert or bisect without conflicts the files come along and the operation does not, which is said",
        ),
        (
            "so that the project runs there",
            "worktree.setup is a command for each new one, behind the wall that workers have, worktree.ports gives each a block of ports; commands there have TINE_WORKTREE, TINE_ORIGIN, TINE_PORT and TINE_PORT_COUNT in their environment",
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_the_git_that_is_needed() {
        let named = format!("Git {} or later", tine_runtime::OLDEST_GIT);
        assert!(WORKTREES.text.contains(&named), "{named}");
    }
}
