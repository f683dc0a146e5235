//! Settings, files and names by which git runs a program, and commands that trip them. Each is planted in a repository of its own.
//! `@EVIL` is the program, `@HERE` the repository.

/// A name, how it is planted, and commands of which at least one trips it where nothing is in the way.
pub(super) type Setting = (&'static str, &'static str, &'static [&'static str]);

/// What commands that look at changes trip.
pub(super) const LOOKING: &[Setting] = &[
    (
        "core.fsmonitor",
        "git config core.fsmonitor @EVIL",
        &["git status", "git diff", "git ls-files -m", "git describe --dirty"],
    ),
    (
        "core.fsmonitor of a worktree",
        "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor @EVIL",
        &["git status"],
    ),
    (
        "core.hooksPath, fsmonitor-watchman",
        "mkdir h; cp @SCRIPT h/query; git config core.fsmonitor @HERE/h/query",
        &["git status -s"],
    ),
    (
        "core.hooksPath, post-index-change",
        "mkdir h; cp @SCRIPT h/post-index-change; git config core.hooksPath h; touch f",
        &["git status", "git diff"],
    ),
    (
        "hooks/post-index-change",
        "cp @SCRIPT .git/hooks/post-index-change; touch g",
        &["git status", "git diff HEAD"],
    ),
    (
        "hooks/reference-transaction",
        "cp @SCRIPT .git/hooks/reference-transaction",
        &["git log", "git branch x", "git update-ref refs/x HEAD"],
    ),
    (
        "diff.external",
        "git config diff.external @EVIL",
        &["git diff", "git diff HEAD~1 -- f", "git show --ext-diff", "git log -p --ext-diff"],
    ),
    (
        "diff.DRIVER.command",
        "git config diff.x.command @EVIL; echo '* diff=x' > .gitattributes",
        &["git diff"],
    ),
    (
        "diff.DRIVER.textconv",
        "git config diff.x.textconv @EVIL; echo '* diff=x' > .gitattributes",
        &[
            "git diff",
            "git log -p",
            "git show",
            "git blame f",
            "git grep --textconv x",
            "git cat-file --textconv HEAD:f",
        ],
    ),
    (
        "textconv, .git/info/attributes",
        "git config diff.x.textconv @EVIL; mkdir -p .git/info; echo '* diff=x' > .git/info/attributes",
        &["git show HEAD", "git log -p -1"],
    ),
    (
        "textconv, core.attributesFile",
        "git config diff.x.textconv @EVIL; echo '* diff=x' > a; git config core.attributesFile @HERE/a",
        &["git show HEAD"],
    ),
    (
        "textconv, kept in the cache",
        "git config diff.x.textconv @EVIL; git config diff.x.cachetextconv true; echo '* diff=x' > .gitattributes",
        &["git diff HEAD~1", "git log -p"],
    ),
    (
        "textconv, word diff",
        "git config diff.x.textconv @EVIL; git config diff.x.wordRegex .; echo 'f diff=x' > .gitattributes",
        &["git diff --word-diff HEAD~1", "git log --color-words -p"],
    ),
    (
        "filter.DRIVER.clean",
        "git config filter.x.clean '@EVIL cat'; echo '* filter=x' > .gitattributes; touch f",
        &["git status", "git diff", "git diff --stat", "git blame f"],
    ),
    (
        "filter.DRIVER.process",
        "git config filter.x.process @EVIL; git config filter.x.required true; echo '* filter=x' > .gitattributes; touch f",
        &["git status", "git diff"],
    ),
    (
        "filter.DRIVER.smudge",
        "git config filter.x.smudge '@EVIL cat'; echo '* filter=x' > .gitattributes",
        &[
            "git archive HEAD",
            "git checkout -f f",
            "git stash",
            "git cat-file --filters HEAD:f",
            "git restore f",
        ],
    ),
    (
        "filter by attributes of a folder",
        "git config filter.x.clean '@EVIL cat'; mkdir d; echo x > d/g; git add d; git commit -qm d; echo '* filter=x' > d/.gitattributes; echo y > d/g",
        &["git status", "git diff d"],
    ),
    (
        "include.path",
        "printf '[diff]\\n\\texternal = \"%s\"\\n' '@EVIL' > i; git config include.path @HERE/i",
        &["git diff"],
    ),
    (
        "include.path, relative",
        "printf '[diff]\\n\\texternal = \"%s\"\\n' '@EVIL' > i; git config include.path ../i",
        &["git diff"],
    ),
    (
        "includeIf.gitdir",
        "printf '[diff]\\n\\texternal = \"%s\"\\n' '@EVIL' > i; git config includeIf.gitdir:/.path @HERE/i",
        &["git diff"],
    ),
    (
        "includeIf.onbranch",
        "printf '[core]\\n\\tfsmonitor = \"%s\"\\n' '@EVIL' > i; git config 'includeIf.onbranch:**.path' @HERE/i",
        &["git status"],
    ),
    (
        "includeIf.hasconfig",
        "git config remote.o.url https://x.example/y; printf '[diff]\\n\\texternal = \"%s\"\\n' '@EVIL' > i; git config 'includeIf.hasconfig:remote.*.url:https://**.path' @HERE/i",
        &["git diff"],
    ),
    (
        "log.showSignature and gpg.program",
        "git config log.showSignature true; git config gpg.program @EVIL; @SIGN",
        &["git log", "git show", "git log --oneline -3"],
    ),
    (
        "format.pretty with %G?",
        "git config format.pretty '%G?'; git config gpg.program @EVIL; @SIGN",
        &["git log -1", "git show -s"],
    ),
    (
        "pretty.NAME with %GS",
        "git config pretty.x '%GS'; git config gpg.program @EVIL; @SIGN",
        &["git log --format=x -1", "git rev-list --format=x HEAD"],
    ),
    (
        "gpg.x509.program",
        "git config gpg.x509.program @EVIL; git config log.showSignature true; KIND='SIGNED MESSAGE'; @SIGN",
        &["git log -1"],
    ),
    (
        "gpg.ssh.program",
        "git config gpg.ssh.program @EVIL; git config gpg.ssh.allowedSignersFile @HERE/f; git config log.showSignature true; KIND='SSH SIGNATURE'; @SIGN",
        &["git log -1", "git verify-commit HEAD"],
    ),
    (
        "a signed tag and gpg.program",
        "git config gpg.program @EVIL; @TAG",
        &[
            "git show t --show-signature",
            "git tag -v t",
            "git for-each-ref --format='%(signature)' refs/heads",
            "git tag --format='%(signature)'",
            "git verify-tag t",
        ],
    ),
    (
        "core.worktree elsewhere",
        "git config core.worktree @HERE/../e-tree; mkdir -p ../e-tree; git config diff.external @EVIL; echo other > ../e-tree/f",
        &["git diff"],
    ),
    (
        "a .git file that leads elsewhere",
        "git config core.fsmonitor @EVIL; mv .git d.git; echo 'gitdir: d.git' > .git",
        &["git status"],
    ),
    (
        "a bare repository in a folder",
        "mkdir n; cp -r .git/HEAD .git/objects .git/refs .git/index n; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = \"%s\"\\n' '@EVIL' > n/config",
        &["cd n && git status", "git -C n status", "git -C n diff"],
    ),
    (
        "a nested repository",
        "git init -q n; git -C n config core.fsmonitor @EVIL; cd n; echo x > y; git add y; git commit -qm n",
        &["git -C n status", "cd n && git diff"],
    ),
    (
        "a nested repository that is added",
        "git init -q n; cd n; echo x > y; git add y; git commit -qm n; cd ..; git add n 2> /dev/null; git -C n config filter.x.clean '@EVIL cat'; echo '* filter=x' > n/.gitattributes; touch n/y; echo z >> n/y",
        &["git status", "git diff", "git diff --submodule=diff", "git submodule status"],
    ),
    (
        "a submodule's fsmonitor",
        "git init -q n; cd n; echo x > y; git add y; git commit -qm n; cd ..; git submodule -q add ./n n 2> /dev/null; git -C n config core.fsmonitor @EVIL",
        &["git status", "git diff --submodule=log", "git submodule summary"],
    ),
    (
        "a lazy fetch, uploadpack",
        "@PARTIAL; git config remote.o.uploadpack @EVIL",
        &[
            "git log -p",
            "git show HEAD",
            "git blame f",
            "git cat-file -p HEAD:f",
            "git diff HEAD~1",
            "git rev-list --objects HEAD",
        ],
    ),
    (
        "a lazy fetch, ext::",
        "@PARTIAL; git config remote.o.url 'ext::@EVIL'; git config protocol.ext.allow always",
        &["git log -p", "git show HEAD", "git grep x HEAD"],
    ),
    (
        "a lazy fetch, core.sshCommand",
        "@PARTIAL; git config remote.o.url ssh://x.example/y; git config core.sshCommand @EVIL",
        &["git show HEAD", "git log --stat"],
    ),
    (
        "a lazy fetch, core.gitProxy",
        "@PARTIAL; git config remote.o.url git://x.example/y; git config core.gitProxy @EVIL",
        &["git show HEAD"],
    ),
    (
        "a lazy fetch, a remote helper",
        "@PARTIAL; git config remote.o.vcs evil; git config remote.o.url x; mkdir bin; cp @SCRIPT bin/git-remote-evil",
        &["PATH=$PWD/bin:$PATH git show HEAD", "git show HEAD"],
    ),
    (
        "a lazy fetch, insteadOf",
        "@PARTIAL; git config remote.o.url x:y; git config 'url.ext::@EVIL .insteadOf' x:; git config protocol.allow always",
        &["git show HEAD"],
    ),
];

