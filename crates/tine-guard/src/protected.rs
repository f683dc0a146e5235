//! Files that start programs by themselves: the settings of git, shells, editors, agents and CI that lie in a directory.
//!
//! A confined agent works in a directory where a person, another agent or a service works later, without a wall. Such a file
//! would carry what the agent wrote to there. The file tools refuse these paths, and the wall makes them read-only for
//! commands. Both ask [`is_protected`]. This module looks at names alone and never at the disk.

use std::borrow::Cow;
use std::path::{Component, Path};

/// Names that a program picks up because somebody opens the directory, changes into it, commits or pushes. In lower case, sorted.
const PROTECTED: [&str; 96] = words!(
    ".aider.conf.yml .autoenv .autoenv.zsh .bash_aliases .bash_login .bash_logout .bash_profile .bashrc \
    .buildkite .cargo .circleci .claude .codex .config .cursor .devcontainer .devcontainer.json .dir-locals.el \
    .direnv .drone.yml .emacs .emacs.d .env .envrc .exrc .fleet .forgejo .gdbinit .gemini .gitattributes \
    .gitconfig .gitea .githooks .github .gitlab .gitlab-ci.yml .gitmodules .gitpod.yml .hg .hgrc .husky .idea \
    .inputrc .jj .lldbinit .lvimrc .mcp.json .mise .mise.local.toml .mise.toml .mvn .npmrc .nvim.lua .nvimrc \
    .opencode .overcommit.yml .pdbrc .pre-commit-config.yaml .profile .pythonrc .pythonstartup .rvmrc .screenrc \
    .sl .teamcity .tine .tmux.conf .tool-versions .travis.yml .vimrc .vscode .windsurf .woodpecker \
    .woodpecker.yml .worktreeinclude .zed .zlogin .zlogout .zprofile .zshenv .zshrc appveyor.yml \
    azure-pipelines.yml bitbucket-pipelines.yml cloudbuild.yaml devbox.json jenkinsfile lefthook.yaml \
    lefthook.yml mise.local.toml mise.toml opencode.json opencode.jsonc sitecustomize.py usercustomize.py \
    wercker.yml"
);

/// Names that tell tine or its agents what to do, wherever they lie. Confined agents may write those that are not protected: they
/// start nothing by themselves, and people are told when they come in. In lower case, sorted.
const STEERS: [&str; 5] = [".mcp.json", ".tine", ".worktreeinclude", "agents.md", "claude.md"];

/// Folders whose programs run under the names of others: those of a project's packages and of its interpreter.
const PROGRAM_FOLDERS: [&str; 4] = ["node_modules", ".venv", "venv", ".bin"];

/// Names that run code when somebody builds, tests or formats the project. They are sources like any other there, and a worker
/// edits them; a note has none of these names. In lower case, sorted.
const BUILDS: [&str; 37] = words!(
    ".babelrc .babelrc.js .bazelrc .buckconfig .eslintrc.cjs .eslintrc.js .justfile .mocharc.js .pnp.cjs \
    .prettierrc.js .yarn .yarnrc .yarnrc.yml build.gradle build.gradle.kts build.rs conftest.py containerfile \
    dockerfile gnumakefile gradlew gradlew.bat justfile makefile mvnw mvnw.cmd noxfile.py package.json rakefile \
    rust-toolchain rust-toolchain.toml settings.gradle settings.gradle.kts setup.py taskfile.yaml taskfile.yml \
    vagrantfile"
);

/// The ending of programs for Nix, which run whenever somebody builds or opens a shell.
const NIX: &str = ".nix";

/// Names in a repository's own folder whose content decides which programs git runs, or where the rest of the repository is.
/// Commits write none of them. The one list for file tools and the wall.
pub const REPOSITORY_SETTINGS: [&str; 6] =
    ["commondir", "config", "config.worktree", "gitdir", "hooks", "info"];

/// Names in a repository's own folder of what is under way there, such as a rebase: git runs what its steps say when somebody goes on
/// with it. Only what was begun before is protected, since a command may begin one and end it.
pub const REPOSITORY_OPERATIONS: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// Folders of a repository that hold the folders of other repositories: of submodules, and of linked worktrees. Each of
/// those has settings of its own.
pub const REPOSITORIES_WITHIN: [&str; 2] = ["modules", "worktrees"];

