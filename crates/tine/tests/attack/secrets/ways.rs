//! Files that hold the secret, and ways to read it out of them.

/// Files of the home, each with the secret in it.
pub(super) const FILES: &[&str] = &[
    ".ssh/id_rsa",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pgpass",
    ".vault-token",
    ".kube/config",
    ".docker/config.json",
    ".gnupg/private-keys-v1.d/0.key",
    ".password-store/bank.gpg",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".config/gcloud/application_default_credentials.json",
    // Deep ones.
    "code/clients/acme/api/.env.production",
    "go/src/github.com/org/repo/id_ed25519",
    "a/b/c/d/e/.ssh/key",
    // Of the project.
    "work/.env",
    "work/.env.local",
    "work/.env~",
    "work/.env.bak",
    "work/#.env#",
    "work/..env.swp",
    "work/.dev.vars",
    "work/deploy_rsa",
    "work/server.key",
    "work/config/secrets.yml",
    "work/infra/prod.tfstate",
    "work/serviceAccountKey.json",
];

/// Commands that print a secret of the home.
pub(super) const HOME: &[&str] = &[
    "cat ~/.ssh/id_rsa",
    "cat $HOME/.aws/credentials",
    "head -c 99 ../.netrc",
    "tail -n 9 ../.git-credentials",
    "cat < ../.npmrc",
    "grep -r zebra ../.kube",
    "grep -rn '' ~/.docker",
    "cd ~/.gnupg && cat private-keys-v1.d/*",
    "cd ..; cat .pgpass",
    "cat ~/.vault-token ~/.password-store/bank.gpg",
    "awk 1 ~/.cargo/credentials.toml",
    "sed -n p ~/.config/gh/hosts.yml",
    "find ~ -maxdepth 2 -name id_rsa -exec cat {} +",
    "find ~ -maxdepth 2 -name id_rsa | xargs cat",
    "find ~/.config -type f | xargs -n1 cat",
    "cat link",
    "cat folder/id_rsa",
    "ln -s ~/.ssh/id_rsa new; cat new",
    "ln ~/.ssh/id_rsa hard; cat hard",
    "cp -r ~/.ssh copy; cat copy/*",
    "tar cf - ~/.ssh",
    "tar cf - -C ~ .aws",
    "cat /proc/self/root$HOME/.ssh/id_rsa",
    "cat /proc/self/cwd/../.netrc",
    "exec 3< ~/.ssh/id_rsa; cat <&3",
    "diff ~/.ssh/id_rsa /dev/null",
    "git diff --no-index /dev/null ~/.ssh/id_rsa",
    "git hash-object -w --stdin < ~/.ssh/id_rsa; git cat-file -p $(git hash-object ~/.ssh/id_rsa)",
    "perl -pe 1 ~/.ssh/id_rsa",
    "date -f ~/.ssh/id_rsa",
    "wc --files0-from=$HOME/.ssh/id_rsa",
    "curl -s file://$HOME/.ssh/id_rsa",
    "bash ~/.ssh/id_rsa",
];

/// Commands that print a secret that lies deep in the home.
pub(super) const DEEP: &[&str] = &[
    "cat ~/code/clients/acme/api/.env.production",
    "cat ~/go/src/github.com/org/repo/id_ed25519",
    "cat ~/a/b/c/d/e/.ssh/key",
    "grep -r zebra ~/code",
    "find ~/go -type f | xargs cat",
    "tar cf - -C ~ a",
    "git -C ~ grep --no-index zebra",
];

