//! The manual's sections about what a user sets: settings, variables and files.

use super::sections::Section;

pub(super) const SETTINGS: Section = Section {
    heading: "SETTINGS",
    text: "Read from the user's config.toml, then from .tine/config.toml of the project, then from the environment, then from the command line; the later wins. A project's file counts once you trust it, and can only narrow permissions; see TRUST. `tine doctor` shows every setting with its origin.",
    terms: &[
        ("model", "provider/name"),
        ("permission_mode", "default, accept-edits, read-only or bypass"),
        ("max_output_tokens", "most tokens of one reply (16384)"),
        (
            "effort",
            "low, medium, high, xhigh or max, with OpenAI also none and minimal, with Gemini minimal to high; left to the provider without it",
        ),
        ("thinking", "adaptive, or a number of tokens as text; left to the provider without it"),
        ("stream", "whether replies come piece by piece (true)"),
        (
            "repl",
            "whether new agents have the tool REPL: scripts that call the other tools, each call judged by itself (false); only in a build with the feature `repl`",
        ),
        (
            "compact",
            "auto: a conversation is made shorter between two turns when its last request took more than 75 % of its model's window, and when the model has found it too long; off: never by itself (auto)",
        ),
        ("permissions.allow, permissions.ask, permissions.deny", "lists of rules"),
        ("permissions.deadline", "how long a question waits, such as 90s, 30m, 1h or 2d (1h)"),
        ("permissions.default", "what counts when nobody answers: deny or allow (deny)"),
        (
            "permissions.wait",
            "whether a run without a terminal waits for `tine permission`, like --wait-for-permission (false)",
        ),
        (
            "fork.mode",
            "whether models fork: explicit (where they ask for it), implicit (also where they name no other agent), or off (explicit)",
        ),
        (
            "workers.depth",
            "how many workers of models may stand below each other; 0 turns them and their tools off (1)",
        ),
        (
            "workers.coordinator",
            "the workers of models all start fresh, since a coordinator's knowledge would lead each of them astray (false)",
        ),
        (
            "workers.wake",
            "whether a report makes an agent go on whose model is done; otherwise it is read at the next turn (true)",
        ),
        ("workers.turns", "most turns of a worker (200)"),
        (
            "workers.inherit",
            "what of a parent's agenda holds for its forks: a list of plans, todos and goals (none)",
        ),
        ("providers.NAME.base_url", "the address of a provider"),
        (
            "providers.NAME.key_variable",
            "the environment variable that holds its key; keys do not belong into this file",
        ),
        (
            "requests.patience",
            "how long tine altogether waits between the tries of a request that fails for a reason that passes: an overloaded or limited provider, an outage, a reply that breaks off (10m; 2m at a terminal); a wrong key, a bad request or an empty account is told at once; for the user's file only",
        ),
        ("requests.reply_time", "longest time of one reply (1h); for the user's file only"),
        (
            "cache.lifetime",
            "how long cache entries are asked to live: short, long, or auto by the pauses you make (auto)",
        ),
        ("cache.keep_warm", "keep a parent's entries alive while its workers run (false)"),
        ("cache.value_per_second", "what a second of waiting for a leader is worth, in USD (0.01)"),
        (
            "confine.workers",
            "whether the commands of workers are confined to their directory: on or off (on); see CONFINEMENT",
        ),
        (
            "confine.network",
            "hosts and ports that confined commands reach, such as [\"crates.io:443\", \"localhost:5432\"]; true for all public web servers (false); for the user's file only; see CONFINEMENT",
        ),
        (
            "confine.writable, confine.variables",
            "lists of directories that confined commands may write in besides their own, and of variables that they get besides the usual ones (see CONFINEMENT); for the user's file only",
        ),
        (
            "confine.command_cpu_seconds, confine.command_memory_mib, confine.command_processes",
            "what all processes of a confined command may use together: processor time (36000; 600 where nothing may be written), memory that each has for itself (three quarters of the machine's; 8192), processes and threads at a time (4096; 512). Whoever passes one is stopped; for the user's file only",
        ),
        (
            "confine.missing",
            "where the kernel cannot keep all of a wall: `warn` lets workers run and says what is not kept, `refuse` lets no worker run (warn). Where it has neither namespaces nor Landlock, `warn` lets workers run without commands; `accept`, for the user's file only, lets their commands run without a wall",
        ),
        (
            "trust.providers",
            "a list of providers whose models a trusted project may name, besides those that your settings name; for the user's file only",
        ),
        (
            "budget.tokens, budget.usd, budget.time, budget.agents, budget.running",
            "what new trees may use, see BUDGETS; of the user's file and the project's the lower value counts",
        ),
        (
            "keys.ACTION",
            "what keys do in the terminal: one key or a list, such as tree = [\"ctrl+t\", \"f3\"]; [] takes the key away. /help lists what keys do, and a wrong name is answered with all names; for the user's file only",
        ),
        (
            "terminal.mouse",
            "the terminal's screen has the mouse from the start: the wheel scrolls and a click opens (false). Without it the mouse selects text; F2 changes it; for the user's file only",
        ),
        (
            "terminal.notify",
            "how tine calls you while its terminal is not in front, for a question or at the end of a turn of more than 10 s: bell, osc9 (a notification, of terminals that know OSC 9) or off (bell); for the user's file only",
        ),
        (
            "away.enabled, away.after",
            "whether you are told before your first prompt what happened meanwhile (true), and after how long, from 0s to 30d (4h); for the user's file only",
        ),
        (
            "away.model",
            "the model that writes a summary of it besides, from a text of the conversation (none: one is written only while the provider's cache still has the conversation)",
        ),
        (
            "dream.enabled",
            "whether notes of projects are consolidated by themselves (false); the table is for the user's file only",
        ),
        (
            "dream.min_hours, dream.scan_minutes, dream.min_sessions",
            "the hours from one run that succeeded to the next (24), the minutes from one count of the sessions to the next (10), and the sessions that must have been used since (5)",
        ),
        (
            "dream.model",
            "the model of the run; without it that of the last session, whose cache then serves it while it lives",
        ),
        (
            "dream.sessions, dream.session_tokens, dream.order",
            "of how many sessions a run is told (20), how long the text of each is at most (4000 tokens), and which comes first: newest or oldest",
        ),
        (
            "dream.memory_dir",
            "an absolute path: one directory for the notes of all projects, instead of one for each",
        ),
        ("worktree.enabled", "whether there are worktrees (true)"),
        (
            "worktree.directory",
            "an absolute path below which all of them go ($XDG_DATA_HOME/tine/worktrees); never inside a repository",
        ),
        (
            "worktree.setup, worktree.setup_time",
            "a command that bash runs in each new worktree before its agent begins, such as `npm ci`, and how long it may take (10m). Where it fails, nothing is forked. What it runs stands in files that agents write, so it runs as the commands of workers do: behind their wall, without variables that hold keys, whatever the flags of one command say, and within the reach of the agent that the worktree is made for",
        ),
        (
            "worktree.setup_network",
            "hosts and ports that it reaches besides those of confine.network; true for all public web servers (false). For an agent that does not reach them itself, this counts in your own commands alone",
        ),
        (
            "worktree.ports, worktree.first_port",
            "how many ports each worktree gets for itself (none), and from which on (21000)",
        ),
        (
            "worktree.environment",
            "a table of variables for the setup command and for commands that agents run there; {origin}, {worktree}, {agent} and {port} in a value stand for what they say, so that builds can share a cache: CARGO_TARGET_DIR = \"{origin}/target\". The whole table [worktree] is for the user's file only, but for enabled = false and accept_edits = false",
        ),
        (
            "worktree.accept_edits",
            "whether agents edit files in worktrees of tine's own without a question where the permission mode is default (true); commands are asked about as everywhere, and so are files that start programs or steer agents",
        ),
        (
            "cache.confirm_above",
            "ask before a fork that is estimated to cost more than this, in USD; where nobody can be asked it is refused",
        ),
        (
            "cluster.url",
            "addresses of the NATS servers through which forks run on other machines, parted by commas, such as nats://host:4222 or tls://host:4222; for the user's file only, as the whole table [cluster]",
        ),
        (
            "cluster.credentials, cluster.nkey, cluster.ca",
            "paths of a credentials file, of a file with the seed of an NKey, and of the certificates (PEM) of the authority that has signed the servers'",
        ),
        (
            "cluster.lease",
            "after how long a silent worker's run is given to another (20s); the same on all machines, and 15s at least where the servers are a cluster",
        ),
        (
            "gateway.borrow_credentials",
            "whether forks of another program's conversation use that program's credentials, where tine has no key for its server: ask (the default) a person at the terminal, never, or always",
        ),
    ],
};