/// What commands trip that nobody takes for a read, and options of reads that name programs.
pub(super) const DOING: &[Setting] = &[
    ("alias of a name of its own", "git config alias.st '!@EVIL'", &["git st"]),
    (
        "alias in the place of a common one",
        "git config alias.lg '!@EVIL'; git config alias.stat '!@EVIL'",
        &["git lg", "git stat"],
    ),
    (
        "core.pager",
        "git config core.pager @EVIL",
        &["git --paginate log", "git -p status", "script -qc 'git log' /dev/null"],
    ),
    (
        "pager.COMMAND",
        "git config pager.log @EVIL",
        &["git -p log", "script -qc 'git log' /dev/null"],
    ),
    (
        "core.editor",
        "git config core.editor @EVIL",
        &["git commit --amend", "git tag -a t2", "git branch --edit-description"],
    ),
    (
        "sequence.editor",
        "git config sequence.editor @EVIL",
        &["git stash -q; git rebase -i HEAD~1"],
    ),
    ("core.askPass", "git config core.askPass @EVIL", &["git credential fill < ../credential"]),
    (
        "credential.helper",
        "git config credential.helper '!@EVIL'",
        &[
            "git credential fill < ../credential",
            "git -c http.extraHeader=x ls-remote https://x.example/y",
        ],
    ),
    (
        "remote.NAME.uploadpack",
        "git config remote.o.url @HERE; git config remote.o.uploadpack @EVIL",
        &["git fetch o", "git ls-remote o", "git remote show o", "git remote update"],
    ),
    (
        "remote.NAME.receivepack",
        "git config remote.o.url @HERE; git config remote.o.receivepack @EVIL",
        &["git push o HEAD:refs/heads/n", "git push --dry-run o HEAD:refs/heads/n"],
    ),
    (
        "ext:: by name",
        "git config protocol.ext.allow always",
        &[
            "git ls-remote 'ext::@EVIL'",
            "git fetch 'ext::@EVIL'",
            "git archive --remote='ext::@EVIL' HEAD",
        ],
    ),
    (
        "core.sshCommand",
        "git config core.sshCommand @EVIL; git config remote.o.url ssh://x.example/y",
        &["git fetch o", "git ls-remote o", "git remote show o"],
    ),
    (
        "core.gitProxy",
        "git config core.gitProxy @EVIL; git config remote.o.url git://x.example/y",
        &["git fetch o", "git ls-remote o"],
    ),
    (
        "uploadpack.packObjectsHook",
        "git config remote.o.url @HERE",
        &[
            "git -c uploadpack.packObjectsHook='@EVIL' upload-pack . < /dev/null",
            "git -c core.alternateRefsCommand='@EVIL' fetch o",
            "git fetch --upload-pack='@EVIL' o",
            "git ls-remote --upload-pack='@EVIL' .",
        ],
    ),
    (
        "options that name a program",
        "true",
        &[
            "git -c diff.external='@EVIL' diff",
            "git -c core.fsmonitor='@EVIL' status",
            "GIT_EXTERNAL_DIFF='@EVIL' git diff",
            "git --config-env=diff.external=X diff",
            "git diff --ext-diff -O/dev/null; git grep -O'@EVIL' x",
            "git difftool -y -x '@EVIL' HEAD~1",
        ],
    ),
    (
        "variables that name a program",
        "true",
        &[
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.external GIT_CONFIG_VALUE_0='@EVIL' git diff",
            "GIT_SSH_COMMAND='@EVIL' git ls-remote ssh://x.example/y",
            "GIT_PAGER='@EVIL' git -p log",
            "GIT_EXEC_PATH=$PWD git st",
            "GIT_CONFIG_PARAMETERS=\"'diff.external'='@EVIL'\" git diff",
        ],
    ),
    (
        "difftool.NAME.cmd",
        "git config diff.tool x; git config difftool.x.cmd @EVIL; git config difftool.prompt false",
        &["git difftool", "git difftool -y HEAD~1"],
    ),
    (
        "mergetool.NAME.cmd",
        "git config merge.tool x; git config mergetool.x.cmd @EVIL; git config mergetool.prompt false; @CONFLICT",
        &["git mergetool"],
    ),
    (
        "merge.DRIVER.driver",
        "git config merge.x.driver @EVIL; echo '* merge=x' > .gitattributes; git add .; git commit -qm a; @SIDE",
        &["git merge side", "git merge-tree HEAD side", "git cherry-pick side"],
    ),
    (
        "interactive.diffFilter",
        "git config interactive.diffFilter '@EVIL cat'",
        &[
            "yes n | git add -p",
            "yes q | git checkout -p",
            "yes q | git -c color.ui=always stash -p",
        ],
    ),
    (
        "trailer.NAME.cmd",
        "git config trailer.x.cmd @EVIL; git config trailer.x.key X",
        &[
            "echo y | git interpret-trailers",
            "echo y | git interpret-trailers --trailer x=1",
            "git commit --allow-empty -m y --trailer x=1",
        ],
    ),
    (
        "trailer.NAME.command",
        "git config trailer.x.command @EVIL; git config trailer.x.key X",
        &["echo y | git interpret-trailers", "echo y | git interpret-trailers --trailer x=1"],
    ),
    (
        "tar.FORMAT.command",
        "git config tar.x.command '@EVIL cat'",
        &["git archive --format=x HEAD", "git archive -o @HERE/a.x HEAD"],
    ),
    (
        "man.TOOL.cmd",
        "git config man.viewer x; git config man.x.cmd @EVIL",
        &["git help log", "git help -m log"],
    ),
    (
        "browser.TOOL.cmd",
        "git config help.browser x; git config web.browser x; git config browser.x.cmd @EVIL",
        &["git help -w log", "git web--browse --browser=x f"],
    ),
    (
        "gpg.program, signing",
        "git config gpg.program @EVIL; git config commit.gpgSign true",
        &[
            "git commit --allow-empty -m y",
            "git tag -s t3 -m y",
            "git commit-tree -S HEAD^{tree} -m y",
        ],
    ),
    (
        "gpg.ssh.defaultKeyCommand",
        "git config gpg.format ssh; git config gpg.ssh.defaultKeyCommand @EVIL; git config commit.gpgSign true",
        &["git commit --allow-empty -m y"],
    ),
    (
        "submodule.NAME.update",
        "git init -q n; cd n; echo x > y; git add y; git commit -qm n; cd ..; git submodule -q add ./n n 2> /dev/null; git commit -qm s; git config submodule.n.update '!@EVIL'; cd n; git commit -q --allow-empty -m n2",
        &["git submodule update", "git submodule update --init --recursive"],
    ),
    (
        "submodule foreach",
        "git init -q n; cd n; echo x > y; git add y; git commit -qm n; cd ..; git submodule -q add ./n n 2> /dev/null",
        &["git submodule foreach '@EVIL'", "git submodule--helper foreach '@EVIL'"],
    ),
    (
        "rebase --exec and bisect run",
        "git stash -q",
        &[
            "git rebase -x '@EVIL' HEAD~1",
            "git bisect start HEAD HEAD~2; git bisect run @EVIL",
            "git filter-branch -f --msg-filter '@EVIL cat' HEAD~1..HEAD",
        ],
    ),
    (
        "hooks of commits",
        "cd .git/hooks; for h in pre-commit prepare-commit-msg commit-msg post-commit post-rewrite; do cp @SCRIPT $h; done",
        &["git commit --allow-empty -m y", "git commit --amend --no-edit"],
    ),
    (
        "hooks of checkouts and merges",
        "cd .git/hooks; for h in post-checkout post-merge pre-merge-commit pre-rebase; do cp @SCRIPT $h; done",
        &[
            "git checkout -q -b y",
            "git switch -q -c z",
            "git worktree add -q ../w-@NAME",
            "git rebase HEAD~1",
        ],
    ),
    (
        "hooks of pushes",
        "cd .git/hooks; for h in pre-push update pre-receive post-receive post-update; do cp @SCRIPT $h; done; git config remote.o.url @HERE",
        &["git push -q o HEAD:refs/heads/n", "git push -q --dry-run o HEAD:refs/heads/m"],
    ),
    (
        "hooks of mail and of tidying",
        "cd .git/hooks; for h in applypatch-msg pre-applypatch pre-auto-gc sendemail-validate; do cp @SCRIPT $h; done; git config gc.auto 1; cd ../..; git format-patch -q -1 -o p; git stash -q",
        &[
            "git reset -q --hard HEAD~1; git am p/*",
            "git gc --auto",
            "git send-email --dry-run p/*",
        ],
    ),
    ("hook run", "cp @SCRIPT .git/hooks/x", &["git hook run x", "git hook run --ignore-missing x"]),
    (
        "gc.recentObjectsHook",
        "git config gc.recentObjectsHook @EVIL; git config gc.pruneExpire now",
        &[
            "git gc -q",
            "git repack -q -A -d --cruft",
            "git prune",
            "git repack -q --cruft -d --cruft-expiration=now",
        ],
    ),
    (
        "core.alternateRefsCommand",
        "git clone -q --bare . a.git; echo @HERE/a.git/objects > .git/objects/info/alternates; git config core.alternateRefsCommand @EVIL; git config remote.o.url @HERE/a.git",
        &[
            "git fetch -q o",
            "git receive-pack . < /dev/null",
            "git rev-list --alternate-refs --all",
        ],
    ),
    (
        "imap.tunnel",
        "git config imap.tunnel @EVIL; git config imap.folder x; git format-patch -q -1 --stdout > m",
        &["git imap-send < m"],
    ),
    (
        "sendemail.smtpServer",
        "git config sendemail.smtpServer @SCRIPT; git config sendemail.confirm never; git format-patch -q -1 -o p",
        &["git send-email --to=a@b p/*", "git send-email --to-cmd='@EVIL' --dry-run p/*"],
    ),
    (
        "instaweb.httpd",
        "git config instaweb.httpd @EVIL; git config instaweb.browser @EVIL",
        &["git instaweb", "git instaweb --stop"],
    ),
];
