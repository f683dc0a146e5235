//! The parts of the manual that no type of the command line holds.

use super::json::JSON;
use super::settings::{ENVIRONMENT, FILES, SETTINGS};
use super::trust::TRUST;
use super::worktrees::WORKTREES;

/// A part: its heading, a paragraph, and terms with their meanings.
pub(super) struct Section {
    pub(super) heading: &'static str,
    pub(super) text: &'static str,
    pub(super) terms: &'static [(&'static str, &'static str)],
}

/// In the order in which they are read.
pub(super) const SECTIONS: &[Section] = &[
    WORDS,
    MODELS,
    CACHE,
    PERMISSIONS,
    TRUST,
    QUESTIONS,
    BUDGETS,
    SECRETS,
    CONVERSATIONS,
    CONFINEMENT,
    WORKERS,
    AGENTS,
    INHERITED,
    WORKTREES,
    BROUGHT_BACK,
    STOPS,
    EVALUATIONS,
    SETTINGS,
    ENVIRONMENT,
    FILES,
    JSON,
];

const WORDS: Section = Section {
    heading: "WORDS",
    text: "Wherever an AGENT is asked for, give its name or at least the first four characters of its id. A word that could mean two agents does nothing: it exits with 42 and lists them. A new name is one word that cannot be read as the beginning of an id: `cafe` and `2026` are refused.",
    terms: &[
        ("agent", "one conversation, with its place in the tree and its state"),
        (
            "entry",
            "one line of an agent's log: a message or an event; entries are numbered over the whole store",
        ),
        ("fork point", "the last entry that a fork inherits"),
        ("peer", "a fork that you made: it is what its parent is"),
        (
            "worker",
            "an agent with a task, which reports to the agent that it was started for; a fork of that agent, or fresh",
        ),
        (
            "task",
            "what a worker is to do and what became of it; it goes by the worker's name and id",
        ),
        (
            "idle, running, interrupted, dead",
            "what an agent does: waits for a prompt; is run by a process; was cut off, and can be resumed; was killed",
        ),
        (
            "queued, running, completed, failed, cancelled, timed_out, interrupted, lost",
            "what became of a worker's task; lists show it in place of the state once the worker is idle. lost: its process died before it began",
        ),
    ],
};

const MODELS: Section = Section {
    heading: "MODELS",
    text: "A model is written provider/name. Without one in the settings, the first provider with a key has a default.",
    terms: &[
        ("anthropic/NAME", "Anthropic, or whatever speaks its format at ANTHROPIC_BASE_URL"),
        ("openai/NAME", "OpenAI, through Responses"),
        ("openai-chat/NAME", "OpenAI, through Chat Completions"),
        ("gemini/NAME", "Google's Gemini API"),
        ("deepseek/NAME", "DeepSeek"),
        ("minimax/NAME", "MiniMax"),
        (
            "openai-compat/NAME",
            "any server that speaks OpenAI's chat format, such as Ollama, llama-server, vLLM or SGLang; one on this machine or a private network is asked which it is, and a fan goes by its cache: in turn where slots share nothing, one first where all share blocks",
        ),
        (
            "sim/SCENARIO",
            "the simulator inside the process: a built-in scenario (sim/echo) or a TOML file (sim/./case.toml); it needs no key and is no model",
        ),
        (
            "sim/SCENARIO@PROVIDER",
            "the simulator in another provider's format and by its cache rules, such as sim/echo@gemini",
        ),
    ],
};

