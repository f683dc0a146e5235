//! The manual's section on trust.

use super::sections::Section;

pub(super) const TRUST: Section = Section {
    heading: "TRUST",
    text: "A checkout may bring a .tine folder along (settings, agents, skills). It counts only after you have trusted it. `tine trust` shows it and asks; what you trust is kept outside the checkout, as the directory's real path with a hash and a copy of each file. When one of the files changes, a line says so, your own settings hold, and `tine trust` shows the difference and asks again. What the trusted settings forbade still holds meanwhile. Worktrees that tine makes have the trust of what they hold: the same content counts, changed content does not, and what the trusted checkout forbade holds in any case. Content has 256 KiB at most. Links are never followed. Even trusted, a project stays within your limits:",
    terms: &[
        (
            "model",
            "of a provider that your own settings name: in model, in TINE_MODEL, in a table [providers.NAME], or in the list [trust] providers. A key in the environment is not enough. Never a scenario in a file (sim/PATH)",
        ),
        (
            "max_output_tokens, effort, thinking",
            "at most yours; without yours, 16384, low and none",
        ),
        ("repl, compact", "repl only where yours is on; compact only as yours is"),
        (
            "permissions, budget, confine, fork, workers",
            "only what narrows; the rest of these tables, and the tables providers, cache, worktree (but for enabled = false), keys and trust, cannot be trusted",
        ),
        (
            ".tine/agents/NAME.md",
            "models and turns within your limits; your own agent of the same name stays yours",
        ),
        (
            "tine --trust COMMAND",
            "lets the nearest content count for one command, as it is now, for CI",
        ),
        (
            "AGENTS.md, CLAUDE.md",
            "count without trust: they are text for the model, widen nothing, and go to your provider when an agent is made. A link among them counts only where it stays in its own directory and names no secret; above the working directory, files of other users do not count. A line says what is left out",
        ),
        ("tine trust --list, tine trust --revoke [DIR]", "list your trust, and take it back"),
    ],
};
