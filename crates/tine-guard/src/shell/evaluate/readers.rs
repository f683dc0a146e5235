//! Readers that only the wide verdict knows: tools that say their version or list what a project has. What they do beside that
//! (a lock file, a look into the network) is stopped by the wall, and is not why they are called.

use super::walk::Judged;
use crate::shell::refusal::Refusal;
use crate::shell::table::asked::why_asked;
use crate::shell::utility::ReadPath;
use crate::shell::word::{Word, refuse};

/// Tools that may say which version they are.
const VERSIONED: [&str; 52] = words!(
    "ansible bazel black brew bun bundle cargo clang-format composer deno docker dotnet elixir eslint flake8 gem \
    gh ghc git-lfs go golangci-lint gradle helm hugo java javac julia kubectl lua mvn mypy nix node npm nvcc \
    perl php pip pip3 pnpm poetry prettier protoc pytest python python3 ruby ruff rustc rustfmt rustup uv"
);

/// More of them.
const VERSIONED_TOO: [&str; 8] = ["swift", "terraform", "tmux", "tsc", "vim", "yarn", "zig", "zsh"];

/// The words that ask for it.
const ASKS: [&str; 4] = ["--version", "-V", "-version", "version"];

/// Tools of which some subcommands list: the first words, and the options that may follow.
const LISTS: [(&str, &[&str], &[&str]); 18] = [
    ("cargo", &["tree"], CARGO),
    ("cargo", &["metadata"], CARGO),
    ("cargo", &["pkgid"], CARGO),
    ("cargo", &["locate-project"], CARGO),
    ("cargo", &["read-manifest"], CARGO),
    ("cargo", &["--list"], &[]),
    ("go", &["list"], &["-m", "-f", "-json", "-deps", "-test", "-e"]),
    ("go", &["env"], &["-json"]),
    ("go", &["version"], &["-m"]),
    ("npm", &["ls"], NPM),
    ("npm", &["list"], NPM),
    ("pip", &["list"], PIP),
    ("pip", &["show"], PIP),
    ("pip", &["freeze"], PIP),
    ("pip3", &["list"], PIP),
    ("pip3", &["show"], PIP),
    ("rustup", &["show"], &[]),
    ("rustup", &["toolchain", "list"], &["-v"]),
];

const CARGO: &[&str] = &words!(
    "--offline --locked --frozen --no-deps --format-version --format-version=1 1 --manifest-path -p --package -i \
    --invert -e --edges -d --duplicates --depth -f --format --prefix --workspace --all-features \
    --no-default-features -F --features --target --message-format --workspace-root --no-dedupe --charset"
);

const NPM: &[&str] =
    &words!("--depth --depth=0 --depth=1 --all -a --json --prod --dev -g --global");

const PIP: &[&str] = &["--format", "--format=json", "--format=freeze", "-f", "--files", "--user"];

/// Options of these tools whose word behind them is a path.
const PATHS: [&str; 1] = ["--manifest-path"];

/// Judges a command that the tables do not know; `None` for one that is not known here either.
pub(super) fn judge(name: &Word, arguments: &[Word]) -> Option<Judged<Vec<ReadPath>>> {
    let tool = name.text.as_str();
    let plain = |word: &Word| word.is_known() && word.glob.is_none();
    let versioned = VERSIONED.contains(&tool) || VERSIONED_TOO.contains(&tool);
    if let [only] = arguments
        && plain(only)
    {
        let asks = ASKS.contains(&only.text.as_str())
            // A script of this name, or a letter that means something else.
            && (only.text != "version" || matches!(tool, "go" | "zig" | "hugo"))
            || only.text == "-v"
                && matches!(tool, "node" | "npm" | "pnpm" | "yarn" | "perl" | "php" | "ruby");
        if versioned && asks {
            return Some(Ok(Vec::new()));
        }
    }
    if tool == "printenv" && arguments.is_empty() {
        return Some(Ok(Vec::new()));
    }
    if !LISTS.iter().any(|(known, _, _)| *known == tool) && !versioned {
        return None;
    }
    let first = |words: &&[&str]| {
        words.len() <= arguments.len()
            && words.iter().zip(arguments).all(|(word, given)| given.text == *word && plain(given))
    };
    let found = LISTS.iter().find(|(known, words, _)| *known == tool && first(words));
    let Some((_, words, options)) = found else {
        let why = why_asked(tool, arguments)
            .unwrap_or("only its version, or a list of what is there, only reads");
        return Some(Err(Refusal::new(name.at, tool, why)));
    };
    let rest = &arguments[words.len()..];
    let mut paths = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| rest[before].text.as_str());
        if PATHS.contains(&before) {
            paths.push(ReadPath::of(word, true));
        }
        let known = options.contains(&word.text.as_str()) || !word.text.starts_with('-');
        if !known || word.may_be_option() || word.glob == Some(0) {
            let why = "not on the list of options that only read";
            return Some(refuse(word, why));
        }
    }
    Some(Ok(paths))
}

/// `tee`: only to where nothing is kept.
pub(super) fn tee(name: &Word, arguments: &[Word]) -> Judged<()> {
    const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];
    match arguments.iter().find(|word| !NOWHERE.contains(&word.text.as_str())) {
        Some(word) => refuse(word, "`tee` would write this file"),
        None if arguments.is_empty() => {
            Err(Refusal::new(name.at, "tee", "`tee` must name where it prints"))
        }
        None => Ok(()),
    }
}