const PERMISSIONS: Section = Section {
    heading: "PERMISSIONS",
    text: "Reading in the working directory is free, also by shell commands of which it is certain that they only read (`tine guard shell` says which, and why not). What changes something is asked for. A rule is Tool or Tool(pattern), for instance Bash(git log *), with or without arguments, or FileEdit(src/**). A pattern for a folder does not allow to write files in it that start programs later; such a file needs a rule that names it. Rules come from your config.toml, from the project's, and from --allow and --deny; wherever they are written, deny beats ask and ask beats allow. A project's file may hold deny and ask rules only, so it can never widen what yours forbids; one that tries is refused with an error. `tine permission rules` lists what is in force, with file and line. The modes, for what no rule speaks of:",
    terms: &[
        ("default", "ask before anything changes"),
        (
            "accept-edits",
            "edits in the working directory need no question, but for files that start programs later (.vscode, package.json, hooks, bin) or tell agents what to do (AGENTS.md), and for tine's own files, which no rule opens either; also acceptEdits",
        ),
        ("read-only", "nothing may change, and nothing is asked"),
        ("bypass", "everything may happen that no rule denies"),
    ],
};

const QUESTIONS: Section = Section {
    heading: "QUESTIONS",
    text: "A question of an agent, however deep in its tree, is written into the database before anybody is asked. The run's terminal puts it; `tine permission` shows and answers it from anywhere else; the first answer counts. At its deadline the default counts; the deadline measures how long the asking run has waited, so a clock that is set or a machine that sleeps ends no question. A run without a terminal takes the default at once, or with --wait-for-permission waits for an answer from elsewhere. A question outlives its process: an answer that comes meanwhile is used by `tine run --resume`, once, and otherwise the same question is put again. In the terminal a question is a panel with a marked choice: arrows or a digit mark another, Enter on an empty line confirms, and a yes beyond once needs a second Enter that names the rule. Letters go to the line, and while it has text no choice is marked. A line `y`, `yes`, `n` or `no` answers once. Other words go to the agent on the line; if that agent asks, they deny its call, and its model is told them. To answer another agent with words, go to its question first, with Ctrl+P or an arrow. Equal questions of siblings are one, with a choice for all of them. A question of a run that died, or of another tree in another directory, is a number in the status line until you go to it with Ctrl+P. Keys count once the question could be read for half a second, which the panel shows; a line from before is sent as a prompt, but an answer (`y`, `n` or a digit) only marks its choice. Ctrl+O, or `/answer show`, opens all of a question: a change with the numbers of its lines and what stands around it. `tine run` at a terminal asks with the same choices: `y`, `n`, a number, `v` for all of it, or words, which deny and are told to the model. How far an answer reaches:",
    terms: &[
        ("once", "this one call"),
        (
            "agent",
            "what the question's rule covers (a command's own text, one path), whenever this agent asks; forks do not inherit it",
        ),
        ("tree", "the same, from every agent of the tree"),
        (
            "always",
            "the same, and the rule is written into permissions.allow or permissions.deny of your config.toml, whose comments and order stay",
        ),
        (
            "a wider rule",
            "offered beside the question's own: a known command with any arguments (`Bash(cargo test *)`; none that takes another program's name, and none with shell operators), or a folder of the working directory (`FileEdit(src/**)`, written from the root, since it counts for this project alone; secrets and files that start programs are asked about still)",
        ),
        (
            "no rule",
            "a call that no rule can name exactly (a command with * or a line end, an unknown tool) can be answered up to tree, for the same arguments; one through a symbolic link only once",
        ),
        (
            "what beats what",
            "a deny rule beats every answer that stands; a no beats a yes; `tine permission revoke` takes an answer back",
        ),
    ],
};

const BUDGETS: Section = Section {
    heading: "BUDGETS",
    text: "A budget belongs to a whole tree of agents: the one without a parent and all its forks. It counts everything that the tree has ever used, also before the budget was set, and is checked before each request, whichever process sends it. What a request may use is reserved until it is recorded; when the rest is reserved, others wait until it is known. A request under way is always finished, so that spending passes a cap by less than one request, as long as no request uses more than was reserved (its prompt, by its length, and the longest reply). At a cap a run on a terminal waits until `tine budget` raises it, in this terminal or another one; elsewhere it ends with 55, or waits with --wait-for-budget. A question that waits for permission is answered as usual. The caps:",
    terms: &[
        (
            "tokens",
            "prompts and output of all requests; one whose usage the provider did not report counts by its length",
        ),
        (
            "usd",
            "what they cost, by the prices of `tine cost`; requests without a known price are not counted, and `tine budget` says how many they are",
        ),
        ("time", "from when a time was first set; taking it away and setting it again starts anew"),
        ("agents", "workers that were ever made; a fan that would make more is refused as a whole"),
        (
            "running",
            "workers that run at the same time; the others are queued, in the order in which they were made",
        ),
    ],
};

