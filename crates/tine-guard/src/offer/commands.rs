//! Commands that are offered with any arguments.
//!
//! A list of what is known, since no list of what is dangerous would be complete: a program that takes another program's name
//! among its arguments (a shell, `env`, `xargs`, `make`, `find`), that sends or fetches (`git push`), or that removes must
//! not get on it. What checks, builds and tests a project runs the project's code in any case.

/// Commands that run code of the project: its build scripts, its tests, its tools' settings. Sorted.
const RUN_PROJECT: [&str; 61] = [
    "biome check",
    "biome format",
    "biome lint",
    "bundle exec rspec",
    "bundle exec rubocop",
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo nextest run",
    "cargo test",
    "cargo tree",
    "clang-format",
    "deno check",
    "deno fmt",
    "deno lint",
    "dotnet build",
    "dotnet format",
    "dotnet test",
    "eslint",
    "flake8",
    "go build",
    "go fmt",
    "go test",
    "go vet",
    "golangci-lint run",
    "jest",
    "mix compile",
    "mix format",
    "mix test",
    "mypy",
    "npm test",
    "npx eslint",
    "npx jest",
    "npx prettier",
    "npx tsc",
    "npx vitest",
    "phpstan analyse",
    "phpunit",
    "pnpm test",
    "prettier",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "rubocop",
    "ruff check",
    "ruff format",
    "shellcheck",
    "swift build",
    "swift test",
    "terraform fmt",
    "terraform plan",
    "terraform validate",
    "tsc",
    "vitest",
    "yarn build",
    "yarn lint",
    "yarn test",
];

/// Commands that record or look up, and run nothing by themselves. Sorted. Not `ps`, which shows the variables of every process where a
/// letter asks for them, and `ss`, `ip` and `mount`, which also change things.
const RUN_NOTHING: [&str; 25] = [
    "black",
    "df",
    "docker images",
    "docker ps",
    "findmnt",
    "gh issue list",
    "gh issue view",
    "gh pr checks",
    "gh pr diff",
    "gh pr list",
    "gh pr status",
    "gh pr view",
    "gh run list",
    "gh run view",
    "git add",
    "git commit",
    "gofmt",
    "isort",
    "last",
    "lsblk",
    "netstat",
    "pgrep",
    "pidof",
    "pstree",
    "rustfmt",
];

/// Commands whose next word is the name of a script in the project's settings. Those are asked about when they change.
const RUN_SCRIPT: [&str; 2] = ["npm run", "pnpm run"];

/// Beginnings of names of such scripts that check or build. Any other name may be a door to any program. Sorted.
const SCRIPTS: [&str; 16] = words!(
    "build check compile coverage e2e fmt format jest lint prettier test tests tsc typecheck types unit"
);

/// Most words of a command's name.
const WORDS_MAX: usize = 3;

/// The part of the command that names what it does, and whether that runs code of the project. None where the command is not
/// known, or holds anything but words and one blank between them up to there.
pub(super) fn prefix(command: &str) -> Option<(&str, bool)> {
    let ends = command.match_indices(' ').map(|(end, _)| end).chain([command.len()]);
    // The longest name counts.
    let names: Vec<&str> = ends.take(WORDS_MAX).filter_map(|end| command.get(..end)).collect();
    names.into_iter().rev().find_map(|name| {
        let runs_project = RUN_PROJECT.binary_search(&name).is_ok() || is_script(name);
        (runs_project || RUN_NOTHING.binary_search(&name).is_ok()).then_some((name, runs_project))
    })
}

/// True for `npm run lint` and `npm run test:unit`.
fn is_script(name: &str) -> bool {
    let Some((program, script)) = name.rsplit_once(' ') else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
    let verb = script.split([':', '-', '_', '.']).next().unwrap_or_default();
    RUN_SCRIPT.contains(&program)
        && script.chars().all(is_plain)
        && SCRIPTS.binary_search(&verb).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_written_as_they_are_searched() {
        for list in [RUN_PROJECT.as_slice(), &RUN_NOTHING, &SCRIPTS] {
            assert!(list.is_sorted());
            assert!(list.iter().all(|name| name.split(' ').count() <= WORDS_MAX));
        }
    }
}