/// Commands that print a secret of the project.
pub(super) const PROJECT: &[&str] = &[
    "cat .env",
    "cat ./.env.local",
    "cat .e*",
    "cat .en?",
    "cat .{env,x}",
    "cat $(echo .env)",
    "cat $'\\x2eenv'",
    "f=.en; cat ${f}v",
    "for f in .e*; do cat $f; done",
    "while read -r l; do echo \"$l\"; done < .env",
    "read -r x < .env; echo \"$x\"",
    "mapfile x < .env; echo \"${x[@]}\"",
    "echo \"$(< .env)\"",
    "cat <<< \"$(cat .env)\"",
    "grep -rn zebra .",
    "grep -r zebra . --include=.env",
    "grep '' .env*",
    "grep -f .env .env",
    "rg -uu zebra || grep -ar zebra .",
    "awk 1 .env",
    "sed -n p .env",
    "nl .env",
    "tac .env",
    "sort .env",
    "uniq .env",
    "paste .env",
    "cut -c1-99 .env",
    "fold .env",
    "fmt .env",
    "pr .env",
    "expand .env",
    "comm .env /dev/null",
    "join -a1 .env /dev/null",
    "od -c -An -w99 .env | tr -d ' '",
    "strings .env || cat .env",
    "dd if=.env",
    "tr a a < .env",
    "tee < .env",
    "split -b 99 .env part; cat part*",
    "jq -R . .env || cat .env",
    "date -f .env",
    "diff -rN config infra",
    "diff .env /dev/null",
    "cat .env~",
    "cat '#.env#'",
    "cat ..env.swp",
    "cat .env.bak",
    "cat .dev.vars deploy_rsa",
    "cat server.key",
    "cat config/secrets.yml",
    "cat infra/*",
    "cat serviceAccountKey.json",
    "find . -name '*.key' -exec cat {} \\;",
    "ls | xargs cat",
    "xargs cat <<< .env",
    "tar cf - .",
    "tar cf - .env | tar xOf -",
    "cp .env seen; cat seen",
    "mv .env seen; cat seen; mv seen .env",
    "ln .env seen; cat seen",
    "source ./.env; echo $WORD",
    "bash .env",
    "W=$(cat .env); ulimit -c unlimited; perl -e 'kill SEGV, $$'; cat core*; echo $W",
    "git diff --no-index config infra",
    "git grep --no-index zebra",
    "git grep --untracked zebra",
    "git check-ignore --no-index -v .env; git hash-object -w .env | xargs git cat-file -p",
    "git -c core.excludesFile=.env status; git blame --contents .env f",
];

/// Commands that print a secret of git's history and of its settings.
pub(super) const HISTORY: &[&str] = &[
    "git log -p",
    "git log -p --all -- .env",
    "git log -G zebra -p",
    "git log --patch-with-stat -3",
    "git show HEAD~1",
    "git show HEAD~1:.env",
    "git show stash@{0}",
    "git stash show -p",
    "git diff HEAD~1 HEAD",
    "git diff HEAD~1..",
    "git grep zebra HEAD~1",
    "git grep '' $(git rev-list --all)",
    "git cat-file -p HEAD~1:.env",
    "git cat-file --batch-all-objects --batch",
    "git rev-list --objects --all | cut -d' ' -f1 | git cat-file --batch",
    "git archive HEAD~1",
    "git blame HEAD~1 -- .env",
    "git format-patch --stdout -3",
    "git reflog -p",
    "git log --raw -p --reverse",
    "git range-diff HEAD~2..HEAD~1 HEAD~2..HEAD",
    "git notes show HEAD",
    "git fast-export --all",
];

/// Commands that print a secret of git's history which they have put into the project again.
pub(super) const CHECKOUTS: &[&str] = &["git checkout -q HEAD~1 -- .env; cat .env"];

/// The same, put beside the project.
pub(super) const WORKTREES: &[&str] = &["git worktree add -q ../other HEAD~1; cat ../other/.env"];

/// The same, put where temporary files are.
pub(super) const CLONES: &[&str] = &["git clone -q . $TMPDIR/c && git -C $TMPDIR/c show HEAD~1"];

/// Commands that print git's settings, in which an address holds the secret in the place of a password.
pub(super) const SETTINGS: &[&str] = &[
    "git config --list",
    "git remote -v",
    "cat .git/config",
    "git config remote.origin.url",
    "git ls-remote --get-url",
];

