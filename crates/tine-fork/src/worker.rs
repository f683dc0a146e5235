//! What a worker is told, in the last block of its first message.

/// The tag around the worker's rules. A copied history that holds it is recognised as a worker's; standing and depth
/// themselves live in the registry.
pub const BOILERPLATE_TAG: &str = "fork-boilerplate";

/// Longest report, in words.
pub const REPORT_WORDS_MAX: usize = 500;

/// Most turns of a worker unless the caller says otherwise.
pub const WORKER_TURNS_DEFAULT: u32 = 200;

/// The rules of a worker and its task. Nothing in it depends on which sibling it is, but for `task`, which comes last.
pub fn worker_directive(task: &str) -> String {
    format!(
        "<{BOILERPLATE_TAG}>\n\
        You are now a worker, forked from the conversation above. Everything above is background that you share with the \
        agent you were forked from; its plans and unfinished work are that agent's, not yours. Your scope is the task \
        below and nothing else.\n\
        \n\
        - Do the task yourself, with the tools. Do not hand it on, do not spawn agents, do not ask questions, and do not \
        talk to anyone: nobody answers.\n\
        - Keep to the scope. If you find something else that matters, name it under Issues and leave it alone.\n\
        - If you work in a worktree of your own and change files there, commit them before you report.\n\
        - When you are done, answer with one plain-text report of at most {REPORT_WORDS_MAX} words. It begins with \
        `Scope:` and has these parts:\n\
        Scope: the task, in one sentence\n\
        Result: what you found or did\n\
        Key files: the files that matter\n\
        Files changed: the files you changed, with commits; `none` if you changed none\n\
        Issues: what went wrong or remains open; `none` if nothing\n\
        </{BOILERPLATE_TAG}>\n\
        \n\
        Task: {task}"
    )
}