const SECRETS: Section = Section {
    heading: "SECRETS",
    text: "What `tine show`, `tine logs` and `tine export` print is free of keys and passwords that can be told by their shape or by their name: each one is replaced by [redacted: kind], and --raw leaves them in. The database keeps every byte as it came, because that is what providers are sent; so does the backup you make of it. A conversation that was exported without --raw can be imported like any other; signatures and encoded data in it stay.",
    terms: &[
        (
            "by shape",
            "keys of Anthropic, OpenAI and DeepSeek (sk-), Google, AWS, GitHub, GitLab, Slack, Stripe, npm, PyPI, Hugging Face and others; JWTs; private key blocks; passwords in addresses (user:password@)",
        ),
        (
            "by name",
            "NAME_API_KEY=value, \"password\": \"value\", --token=value, Authorization headers; what only refers to a secret ($NAME) stays",
        ),
        ("never", "hashes, ids, images, and whatever else is only random"),
    ],
};

const CONVERSATIONS: Section = Section {
    heading: "CONVERSATIONS OF OTHER TOOLS",
    text: "`tine import` makes an agent of what another tool keeps of a session, and says what it took, what it left out and what it wrote anew. Such an agent can be run, forked and fanned like any other. What a file holds in a provider's own shape is kept word for word, signed reasoning too, and is sent to that provider as it came; to another provider go the texts, the calls and the results, and the rest is counted as left out. Records of kinds that tine does not know are left out and counted. A damaged line, as a crash leaves it, is named and left out; a message that cannot be read is an error that names its line. Without `--model` and without a model of yours, the file's own is used; no key is needed until the agent runs. \
\
An import says whether its first fork finds anything in the cache: behind tine's system prompt and tools it does not. Sessions of Claude Code (2.1.330 and later) record their requests; `--as-sent` rebuilds the last one, checks it against its recorded hash, and goes on from it in its own bytes, with its system prompt, its tools and its settings. Within five minutes of it (an hour, where it asks for that) a fork may read all of it from the cache. Its tools are then Claude Code's: of those, tine answers Agent, Bash, Read, Write and Edit, and calls of the others with an error.",
    terms: &[
        (
            "claude-code",
            "the way from the last message up to the root or to the last compaction, with its summary and the messages that it kept; branches that were left behind, subagents and what only the user saw are not taken. Blocks that stand in records of their own become one message again",
        ),
        (
            "codex",
            "the items as compactions and rollbacks left them. Calls of custom tools and of the local shell become function calls. Sealed reasoning can be opened by the account that it was made for alone; where a compaction sealed the earlier part, only a model of OpenAI's can go on in full",
        ),
        (
            "opencode",
            "each step is an answer, with the results of its calls behind it, from the last summary on. Reasoning is kept where Anthropic signed it; what was taken back is not taken",
        ),
        (
            "--context",
            "full takes the messages as they are, and is refused with the reason where the file cannot be replayed; digest makes one text of them. Left out, full where that is possible, else digest, and the import says why",
        ),
        (
            "tine export",
            "--format claude-code and codex write files that both tine and those tools read. They hold what would be sent: open calls are closed, and reasoning and images of another provider, the system prompt, forks and marks are not in them. --format markdown is for people; it cannot be imported",
        ),
    ],
};

