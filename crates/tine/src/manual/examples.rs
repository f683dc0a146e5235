//! Examples below each command's help.

pub(crate) const RUN: &str = "\
Examples:
  tine run \"What does this project do?\"
  tine run --continue \"And how is it tested?\"
  git diff | tine run \"Review this.\"
  tine run --resume 1a2b '/fork \"Try it with a queue instead.\"'
  tine run --model sim/echo --json \"hello\"
  tine run --allow 'Bash(cargo test *)' --max-turns 20 \"Make the tests pass.\"";

pub(crate) const FORK: &str = "\
Examples:
  tine fork 1a2b                          an idle peer that knows everything
                                          1a2b knows
  tine fork 1a2b \"Try it another way.\"    the same, and it begins at once
  tine fork 1a2b --at 12 --name plan-b    inherit up to entry 12 only
  tine fork 1a2b --estimate \"Try it.\"     what it would cost, and nothing else
  tine fork 1a2b --worktree \"Try it.\"     in a git worktree of its own, with all
                                          that is not committed yet
  tine fork 1a2b --turns 2                only the last two turns
  tine fork 1a2b --notes ~/notes \"Write down what we decided.\"
                                          a hidden run that writes notes alone
  tine fork 1a2b --context digest --model openai/gpt-6.1-sol \"Try it.\"
  tine fork 1a2b --json";

pub(crate) const FAN: &str = "\
Examples:
  tine fan 1a2b -d \"Check the parser.\" -d \"Check the printer.\"
  tine fan 1a2b -d \"Find dead code.\" --permission-mode read-only --json
  tine fan 1a2b -d A -d B -d C --estimate
                                          what it would cost, and how they would
                                          start
  tine fan 1a2b -d A -d B --plan leader --explain
  tine fan 1a2b -d A -d B --agent reviewer --context \"last 3\"
  tine fan 1a2b -d \"With a queue.\" -d \"With a lock.\" --worktree
                                          each in a git worktree of its own";

pub(crate) const CACHE_EXPLAIN: &str = "\
Examples:
  tine cache explain 1a2b                 all requests in a line each, the last
                                          in full
  tine cache explain 1a2b --request 3
  tine cache explain 1a2b --json | jq \\
      '.requests[] | select(.verdict != \"ok\") | .why'";