/// Folders of a repository in which any name may be that of a branch or an object.
const REPOSITORY_DATA: [&str; 3] = ["logs", "objects", "refs"];

/// Places below a home where the user's shell, desktop and tools look for programs and for what they run as they start, beside those whose
/// names are protected everywhere. A confined agent whose directory is the home writes in none of them.
pub const HOME_STARTERS: [&str; 77] = words!(
    ".aliases .asdf .atom .bash_completion .bash_functions .bun .byobu .composer .condarc .cshrc .curlrc .deno \
    .dircolors .elvish .exports .fluxbox .forward .functions .fzf .fzf.bash .fzf.zsh .gem .ghci .ghcup \
    .gradle/init.d .gradle/init.gradle .guile .gvimrc .i3 .ideavimrc .irbrc .jenv .julia/config .krew .kshrc \
    .lesskey .lessfilter .local .login .logout .luarocks .m2/settings.xml .mailcap .mambarc .mkshrc .mozilla \
    .nix-profile .npm-global .nvm .oh-my-bash .oh-my-zsh .opam .pam_environment .pip .pryrc .psqlrc .pyenv \
    .rbenv .Rprofile .rustup .rvm .sdkman .sqliterc .tcshrc .tmux .vim .volta .wgetrc .xinitrc .xprofile \
    .xsession .xsessionrc .yarn .zinit .zsh bin go/bin"
);

/// Whether a confined agent writes nothing at `below`, a path below a directory that it may write in, without links. True for a
/// protected folder and all in it. Of a repository's own folder (`.git` at any depth, `*.git`) only its settings and hooks
/// count, since a commit writes the rest; a `.git` itself does not.
pub fn is_protected(below: &Path) -> bool {
    let names: Vec<String> = below
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    names.iter().any(|name| PROTECTED.binary_search(&name.as_str()).is_ok())
        || names.iter().enumerate().any(|(index, name)| {
            name.ends_with(".git") && is_repository_setting(&names[index + 1..])
        })
}

/// Returns true if [`is_protected`] is true for a path of this one name. For whoever looks at very many.
pub fn is_protected_name(name: &[u8]) -> bool {
    let lower = if name.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    };
    PROTECTED.binary_search_by(|known| known.as_bytes().cmp(&lower)).is_ok()
}

/// Returns true for a path at which some program runs what stands there: because somebody opens the directory, changes into it,
/// commits or pushes, or because somebody builds or tests the project. People are told of such files when work comes in.
pub fn starts_programs(below: &Path) -> bool {
    is_protected(below) || lower(below).any(|name| is_picked_up_name(&name))
}

/// Returns true for a path that tells tine or its agents what to do. People are told of such files when work comes in.
pub fn steers_agents(below: &Path) -> bool {
    lower(below).any(|name| STEERS.binary_search(&name.as_str()).is_ok())
}

/// Returns true for a path at which a program picks up what stands there, by the names on the way alone.
pub(crate) fn is_picked_up_path(below: &Path) -> bool {
    lower(below).any(|name| {
        is_picked_up_name(&name)
            || name.ends_with(".git")
            || PROGRAM_FOLDERS.contains(&name.as_str())
    })
}

/// Returns true if writing the path could make a program run later, steer agents, or change the permission rules. An agent that may
/// edit without a question is asked here.
pub(crate) fn is_steering(below: &Path) -> bool {
    is_picked_up_path(below)
        || steers_agents(below)
        || is_command(&lower(below).collect::<Vec<_>>())
}

/// Returns true for a file that a shell finds by its name where the directory is a home: in `bin` or `.local/bin`. A name with an
/// ending, such as `bin/main.dart`, is a source, but for a version number.
fn is_command(names: &[String]) -> bool {
    let name = match names {
        [bin, name, ..] if bin == "bin" => name,
        [local, bin, ..] if local == ".local" && bin == "bin" => return true,
        _ => return false,
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) => {
            !stem.is_empty() && ending.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => true,
    }
}

fn lower(below: &Path) -> impl Iterator<Item = String> {
    below.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase())
}