const CONFINEMENT: Section = Section {
    heading: "CONFINEMENT",
    text: "A permission is a judgement and may err; a wall holds whatever was allowed. The kernel keeps it, for the commands of Bash and all that they start: a mount namespace in which all is read-only but what may be written, behind it Landlock and a filter over system calls. Where no namespaces can be made, those two are the wall. Where there is no Landlock either, commands of confined runs are refused unless you accept that once (confine.missing). A command that runs unasked because it only reads runs behind a read-only wall, also where the run has none; where no such wall can stand, the simplest reads run without one, and the others are asked about. `tine doctor` says what this kernel can keep. What an agent may touch is stored with it: whoever runs it again, in whatever way, runs it so, and its forks and workers touch no more (`tine show` names it). After a confined run the directories around it and the top of your home are compared with what they were; changes are reported, whoever made them.",
    terms: &[
        (
            "--confine directory",
            "commands write in the agent's directory and in a temporary one ($TMPDIR), read everything but key stores, reach no network and no service of the machine (a loopback device, terminals, and socket files where they may write they have for themselves; socket files of other processes are covered), neither see into nor end other processes, and end with their call. This is how workers run. Files that start programs later (.git/config, .git/hooks, what git's settings name, .vscode, .tine, CI's settings) stay as they are where they exist, and /tmp is private; new ones are named with the command's result. Commits and tags are not signed there; an identity in GIT_AUTHOR_NAME and its like goes along, as do files of certificates (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS); caches of package managers are the command's own (npm, pnpm, Yarn, pip, uv, Composer, Gradle, and with a network Cargo, Go and Maven, of which Cargo, Gradle and Maven 3.9 find in yours what is there already). In git repositories that a command makes, settings and hooks by which git could run a program are renamed when it has ended; until then your own `git status` in the same directory may run what they name, so give workers that you do not trust a worktree. Where there is more than is looked through for secrets and settings, the run and `tine doctor` say so. Without mount namespaces those files, and modes, owners and times of your other files, are not protected; the comparison reports them",
        ),
        (
            "--confine read-only",
            "commands write nothing but temporary files and change no modes; they read programs and the agent's directory, without its secrets; the permission mode is read-only unless another is given",
        ),
        (
            "--network HOST[:PORT],…",
            "commands reach these hosts and no others: crates.io:443, all names below one (*.npmjs.org), an address, a port of this machine (localhost:5432). Without a port 80 and 443 count. internet, or --network alone, is every public address at those ports. May be repeated; what is typed takes the place of what was. A host that is named itself is reached in a private network, too; one of a set (internet, *.npmjs.org), or one written `public mirror.example.com`, only at a public address. This machine, link-local addresses and the metadata services of clouds are reached only where the address itself or localhost is named, also when a name leads there",
        ),
        (
            "how commands find it",
            "a command has a network of its own, which is empty but for its loopback. There tine answers as a proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY: curl, git, cargo, npm, pip and others use them), and at each named port of localhost. Programs that know no proxy reach those ports alone; servers that a command starts on its own loopback work. UDP goes no further than that, so no names are resolved but by the proxy. Where your environment names a proxy (HTTPS_PROXY and its like), tine reaches hosts by it: those that were named by their names, others at addresses that it has checked; commands see nothing of it. What was refused stands behind the output. A host that is reached can be sent anything that the command can read. Where no namespaces can be made, runs with a network are refused",
        ),
        (
            "variables",
            "a confined command gets these of yours and no others: PATH, HOME, USER, LOGNAME, SHELL, HOSTNAME, LANG, LANGUAGE, LC_*, TZ, COLUMNS, LINES, NO_COLOR, CI; where toolchains are (CARGO_HOME, RUSTUP_HOME, RUSTUP_TOOLCHAIN, GOROOT, GOPATH, GOTOOLCHAIN, JAVA_HOME, MAVEN_HOME, GRADLE_HOME, NVM_DIR, NVM_BIN, VOLTA_HOME, PYENV_ROOT, VIRTUAL_ENV, CONDA_PREFIX, RBENV_ROOT, SDKMAN_DIR, ASDF_DIR, NIX_PATH, XDG_CONFIG_HOME, XDG_DATA_HOME); who commits (GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL); certificates (SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, GIT_SSL_CAINFO); and those that confine.variables names. The rule: what tells where programs are, what language somebody speaks and whom to trust passes; what may hold a key (DATABASE_URL), reaches a service of your session or makes a program run another one does not. A command that asks for another one that you have set is told once that it does not get it",
        ),
        (
            "reads",
            "a read behind the read-only wall finds your settings of git, without keys and programs (filters, credential helpers, diff tools). Programs that show the machine (ps, ss, lsof, df, mount, ip and their kin) would see only the command's own part of it, so that they are asked about; a worker's result says what they saw",
        ),
        ("--confine off", "no wall"),
        (
            "limits",
            "a confined command is stopped where its processes together pass a limit of processor time, of memory or of their number, which the result names; tine counts ten times a second, so that it may pass one for that long. The kernel limits each process alone (files, descriptors, memory)",
        ),
        (
            "file tools",
            "in a confined run FileRead, Grep and Glob open no key stores, no secrets and none of tine's files, and FileWrite and FileEdit write none of the files that start programs later: .git, .tine, .mcp.json, settings of editors, shells, agents and CI. Files that only a build reads, such as a Makefile, are written",
        ),
        (
            "stored",
            "an option that you type is stored with the agent; those of `tine` alone are for its new agents, for the one that --continue or --resume names, and for workers that start there. One that narrows says nothing; one that widens says so in a line. Settings, a resumed run and a command that an agent runs never widen: for an agent that exists, confine.network and confine.writable count again when you type --confine. Agents of older versions are open; older workers, and forks of them, have their directory",
        ),
    ],
};