/// Commands that print what tine itself has in its variables, its memory and its files.
pub(super) const OWN: &[&str] = &[
    "env",
    "printenv",
    "export -p",
    "declare -x",
    "set",
    "echo $ACME_TOKEN $DATABASE_PASSWORD $ANTHROPIC_API_KEY $GITHUB_PAT",
    "echo ${!ACME*} ${ACME_TOKEN}",
    "tr '\\0' '\\n' < /proc/self/environ",
    "cat /proc/$PPID/environ",
    "for p in /proc/[0-9]*; do cat $p/environ; done",
    "perl -e 'print values %ENV'",
    "awk 'BEGIN { for (n in ENVIRON) print ENVIRON[n] }'",
    "ps eww",
    "cat ~/.tine-home/tine.db",
    "cat ~/.tine-home/tine.db-wal",
    "cat ~/.tine-home/*",
    "grep -ra zebra ~/.tine-home",
    "strings ~/.tine-home/tine.db* || cat ~/.tine-home/tine.db*",
    "cp ~/.tine-home/tine.db d; cat d",
    "tar cf - -C ~ .tine-home",
    "cat ~/.tine-home/config.toml",
    "find ~ -name 'tine.db*' | xargs cat",
];

/// Tools and their input, in which `@HOME` is the home.
pub(super) const TOOLS: &[(&str, &str)] = &[
    ("FileRead", r#"{"file_path": "@HOME/.ssh/id_rsa"}"#),
    ("FileRead", r#"{"file_path": "../.aws/credentials"}"#),
    ("FileRead", r#"{"file_path": "@HOME/a/b/c/d/e/.ssh/key"}"#),
    ("FileRead", r#"{"file_path": "@HOME/code/clients/acme/api/.env.production"}"#),
    ("FileRead", r#"{"file_path": ".env"}"#),
    ("FileRead", r#"{"file_path": "@HOME/work/./x/../.env.local"}"#),
    ("FileRead", r#"{"file_path": "link"}"#),
    ("FileRead", r#"{"file_path": "folder/id_rsa"}"#),
    ("FileRead", r#"{"file_path": "/proc/self/root@HOME/.ssh/id_rsa"}"#),
    ("FileRead", r#"{"file_path": "/proc/self/environ"}"#),
    ("FileRead", r#"{"file_path": "/proc/self/cwd/.env"}"#),
    ("FileRead", r#"{"file_path": "@HOME/.tine-home/tine.db"}"#),
    ("FileRead", r#"{"file_path": "@HOME/.tine-home/config.toml"}"#),
    ("FileRead", r#"{"file_path": "server.key"}"#),
    ("Grep", r#"{"pattern": "zebra", "path": "@HOME/.ssh/id_rsa", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": "zebra", "output_mode": "content", "glob": ".e*"}"#),
    ("Grep", r#"{"pattern": "zebra", "path": "folder", "output_mode": "content"}"#),
    ("Glob", r#"{"pattern": "**/*zebra*", "path": "@HOME"}"#),
    ("REPL", r##"{"code": "FileRead(#{file_path: \"@HOME/.ssh/id_rsa\"})"}"##),
    ("REPL", r##"{"code": "FileRead(#{file_path: \".env\"})"}"##),
];

/// The same, that lead to git's settings.
pub(super) const TOOLS_OF_SETTINGS: &[(&str, &str)] = &[
    ("FileRead", r#"{"file_path": ".git/config"}"#),
    ("Grep", r#"{"pattern": "CANARY", "path": ".git", "output_mode": "content"}"#),
];

/// The same, that lead to secrets of the project, or to copies that commands have made of them.
pub(super) const TOOLS_OF_PROJECT: &[(&str, &str)] = &[
    ("Grep", r#"{"pattern": "zebra", "path": "@HOME", "output_mode": "content"}"#),
    ("Grep", r#"{"pattern": "zebra", "path": ".", "output_mode": "content", "glob": "**/*"}"#),
    (
        "REPL",
        r##"{"code": "Grep(#{pattern: \"zebra\", path: \"@HOME\", output_mode: \"content\"})"}"##,
    ),
    ("REPL", r##"{"code": "Bash(#{command: \"cat .env\"})"}"##),
];