/// Returns true if a path below a repository's own folder is one of its settings, or of those of a submodule or a worktree.
fn is_repository_setting(names: &[String]) -> bool {
    let mut names = names.iter().map(String::as_str);
    while let Some(name) = names.next() {
        if REPOSITORY_SETTINGS.contains(&name) || REPOSITORY_OPERATIONS.contains(&name) {
            return true;
        }
        if REPOSITORY_DATA.contains(&name) {
            return false;
        }
        if REPOSITORIES_WITHIN.contains(&name) {
            // The next name is that of a submodule or a worktree. It may be any, also `logs`.
            names.next();
        }
    }
    false
}

/// Whether some program picks up a file of this name, which is in lower case, from the directory that it is started in.
pub(crate) fn is_picked_up_name(name: &str) -> bool {
    PROTECTED.binary_search(&name).is_ok()
        || BUILDS.binary_search(&name).is_ok()
        || name.ends_with(NIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_written_as_they_are_searched() {
        for list in [PROTECTED.as_slice(), &BUILDS, &STEERS] {
            assert!(list.is_sorted());
            assert!(list.iter().all(|name| *name == name.to_lowercase()));
        }
    }

    #[test]
    fn files_that_run_later_are_known_by_name() {
        for path in [
            ".git/hooks/pre-commit",
            "bare.git/config",
            ".tine/config.toml",
            ".vscode/tasks.json",
            ".idea/workspace.xml",
            ".husky/pre-commit",
            ".githooks/pre-push",
            ".devcontainer/devcontainer.json",
            ".cargo/config.toml",
            ".gitmodules",
            ".gitattributes",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            "opencode.json",
            ".venv/bin/python",
            "web/node_modules/.bin/tsc",
            ".bashrc",
            "package.json",
            "Makefile",
            "tests/conftest.py",
            "AGENTS.md",
            "sub/Claude.md",
            ".worktreeinclude",
            "bin/ls",
            "bin/python3.11",
            ".local/bin/run.sh",
            ".pythonstartup",
            "lib/usercustomize.py",
            "build.rs",
            "gradlew",
            "mvnw",
            "Dockerfile",
            "nix/shell.nix",
        ] {
            assert!(is_steering(Path::new(path)), "{path}");
        }
        for path in [
            "src/main.rs",
            "docs/git.md",
            "bin/run.md",
            "bin/main.dart",
            "src/bin/ls",
            ".gitignore",
            "config.toml",
        ] {
            assert!(!is_steering(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn people_are_told_of_what_runs_later() {
        for path in ["Makefile", "web/package.json", "tests/conftest.py", ".husky/x", ".mcp.json"] {
            assert!(starts_programs(Path::new(path)), "{path}");
        }
        for path in ["src/main.rs", "makefile.md", "AGENTS.md", ""] {
            assert!(!starts_programs(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_starts_programs_by_itself_is_protected_and_sources_are_not() {
        for path in [
            ".git/config",
            ".git/config.worktree",
            ".git/hooks",
            ".git/hooks/pre-commit",
            ".git/rebase-merge/git-rebase-todo",
            ".git/sequencer",
            ".jj/repo/config.toml",
            ".git/info/attributes",
            ".git/commondir",
            ".git/modules/sub/config",
            ".git/modules/a/b/hooks/post-checkout",
            ".git/modules/logs/config",
            ".git/worktrees/refs/commondir",
            ".git/worktrees/x/tine-common/hooks",
            ".git/worktrees/x/gitdir",
            ".GIT/Config",
            "sub/.git/config",
            "bare.git/hooks/update",
            ".tine/config.toml",
            ".mcp.json",
            ".envrc",
            "sub/.vscode/tasks.json",
            ".husky/pre-commit",
            ".github/workflows/ci.yml",
            ".gitattributes",
            ".bashrc",
            ".cargo/config.toml",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in [
            "",
            ".git",
            "sub/.git",
            ".git/HEAD",
            ".git/index",
            ".git/refs/heads/config",
            ".git/logs/refs/heads/hooks/x",
            ".git/objects/info/packs",
            ".git/worktrees/x/HEAD",
            ".git/modules/config/logs/HEAD",
            "config",
            "hooks/use_state.ts",
            "info/a.md",
            "src/config.rs",
            "Makefile",
            "package.json",
            "tests/conftest.py",
            ".gitignore",
            ".editorconfig",
            "AGENTS.md",
        ] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}