const WORKERS: Section = Section {
    heading: "WORKERS",
    text: "Workers are started by a person (`tine fan`, `tine task start`) or by an agent's model, with the tools below. A worker takes one task, reports, and is told apart by the registry, never by its words: whether it may start workers itself is decided when it calls, by how deep it stands (workers.depth). Its end, of whatever kind, and the notice of it are one transaction; the notice, a <task-notification>, reaches the agent that it was started for at that agent's next turn, once, together with all others that wait. A run whose model is done waits for the workers that it has started, and goes on with what they report. `tine task` does for a person what the tools do for a model; the rules of what models may start do not bind a person. In the terminal `/fan` and `/task` take the options of the command line, without the agent: it is the one on the screen, and before there is one it is made. Such workers run in the terminal, their questions come there, and the agent goes on with their reports (workers.wake). What runs when a process ends is interrupted, in every list; /resume takes up an agent with its workers, and `tine task resume` one worker.",
    terms: &[
        (
            "Agent",
            "starts a worker: from the conversation (subagent_type fork, or as much of it as context says), as a defined agent, with another model, or fresh; several in one turn share one prefix",
        ),
        (
            "TaskStart, TaskList, TaskOutput, TaskSend, TaskCancel, TaskClear, TaskWait",
            "start or resume a task, list tasks, see what a worker has done so far, tell it something now or when it is done, stop it, empty the list, wait for reports",
        ),
        (
            "in the background",
            "while models may fork (fork.mode), all workers of a model run in the background. A worker of `tine task start` has a process and a session of its own and outlives the terminal; what it has to say is in the log that --json names, the last 200 of which are kept",
        ),
        (
            "permissions",
            "a worker may never do more than the run that starts it. Its questions land in the queue of the tree's root; in the background they are refused unless --wait-for-permission or permissions.wait lets them wait",
        ),
        (
            "resumed",
            "a task that has ended in whatever way goes on with what its worker knows. One that still runs is told when it has reported, one thing at a time",
        ),
        (
            "flags",
            "what looks wrong about the end of a task; lists say `look at it` and the words. no_work: nothing was done. denied: no call was allowed; such a task has failed. echo: it repeats what it had inherited. missing_scope: the report does not say what the task was understood to be. foreign_task: it did somebody else's task. loop: it made the same calls again and again, or handed the task on. claims: the report names changes that are not there, or does not name those that are. too_long: the report has too many words",
        ),
    ],
};