pub(crate) const PS: &str = "\
Examples:
  tine ps
  tine ps --json | jq -r '.[]
      | select([.state, .task.status] | any(. == \"interrupted\")) | .id'";

pub(crate) const TREE: &str = "\
Examples:
  tine tree
  tine tree 1a2b --all";

pub(crate) const SHOW: &str = "\
Examples:
  tine show 1a2b
  tine show 1a2b --full | less -R
  tine show 1a2b --json | jq '.entries[] | select(.own)'";

pub(crate) const LOGS: &str = "\
Examples:
  tine logs 1a2b
  tine logs -f 1a2b --json | jq -c .kind";

pub(crate) const WORKER: &str = "\
It takes its jobs from the servers of cluster.url, and uses its own keys for providers.

Examples:
  TINE_CLUSTER_URL=nats://build1:4222 tine worker
  tine worker --labels gpu,eu --jobs 8";

pub(crate) const CLUSTER_STATUS: &str = "\
Examples:
  tine cluster status
  tine cluster status --json | jq -r '.workers[].worker'";

pub(crate) const CLUSTER_DOCTOR: &str = "\
The code is 1 where a check has failed. It uploads 64 KiB and reads them back.

Examples:
  tine cluster doctor
  tine cluster doctor --json | jq '.checks[] | select(.status != \"ok\")'";

pub(crate) const WAIT: &str = "\
The code is 0 once none of them runs, whatever became of them.

Examples:
  tine wait 1a2b 3c4d
  tine wait 1a2b --timeout 60 --json";

pub(crate) const SEND: &str = "\
A message to a guest waits for the next prompt of its program, where `tine gateway install` has put the hook.

Examples:
  tine send 1a2b \"The server moved to port 8081.\"
  tine send 1a2b --next \"When you are done, check the docs as well.\"
  cargo test 2>&1 | tail -n 50 | tine send 1a2b";

pub(crate) const COMPACT: &str = "\
Examples:
  tine compact 1a2b
  tine compact 1a2b --keep-tokens 5000 --instructions \"Keep every measurement.\"
  tine compact 1a2b --json";

pub(crate) const MARK: &str = "\
Examples:
  tine mark 1a2b
  tine mark 1a2b \"before the redesign\"
  tine mark 1a2b --list";

pub(crate) const REWIND: &str = "\
What was said behind the place stays in the log, and in the forks that inherited it; the agent's next request does not have it. \
Files stay as they are.

Examples:
  tine rewind 1a2b                        before the last prompt
  tine rewind 1a2b \"before the redesign\"
  tine rewind 1a2b --to 12 --json";

pub(crate) const CLEAR: &str = "\
What was said stays in the log, and in the forks that inherited it.

Examples:
  tine clear 1a2b";

pub(crate) const MERGE_BACK: &str = "\
The fork's own model writes the summary, over its warm cache. An agent that runs gets it at its next turn; any other \
one at once.

Examples:
  tine merge-back 3c4d                    draft, edit, append to its parent
  tine merge-back 3c4d --no-edit --into 1a2b
  tine merge-back 3c4d --text \"Use the queue: 3 times faster.\"
  tine merge-back 3c4d --dry-run > draft.md
  tine merge-back 3c4d --file draft.md --json";

pub(crate) const TASK_START: &str = "\
The worker starts from its prompt alone, or with --fork from AGENT's conversation; --context says how much of it. With a full \
context --agent keeps what AGENT is, so that the cache serves it: the defined agent's tools narrow what may be called, and its \
instructions stand before the task. With any other it begins with its own prompt and tools. The worker runs in the background, in a \
process of its own, and its report reaches AGENT at its next turn. Where nobody can be asked, what needs permission is \
refused; with --wait-for-permission it waits for `tine permission`.

Examples:
  tine task start 1a2b \"List the open questions.\" --fork
  tine task start 1a2b \"Review src/parser.rs.\" --agent reviewer -d \\
      \"review of the parser\"
  tine task start 1a2b \"Review what we did.\" --agent reviewer --context full
  tine task start 1a2b \"Sum it up.\" --context digest -m anthropic/NAME
  tine task start 1a2b \"Count the tests.\" --wait
  tine task start 1a2b \"Fix the parser.\" --fork --worktree
  id=$(tine task start 1a2b \"Fix the build.\" --fork --json | jq -r .task)";

pub(crate) const TASK_RESUME: &str = "\
A task that has ended, in whatever way, goes on with all that its worker knows. One that still runs is told when it \
has reported; only one thing can wait for that.

Examples:
  tine task resume 3c4d \"And now the other half.\"
  tine task resume 3c4d \"Go on.\" --wait";

pub(crate) const TASK_LIST: &str = "\
Examples:
  tine task list
  tine task list 1a2b --status running
  tine task list --all --json | jq '.tasks[] | select(.flags != []) | .id'";

pub(crate) const TASK_OUTPUT: &str = "\
The code is 124 when the task is still under way at the end of the wait.

Examples:
  tine task output 3c4d
  tine task output 3c4d --block --timeout 600
  tine task output 3c4d --since 120 --json | jq .next";

pub(crate) const TASK_CANCEL: &str = "\
Examples:
  tine task cancel 3c4d
  tine task cancel 3c4d --soft            it finishes its turn, and reports";

pub(crate) const TASK_HIDE: &str = "\
Their conversations stay: `tine task list --all` shows them.

Examples:
  tine task hide 1a2b";

pub(crate) const TASK_SEND: &str = "\
Examples:
  tine task send 3c4d \"The server moved to port 8081.\"
  tine task send 3c4d --next \"When you are done, check the docs as well.\"";

pub(crate) const STOP: &str = "\
Prints who was stopped and what was done by then. The code is 0, also when nothing runs.

Examples:
  tine stop 1a2b                          all that works in this tree, now
  tine stop 1a2b --soft                   everybody finishes the turn, and
                                          reports
  tine stop 1a2b --interrupt              its turn ends, its workers go on
  tine stop 1a2b --json | jq -r '.stopped[].agent'";

pub(crate) const KILL: &str = "\
What is killed stays dead; `tine stop` ends what runs, and nothing else. The root of a tree dies with --root only. \
After a fork was killed, `tine run --continue` goes on with its parent.

Examples:
  tine kill 3c4d
  tine kill 1a2b --root
  tine ps --json | jq -r '.[] | select(.kind == \"peer\") | .id' | xargs tine kill";

pub(crate) const DIFF: &str = "\
Of a worktree that is there this is what it holds now, of one that was removed what it held. Files that were not \
committed when the worktree was made are no changes. Where the output is no terminal it is a patch that `git apply` \
takes.

Examples:
  tine diff 3c4d
  tine diff 3c4d --stat
  tine diff 3c4d src/parser.rs > parser.patch";

pub(crate) const APPLY: &str = "\
Three-way, onto whatever you have in your checkout, and all or nothing: with a conflict nothing changes and the code \
is 1. Your index stays as it is. The work of an agent that runs is taken as it stands now. The agent that works in the \
checkout is told.

Examples:
  tine apply 3c4d --dry-run
  tine apply 3c4d
  tine apply 3c4d src --conflicts         only what is in src; marks where both
                                          sides changed the same lines
  tine apply --undo 3c4d";

pub(crate) const MERGE: &str = "\
What you have staged and changed stays beside the merged commits. No hooks run. With a conflict, in the commits or \
with your own changes, nothing changes and the code is 1. What the agent has not committed does not come, and is \
named. \
Commits that hold what you had not committed at the fork are refused: --with-uncommitted brings them, \
`tine apply` the files alone.

Examples:
  tine merge 3c4d --dry-run
  tine merge 3c4d --no-ff
  tine merge 3c4d --json | jq -r .head";

pub(crate) const CHERRY_PICK: &str = "\
Authors and messages stay. With a conflict nothing changes and the code is 1. Commits that hold what you had \
not committed at the fork are refused, unless --with-uncommitted is given.

Examples:
  tine cherry-pick 3c4d                   all that it has made
  tine cherry-pick 3c4d 89abcdef 01234567";

pub(crate) const PICK: &str = "\
The forks work at the same time, over one cached prefix, each in a worktree of its own. Then the check runs in each, \
and one table says who passes, how much was changed, and what it cost. The best is marked: of those that completed, \
changed something and pass, the one with the fewest changed lines, then the cheapest. Whoever is taken is applied to \
your checkout, as it was before its check. Without a terminal nobody is, unless --take says so. The work of all others \
stays in their worktrees. The code is 1 when no work is good and nothing was taken: then no work passed its check, or \
none changed anything.

Examples:
  tine pick 3c4d -d \"Make the tests of the parser pass\" -n 4 --check \\
      \"cargo test -p parser\"
  tine pick 3c4d -d \"Speed up the reader\" --check ./bench.sh --take best --json
  tine pick --among 1a2b 5e6f 7c8d --check \"make test\"";

pub(crate) const WORKTREE_LIST: &str = "\
Each worktree that is there is looked at: what differs from what it started with, and the commits made in it.

Examples:
  tine worktree list
  tine worktree list --all --json | jq -r \\
      '.worktrees[] | select(.files > 0) | .path'";

pub(crate) const WORKTREE_GC: &str = "\
Takes worktrees in which nothing has changed for that long and in which nobody runs, and what crashes have left. \
Before one goes, refs/tine/ID/end in its repository holds what it holds. The code is 1 when one could not be removed.

Examples:
  tine worktree gc --dry-run
  tine worktree gc --max-age 2d";

pub(crate) const WORKTREE_PURGE: &str = "\
Before a worktree is removed, refs below refs/tine/ID keep what it held. They stay until this command deletes them. Refs \
that hold no work, such as those of forks that were killed before they came to be, go without a question. Before work \
goes, it asks; without a terminal it needs --yes. The conversations stay. The code is 1 when a worktree was made again \
meanwhile, 42 when nobody agreed.

Examples:
  tine worktree purge --dry-run
  tine worktree purge --max-age 30d --yes
  tine worktree purge 3c4d --yes";

pub(crate) const WORKTREE_REPAIR: &str = "\
Git and tine know a worktree by the path of its repository. Run this in the repository, where it is now. Git's links, \
what `tine apply --undo` goes by, and the directories of agents that worked there are written anew, where the old ones \
lead nowhere. A copy takes nothing from the repository that it was made of.

Examples:
  mv ~/code/app ~/code/site && tine -C ~/code/site worktree repair";

pub(crate) const WORKTREE_PATH: &str = "\
Examples:
  cd \"$(tine worktree path 3c4d)\"
  git -C \"$(tine worktree path 3c4d)\" log --oneline";

pub(crate) const WORKTREE_RM: &str = "\
The conversation stays. What the worktree held is kept by refs/tine/ID/end in its repository; `tine worktree recover` makes the \
worktree again, and so does the agent's next run.

Examples:
  tine worktree rm 3c4d
  tine worktree list --json | jq -r \\
      '.worktrees[] | select(.files == 0) | .agent' | xargs tine worktree rm";

pub(crate) const WORKTREE_RECOVER: &str = "\
Prints the directory. Commits, what was staged, other changes and new files are as they were when the worktree was \
removed. Of one in which nothing had changed nothing is kept: it begins as its checkout stands now.

Examples:
  tine worktree recover 3c4d
  cd \"$(tine worktree recover 3c4d)\"";

pub(crate) const PERMISSION_LIST: &str = "\
Examples:
  tine permission list
  tine permission list --all --tree 1a2b
  tine permission list --json | jq -r '.[].id'";

pub(crate) const PERMISSION_ALLOW: &str = "\
The list says what the rule of each request is, which wider one is offered, and how far a yes may reach. The first answer counts, wherever it is \
given. An answer is kept for an agent whose process has died: `tine run --resume AGENT` goes on with it.

Examples:
  tine permission allow 1a2b
  tine permission allow 1a2b 3c4d --scope tree
  tine permission allow 1a2b --scope tree --rule 'Bash(cargo test *)'
  tine permission allow 1a2b --scope always";

pub(crate) const PERMISSION_DENY: &str = "\
Examples:
  tine permission deny 1a2b --reason \"Use make instead.\"
  tine permission deny 1a2b --scope tree";

pub(crate) const PERMISSION_REVOKE: &str = "\
A rule that `--scope always` wrote stays in config.toml until you take it out there.

Examples:
  tine permission rules
  tine permission revoke 1a2b";

pub(crate) const PERMISSION_RULES: &str = "\
Deny beats ask, and ask beats allow, wherever they are written. A project's file may hold deny and ask rules only.

Examples:
  tine permission rules
  tine permission rules --json | jq -r \\
      '.rules[] | select(.list == \"allow\") | .rule'";

pub(crate) const PERMISSION_WHY: &str = "\
It looks at the command as a run in this directory would, and runs nothing. The exit code is 56 where it would be asked about or denied.

Examples:
  tine permission why 'cd x && git push'
  tine permission why --json 'cargo test | tail' | jq -r .verdict";

pub(crate) const HIDE: &str = "\
Nothing is deleted: `tine show` finds a hidden agent by its id, its forks keep what they inherited, and what it cost \
still counts.

Examples:
  tine hide
  tine hide 3c4d";

pub(crate) const REMOVE: &str = "\
Nobody brings a removed conversation back. What forks have inherited stays with them, and reports stay in the conversations that \
received them. Worktrees go with all that was kept of them. The store's file is written anew, so that no word of it is left there; \
git frees its own files at its next `git gc`. Agents that run are refused: `tine stop` them first.

Examples:
  tine rm 3c4d --dry-run
  tine rm 3c4d --tree
  tine rm --older-than 90d --yes";

pub(crate) const TRUST: &str = "\
Examples:
  tine trust                     # shows what this directory brings along, and asks
  tine trust --yes               # trusts it as it is now
  tine trust --list --json
  tine trust --revoke ~/old
  tine --trust run \"Fix it\"     # for one run in CI: nothing is kept

A checkout's .tine folder counts only after a person has trusted it. A change is shown as a difference \
and asked about again. Commands that agents run neither give trust nor take it back.";

pub(crate) const RENAME: &str = "\
Examples:
  tine rename 1a2b plan-b
  tine rename plan-b";

pub(crate) const IMPORT: &str = "\
The file holds messages of any provider's format, or is what another tool keeps of its sessions: a transcript of \
Claude Code, a rollout of Codex, an export of OpenCode. A system prompt in it takes the place of tine's own. `claude:last`, `codex:last` \
and `opencode:last` are the newest session of the directory, also one that goes on.

Examples:
  tine import claude:last --name base
  tine import ~/.claude/projects/-home-me-app/0b5c….jsonl --name \\
      from-claude-code
  tine import ~/.codex/sessions/2026/01/02/rollout-….jsonl --model \\
      openai/gpt-5.6
  opencode export ses_1234 > s.json && tine import s.json --json
  tine import conversation.json --name from-elsewhere
  tine export 1a2b | tine import - --model sim/echo --json";

pub(crate) const AWAY: &str = "\
The same stands before your first prompt when you were away for longer than `away.after`. It costs nothing, and no agent reads it. With \
`away.model`, or while the provider's cache still has the conversation, a model writes a summary besides, while your \
prompt is answered: in a hidden fork that only reads (`tine ps --all`), and of which the agent does not know.

Examples:
  tine away                 # of the agent that was last used in this directory
  tine away 1a2b --json";

pub(crate) const MCP: &str = "\
Tools: fork, fan, task_start, task_output, task_list, task_send, task_cancel, pick, apply, merge_back, tree, show, cost, import. Each call \
is a command of tine in this directory, with its settings, rules and limits. What needs permission is asked by a form of the host; where \
it has none, or nobody answers, the question waits for `tine permission` in another terminal. Work that takes long becomes a task where \
the host knows tasks, else it is answered after 90 seconds with where to look; it goes on, and outlives the connection. Agents and \
reports are resources.
`codex exec` calls these tools only where `[mcp_servers.tine]` of its config.toml says `default_tools_approval_mode = \"approve\"`.

Examples:
  tine mcp install claude-code
  claude mcp add tine -- tine mcp         the same, by Claude Code itself and
                                          for this project only";

pub(crate) const MCP_INSTALL: &str = "\
Shows the lines that change, and changes them: in ~/.claude.json (or in CLAUDE_CONFIG_DIR), in ~/.codex/config.toml (CODEX_HOME), or \
in opencode.json or opencode.jsonc of ~/.config/opencode (XDG_CONFIG_HOME). Another entry `tine` there is replaced as a whole. The \
host starts `tine` where PATH leads to this program, and else its full path.

Examples:
  tine mcp install claude-code --dry-run
  tine mcp install codex
  tine mcp install opencode --json | jq -r .file";

pub(crate) const MCP_REMOVE: &str = "\
The file is then what it was before `tine mcp install`, to the byte; one that tine made goes. What others changed since stays.

Examples:
  tine mcp remove claude-code
  tine mcp remove codex --dry-run";

pub(crate) const WITH: &str = "\
Terminal, signals, directory and exit code are the program's own, and no file of it is touched: for this start alone, its base URL is an \
address on this machine, from which everything goes on to its provider unchanged to the byte, and back as it comes. The provider is the \
one that ANTHROPIC_BASE_URL or OPENAI_BASE_URL names, else the vendor. Keys are passed on, and written nowhere.

Each conversation is written down beside that, as an agent of the kind guest: `tine ps`, `tree`, `show`, `logs`, `cost`, `export` and \
`cache explain` read it. What cannot be recorded passes all the same, and is said once, at the end.

Examples:
  tine with claude
  tine with codex exec \"Explain this repository\"
  tine with --base-url-env LLM_URL --format openai my-agent --fast
  tine cost --today";

pub(crate) const GATEWAY_SERVE: &str = "\
Prints its addresses as JSON. They hold a random word, so that only who is given one can use it. Ends with Ctrl+C. Conversations are \
written down as with `tine with`.

Examples:
  tine gateway serve --port 4141
  tine gateway serve | jq -r .anthropic";

pub(crate) const GATEWAY_HOOK: &str = "\
A host runs it before each prompt, with its own JSON on standard input. It prints the reports of forks and the messages of `tine send` that \
wait for that conversation, each once, and nothing where none does. Whatever fails is one line on stderr: the code is 0, and the prompt \
goes on. A report that is too long for a prompt is cut, and says where the rest is; what is too much for one waits for the next.

Examples:
  tine gateway install claude-code   # then Claude Code runs it
  tine send 1a2b \"The tests pass.\"  # a guest; read at its next prompt";

pub(crate) const GATEWAY_INSTALL: &str = "\
Shows the lines that change, asks, and changes them: in ~/.claude/settings.json (or in CLAUDE_CONFIG_DIR), or in ~/.codex/hooks.json \
(CODEX_HOME). All else in the file stays as it is. Claude Code runs hooks of your own settings without asking. Codex skips this one until you \
trust it with `/hooks`, and warns at its start where its config.toml has hooks, too; it runs them all. The host runs `tine` where PATH leads to this program, and else its full path.

Examples:
  tine gateway install claude-code
  tine gateway install codex --dry-run
  tine gateway install codex --yes --json | jq -r .file";

pub(crate) const GATEWAY_REMOVE: &str = "\
The file is then what it was before `tine gateway install`, to the byte; one that tine made goes. What others changed since stays.

Examples:
  tine gateway remove claude-code
  tine gateway remove codex --yes";

pub(crate) const DREAM: &str = "\
Off unless `[dream] enabled = true` stands in your config.toml: then a run begins by itself, in the background, when enough was \
said since the last one. A hidden run reads the sessions of the project and writes notes, and nothing else. New agents of the \
project read the index of the notes in their first message.

Examples:
  tine dream status             # where the notes are, and what stands in the way of a run
  tine dream --force            # run now
  tine dream log                # what each run changed, was refused and cost
  tine dream undo 1a2b          # take one back";

pub(crate) const DREAM_STATUS: &str = "\
Examples:
  tine dream status
  tine dream status --json | jq '.gates[] | select(.open | not)'";

pub(crate) const DREAM_LOG: &str = "\
Examples:
  tine dream log
  tine dream log --json | jq '.[0].refused'   # what the last run was refused";

pub(crate) const DREAM_UNDO: &str = "\
The change is taken back in a commit of its own. Where later runs have changed the same notes, nothing happens: take \
those back first.

Examples:
  tine dream undo 1a2b   # a run of `tine dream log`";

pub(crate) const TICK: &str = "\
Consolidates the notes of each project whose gates are open (see `tine dream --help`), one after the other, by your own \
settings. Where nothing is due it does nothing, at once.

Examples:
  */10 * * * * tine tick 2>/dev/null                  # a line for crontab -e
  systemd-run --user --on-calendar='*:0/10' tine tick  # the same as a timer";

pub(crate) const DIGEST: &str = "\
For plugins and scripts that give a conversation to an agent of another model or program: its messages are the better inheritance \
where they can be had. The result is one JSON object: `text`, which says itself what it lacks, and `stats`. Arguments of calls \
are cut at 200 characters, results at 1,500, and the oldest messages go above 100,000 tokens (4 bytes each); reasoning and files are \
left out. After a compaction it begins with the summary. What cannot be read is an error with code 42.

Examples:
  curl -s localhost:4096/session/ses_1234/message | tine digest --format \\
      opencode | jq -r .text
  opencode export ses_1234 > s.json && tine digest --format opencode s.json | jq .stats";

pub(crate) const EXPORT: &str = "\
Keys and passwords are replaced by [redacted: kind]; --raw leaves them in.

Examples:
  tine export 1a2b --format markdown -o conversation.md
  tine export 1a2b --format claude-code --raw -o session.jsonl
  tine export 1a2b > conversation.json
  tine export 1a2b -o conversation.json
  tine export 1a2b --raw | tine import - --name copy";

pub(crate) const COST: &str = "\
Examples:
  tine cost
  tine cost 1a2b --json | jq .total.cost_usd";

pub(crate) const BUDGET: &str = "\
A budget belongs to a whole tree, whichever of its agents is named, and counts all that the tree has ever used. At a \
cap, no further request is sent; those under way are finished. Raise the cap, and runs that wait there go on.

Examples:
  tine budget 1a2b
  tine budget 1a2b --usd 5 --agents 20
  tine budget 1a2b --tokens none
  tine fan 1a2b -d A -d B --tree-tokens 500000 --tree-running 4";

pub(crate) const GUARD_SHELL: &str = "\
Runs nothing. Without --wide the verdict is the strict one: it holds where nothing else stops a command, for maintenance \
runs and on systems without a wall. With --wide it is the one that holds only behind the read-only wall, where a mistake costs \
a failed command. It also judges loops, conditions, substitutions, xargs, find -exec, git -C and awk.

Examples:
  tine guard shell 'git log --oneline | head -20'
  tine guard shell --json 'find . -delete'
  tine guard shell --wide 'for f in *.md; do wc -l \"$f\"; done'
  echo '{\"cmd\": \"ls\"}' | tine guard shell --jsonl";

pub(crate) const SIM_SERVE: &str = "\
Examples:
  tine sim serve
  tine sim serve --scenario ./case.toml --port 8080 --log-bodies ./bodies
  export ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any";

pub(crate) const GUARD_FILTER: &str = "\
Runs nothing. The code is 0 when the call is allowed and 56 when it is not; with --jsonl it is 0. The orders of \
--jsonl are {\"op\":\"new\",\"memory_dir\":DIR}, {\"op\":\"check\",\"tool\":TOOL,\"args\":{...}} and \
{\"op\":\"check_raw\",\"tool\":TOOL,\"args_raw\":TEXT}.

Examples:
  tine guard filter --memory-dir ~/memory FileWrite '{\"file_path\":\"/etc/hosts\"}'
  tine guard filter --jsonl < orders.jsonl";

pub(crate) const EVAL: &str = "\
The code is 0 when every run passed and 1 when one did not. Each run works in a throw-away copy of the case's files.

Examples:
  tine eval evals/stray.toml --model sim/evals/stray-astray.toml
  tine eval evals/dream.toml --model sim/evals/dream-well.toml
  tine eval suite.toml --model anthropic/claude-opus-5-5 -n 5 --junit report.xml
  tine eval suite.toml --record tape.jsonl
  tine eval suite.toml --replay tape.jsonl";

pub(crate) const DEMO: &str = "\
Examples:
  tine demo
  tine -C ~/project demo --json
  tine demo --worktrees
  tine -C ~/project demo --worktrees --keep";

pub(crate) const DOCTOR: &str = "\
Asks no provider anything. The code is 1 when a check fails; a warning is no failure.

Examples:
  tine doctor
  tine doctor --json | jq '.checks[] | select(.status != \"ok\")'";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  tine completions bash > ~/.local/share/bash-completion/completions/tine
  tine completions zsh > ~/.zfunc/_tine
  tine completions fish > ~/.config/fish/completions/tine.fish";

pub(crate) const MAN: &str = "\
Examples:
  tine man | man -l -
  tine man > ~/.local/share/man/man1/tine.1";

pub(crate) const LOGIN: &str = "\
The key is typed without being shown, or piped. It is stored in credentials.json beside the database, which only you can read, and no \
agent's command. A key in the environment comes before it.

Examples:
  tine login                     where each key is from
  tine login anthropic
  tine login openai --helper 'pass show openai'
  pass show gemini | tine login gemini";

pub(crate) const LOGOUT: &str = "\
Examples:
  tine logout anthropic";

pub(crate) const MODELS: &str = "\
Prices and cache rules are those that ship with tine, or your own models.toml. Servers on this machine are asked for their models.

Examples:
  tine models
  tine models --all --json | jq '.models[] | select(.price.input < 1) | .model'";