pub(super) const ENVIRONMENT: Section = Section {
    heading: "ENVIRONMENT",
    text: "",
    terms: &[
        ("TINE_HOME", "one directory for all files, instead of those under FILES"),
        ("TINE_CLUSTER_URL", "like the setting cluster.url"),
        ("TINE_MODEL, TINE_PERMISSION_MODE", "like the settings model and permission_mode"),
        (
            "ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN, sent as a bearer token), OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY, MINIMAX_API_KEY, OPENAI_COMPAT_API_KEY",
            "the providers' keys; a loopback address needs none",
        ),
        (
            "ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GEMINI_BASE_URL, DEEPSEEK_BASE_URL, MINIMAX_BASE_URL, OPENAI_COMPAT_BASE_URL",
            "the providers' addresses",
        ),
        (
            "TINE_AGENT",
            "set for the commands that an agent runs: its id; where that agent may start none, `tine run`, `tine fork`, `tine fan`, `tine task start` and `tine task resume` are refused, and everywhere what only a person does: to answer, to trust, to talk in the terminal",
        ),
        (
            "TINE_CALL",
            "set for the commands of a tool call: its id, by which processes are found that outlive a tine that was killed",
        ),
        (
            "TINE_WORKTREE, TINE_ORIGIN, TINE_PORT, TINE_PORT_COUNT",
            "set for the commands that an agent runs in a worktree, and for worktree.setup: the worktree, the directory that it was forked from, the first of its ports and how many there are",
        ),
        ("HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "a proxy; never used for loopback addresses"),
        ("NO_COLOR", "no colour, if set to anything"),
        (
            "TERM, COLORTERM",
            "how many colours there are; `dumb` makes `tine` talk in lines, as --plain does",
        ),
        ("LC_ALL, LC_CTYPE, LANG", "where the first that is set names no UTF-8, signs are ASCII"),
    ],
};

pub(super) const FILES: Section = Section {
    heading: "FILES",
    text: "",
    terms: &[
        ("$XDG_CONFIG_HOME/tine/config.toml", "the user's settings (~/.config)"),
        (
            "$XDG_CONFIG_HOME/tine/models.toml",
            "what you know better of models than tine does: [[model]] tables with a name (* at its end matches any ending), prices in USD per million tokens (input, write_short, write_long, read, output) and cache rules; what is left out stays as it ships. [[model.price]] tables behind one hold prices of a time: from and until (days such as 2026-12-01), hours ([\"Mon-Fri 01:00-04:00\"]), all in UTC; together they name each time once, and a request is priced by the time at which it started",
        ),
        (
            ".tine/config.toml",
            "the project's settings, in the working directory or the nearest above it; see TRUST",
        ),
        ("$XDG_DATA_HOME/tine/tine.db", "all agents (~/.local/share)"),
        (
            "$XDG_DATA_HOME/tine/credentials.json",
            "keys that `tine login` has stored, or commands that print them; readable by you alone",
        ),
        ("$XDG_DATA_HOME/tine/history.jsonl", "what you have sent in the terminal, without keys"),
        ("$XDG_DATA_HOME/tine/trust", "records of what you trust, and copies of it; see TRUST"),
        ("$XDG_DATA_HOME/tine/run", "locks of running processes"),
        (
            "$XDG_DATA_HOME/tine/memory/PROJECT",
            "notes of a project, a git repository of its own: MEMORY.md is the index, of which 200 lines are in the first message of each new agent of the project; see `tine dream`",
        ),
        ("$XDG_DATA_HOME/tine/worktrees", "worktrees of agents, by repository; see WORKTREES"),
        (
            ".worktreeinclude",
            "at the top of a repository: ignored files that worktrees get all the same, such as .env",
        ),
        ("$XDG_STATE_HOME/tine/log", "what workers in the background have to say (~/.local/state)"),
        (
            ".tine/agents/NAME.md, $XDG_CONFIG_HOME/tine/agents/NAME.md",
            "agents that can be started by name; see DEFINED AGENTS",
        ),
        (
            "AGENTS.md, CLAUDE.md",
            "a project's instructions; the first one in the nearest directory is read when an agent is made; see TRUST",
        ),
    ],
};