const AGENTS: Section = Section {
    heading: "DEFINED AGENTS",
    text: "An agent that can be started by name is a Markdown file: .tine/agents/NAME.md in the nearest directory above that has such a folder and that you trust (see TRUST), or agents/NAME.md beside your config.toml; yours keep their names. It begins with a head between two lines `---`; the text below is its system prompt. It starts fresh, or with as much of a conversation as --context (or the tools' context) says. With a full context the worker keeps its parent's system prompt, declared tools and model, so that the cache serves them: this agent's tools narrow what it may call, and this agent's prompt stands before the task. Fields of the head that are not named here mean nothing to tine.",
    terms: &[
        ("name", "what it is started by; without it the file's name. `fork` is taken"),
        ("description", "what it is for, in a line that models choose by"),
        (
            "tools, disallowedTools",
            "the tools that it has (all without the list), and those that it has not; lists, or names with commas between them",
        ),
        ("model", "its model, or inherit"),
        (
            "permissionMode",
            "default, accept-edits, read-only or bypass; never more than whoever starts it may",
        ),
        ("maxTurns", "most turns"),
    ],
};

const INHERITED: Section = Section {
    heading: "WHAT A FORK INHERITS",
    text: "A fork starts from what its parent's model has seen, byte for byte, so that the provider's cache serves it.",
    terms: &[
        (
            "the same",
            "the system prompt, the tools' declarations, the model and its settings, every message up to the fork point with its thinking and signatures, calls and results, and, without --worktree, the working directory",
        ),
        (
            "changed",
            "calls of the parent that are still open at the fork point have one and the same placeholder for a result",
        ),
        (
            "added",
            "a worker's rules, what of the parent's agenda travels (workers.inherit; nothing by default), and its task, at the end",
        ),
        (
            "not inherited",
            "unread mail, answers to questions that were given to one agent only, running commands, the parent's workers, its name",
        ),
    ],
};

const BROUGHT_BACK: Section = Section {
    heading: "CONCLUSIONS OF A FORK",
    text: "`tine merge-back` brings what came of a fork to the tail of its parent, or of another ancestor. Any fork will do: a peer, a worker, one that is dead; a running one is refused. The fork's own model drafts a summary of what was said since the fork, in a request that goes on from the fork's own prefix, so that the cache serves it; it counts to the budget, and the fork's log stays as it is. The text can be edited, and is appended in an envelope <merge-back>, which names the fork, the fork point, the entries that it stands for, and whose words it is in. The parent's bytes up to there stay the same, so that its cache does, too.",
    terms: &[
        (
            "--edit, --no-edit",
            "on a terminal $VISUAL, else $EDITOR, opens with the draft, unless the text is given; an empty text brings nothing back (130). Without a terminal the draft is appended as it is",
        ),
        ("--text, --file", "words of your own; no model is asked"),
        (
            "an ancestor that runs",
            "or that waits for the results of calls gets the text through its mailbox at its next turn, once",
        ),
        (
            "a second time",
            "only what the ancestor has not been told yet counts, whichever fork has told it; where that is nothing, it is refused",
        ),
        (
            "the link",
            "`tine show PARENT --json` has it as merge_back at the text's block, also where a compaction has left the text out since",
        ),
    ],
};

const STOPS: Section = Section {
    heading: "STOPS",
    text: "Nothing that is stopped is lost: `tine run --resume` and `tine task resume` go on with it. Stops reach runs in other processes within a second; `tine stop` waits up to 10 s, prints who was stopped and what had been done by then, and names those that are still ending.",
    terms: &[
        (
            "tine stop --interrupt",
            "ends the turn of one agent; the workers that it has started go on",
        ),
        (
            "tine stop --soft, tine task cancel --soft",
            "the turn is finished, then the agent reports without further calls; all below it too, unless --only",
        ),
        (
            "tine stop, tine task cancel",
            "everything ends now, all below it too, unless --only: requests are cut off, commands end, open calls get an error for a result, questions are withdrawn, and no model is asked again",
        ),
        (
            "Ctrl-C",
            "the first stops a run and its workers and keeps what they have; the second ends the command",
        ),
        (
            "tine kill",
            "for good, with all forks below, in one transaction; the root of a tree only with --root. Afterwards `tine run --continue` goes on with the parent",
        ),
    ],
};

const CACHE: Section = Section {
    heading: "CACHE",
    text: "A fork inherits its parent's bytes, so that the provider's prompt cache serves them. `tine fork --estimate` and `tine fan --estimate` say beforehand what the cache should serve and what the rest will cost; `tine cache explain` says afterwards, request by request, what was expected, what was read, and why not more; `tine cost` adds it up by cause. The verdicts:",
    terms: &[
        ("ok", "everything that should have been read was"),
        ("cold", "nobody had written it yet"),
        ("expired", "the entry's life was over"),
        (
            "race",
            "an entry was there and not served: another request was still writing it, or the provider's routing led elsewhere",
        ),
        (
            "diverged, settings_changed",
            "the request's bytes differ from those that were cached; the first part that differs is named",
        ),
        ("below_minimum", "shorter than what the provider keeps"),
        (
            "marker_misplaced",
            "no mark of the request leads to the entry, or marks were lost on the way",
        ),
        ("unreliable", "an automatic cache did not serve what it was shown before"),
        ("unknown", "the provider did not say, or said what cannot be"),
    ],
};

const EVALUATIONS: Section = Section {
    heading: "EVALUATIONS",
    text: "A suite for `tine eval` is a TOML file of [[case]] tables. A case is forked from its messages as a parent would be, asked its prompt, and judged by what it did; each run works in a throw-away copy of its fixture and can touch nothing else. [defaults] holds keys for all cases. Nothing of the machine enters a request, so that a recorded run can be repeated anywhere; a tape holds requests and replies, keys and passwords taken out.",
    terms: &[
        ("name, prompt", "what the case is called, and what the fork is asked"),
        (
            "messages, system",
            "what it inherits: a list of { role, text, calls = [{ id, tool, input }], results = [{ call, text, is_error }] }, and the system prompt",
        ),
        (
            "model, max_turns, max_output_tokens, timeout, repeat",
            "who answers and how long; timeout is in seconds (120)",
        ),
        (
            "directive",
            "what stands around the prompt: plain, nothing (default); worker, a worker's rules; dream, the consolidation of the notes in memory, where the prompt is what was said in a session; away, a summary for a person who is back, where the prompt is what happened",
        ),
        (
            "tools, filter",
            "names of tools (all but Bash, whose commands need a kernel that can confine them); filter is all, read-only (default of away) or memory, which lets notes in memory be written, too (default of dream)",
        ),
        ("fixture", "a directory beside the suite"),
        (
            "stray",
            "no_work, echo, missing_scope, foreign_task, loop or too_long: the situation tempts the fork to go astray so. Who does not do what is expected has strayed; the run passes when the checks say what is true",
        ),
        (
            "expect.outcome",
            "completed (default), turn_limit, length_cut, refused, timed_out, failed, any",
        ),
        (
            "expect.report",
            "{ contains, absent, matches, has_scope }: texts, whatever their case, and regular expressions",
        ),
        (
            "expect.tool_calls",
            "{ must, must_not, min, max }: calls are Tool or Tool(text in its arguments)",
        ),
        ("expect.files", "{ \"path\" = text, list of texts, { contains, absent }, true or false }"),
        ("expect.max_cost_usd, max_tokens, max_turns", "limits of the whole run"),
        (
            "[[tool]]",
            "{ name, description, schema, answer }: a tool that does nothing and always answers the same, for cases that name it",
        ),
    ],
};
