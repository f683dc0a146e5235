// What the model and the person are told.

import { RESULT_CHARACTERS_MAX, TOKENS_MAX, type Statistics } from "./cut.js";
import type { Digest } from "./digest.js";
import { isActive, type Status, type Task } from "./registry.js";
import { wasRefused } from "./turn.js";

const ICONS: Record<Status, string> = {
  running: "⏳",
  resumed: "↻",
  completed: "✓",
  error: "✗",
  cancelled: "⊘",
  lost: "✗",
};

/** Characters of a description in the list. */
const DESCRIPTION_SHOWN = 30;
/** Results that a preamble names one by one. Each says at its end that it was cut. */
const RESULTS_NAMED_MAX = 100;

export const FORK_AND_RESUME =
  "Cannot use fork and resume together. Use fork for new tasks with context, resume for continuing existing tasks.";

export const NO_TINE =
  'The context "digest" needs the program tine on the PATH, and it is not there. "spec" and "full" work without it. Nothing was started.';

export const WORKER_REFUSED =
  "You are the worker that was started by this conversation, not the agent that starts workers. Do the task of your last prompt yourself, and end with a report.";

export function wrongArguments(issues: { path: PropertyKey[]; message: string }[]): string {
  return `Wrong arguments: ${issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}. Nothing was done.`;
}

/** Stands before the prompt of every task. */
export function preamble(id: string, told: string): string {
  return [
    `<superagents-task id="${id}">`,
    "You are a worker: a background task with a session of its own. Nobody watches it, so do not ask the user anything.",
    told,
    "Do what the prompt below asks, and only that. Do not start tasks of your own: the superagents tools refuse you.",
    "Your last message is your report to the agent that started you. Say in it what you did, what you found, and which files you changed.",
    "</superagents-task>",
  ].join("\n");
}

export const FRESH = "You know nothing of the conversation that started you: everything you need is in the prompt.";

/** Says exactly what a forked child lacks of the conversation above it. */
export function inherited({ messagesDropped, results, isCompacted, tokensKept }: Statistics): string {
  const lines = ["The conversation above is that of the agent that started you, up to the message with which it did."];
  if (isCompacted) lines.push("It begins with a summary: it had been compacted before.");
  if (tokensKept > TOKENS_MAX) lines.push(`It is long (about ${number(tokensKept)} tokens): its newest turn stays whole.`);
  if (messagesDropped === 0 && results.length === 0) {
    lines.push("Nothing of it was cut for you.");
    return lines.join(" ");
  }
  if (messagesDropped) {
    lines.push(
      `Its ${count(messagesDropped, "oldest message")} ${messagesDropped === 1 ? "was" : "were"} left out, as it had more than ${number(TOKENS_MAX)} tokens (taken as a quarter of the characters).`,
    );
  }
  if (results.length) {
    lines.push(
      `${count(results.length, "tool result")} ${results.length === 1 ? "was" : "were"} cut to ${results.length === 1 ? "its" : "their"} first ${number(RESULT_CHARACTERS_MAX)} characters:`,
    );
    const named = results.slice(0, RESULTS_NAMED_MAX).map(({ tool, callID, characters, wasCut }) => {
      const length = `originally ${number(characters)} characters`;
      return `- ${tool} (${callID}): ${length}${wasCut ? ", already cut by OpenCode" : ""}`;
    });
    if (results.length > named.length) named.push(`- and ${number(results.length - named.length)} more; each says so at its end`);
    return `${lines.join(" ")}\n${named.join("\n")}\nRead files and run commands again where you need more. Everything else is as it was.`;
  }
  lines.push("Everything else is as it was.");
  return lines.join(" ");
}

/** Says what a child with a digest has. */
export function digested({ messages_dropped: dropped, results_cut: cut, from_compaction: compacted }: Digest["stats"]): string {
  const lost = [
    dropped ? `its ${count(dropped, "oldest message")} left out` : "",
    cut ? `${count(cut, "tool result")} cut to ${number(RESULT_CHARACTERS_MAX)} characters` : "",
  ].filter(Boolean);
  return [
    "Above is a digest of the conversation that started you: text, not the conversation itself.",
    compacted ? "It begins with a summary: the conversation had been compacted before." : "",
    lost.length ? `Cut for you: ${lost.join("; ")}.` : "No message and no tool result was cut for you.",
    "Read again what you need.",
  ]
    .filter(Boolean)
    .join(" ");
}

/** How much of the conversation the provider's cache can serve to a fork. */
export function cacheAnswer(statistics: Statistics, isFull: boolean, differs: string[], agent: string): string {
  const { tokens, tokensShared, messagesDropped, results } = statistics;
  const all = `about ${number(tokens)} tokens`;
  if (differs.length) {
    return `Cache: agent ${agent} sends ${differs.join(", ")}; so the cache serves nothing of the conversation (${all}) to it. Your own agent would have shared it.`;
  }
  if (tokensShared === tokens) {
    return isFull
      ? `Cache: the provider can serve the whole conversation (${all}), system prompt and tools from its cache.`
      : `Cache: nothing was cut, so the provider can serve the whole conversation (${all}), system prompt and tools from its cache, as context "full" would.`;
  }
  const share = Math.floor((100 * tokensShared) / Math.max(1, tokens));
  const why = messagesDropped
    ? `${count(messagesDropped, "oldest message")} went`
    : `${count(results.length, "result")} ${results.length === 1 ? "was" : "were"} cut, and what is shared ends before the first`;
  return `Cache: the provider can serve system prompt, tools and about ${number(tokensShared)} of ${number(tokens)} tokens of the conversation (${share} %); ${why}. context "full" would have shared all of it.`;
}

const AFTER_REFUSAL = "Neither resume it nor do the same in another way unless the user asks for it.";

export const FRESH_ANSWER = "It knows nothing of this conversation but its prompt.";

export function digestAnswer({ tokens_estimated: tokens, messages_dropped: dropped, results_cut: cut }: Digest["stats"]): string {
  return `It has a digest of this conversation as text (about ${number(tokens)} tokens; ${count(dropped, "message")} left out, ${count(cut, "result")} cut). Cache: nothing of the conversation is shared, only system prompt and tools; context "full" would have shared all of it.`;
}

export function started(task: Task): string {
  return `Task ${task.id}${markers(task)} works in the background: "${task.description}" (agent ${task.settings.agent}).`;
}

export function undone({ id, session }: Task): string {
  return `Messages are undone in the session of task ${id} (${session}), and a prompt would throw them away for good. It can be resumed when the user has opened that session and redone them (/redo), or gone on without them.`;
}

/** A task that another OpenCode runs. */
export function elsewhere({ id, owner }: Task): string {
  return `Task ${id} works in another OpenCode (process ${owner.pid}); only that one can stop it.`;
}

export function cleared(tasks: number, working: number): string {
  if (!tasks) return "No background tasks found.";
  return `Cleared ${count(tasks, "task")}; ${working} of them worked and ${working === 1 ? "was" : "were"} cancelled. Their sessions stay.`;
}

export function afterStart({ id }: Task): string {
  return `You are told when it ends; go on with something else. superagents_output("${id}") reads what it has said so far.`;
}

/** What a task has said, for the agent that started it. */
export function output(task: Task, { text, tools }: { text: string; tools: string[] }, nowMs: number): string {
  const head = `Task ${task.id}${markers(task)}: ${task.status}, ${duration(task, nowMs)}${task.reason ? `: ${task.reason}` : ""}`;
  const used = tools.length ? `Tools used: ${tools.length}, last ${tools.slice(-3).join(", ")}` : "Tools used: none";
  const waits = waiting(task).map((what) => `It waits for ${what}. The user can answer in its session, ${task.session}.`);
  const refused = wasRefused(task) ? [AFTER_REFUSAL] : [];
  const said = text ? `${isActive(task) ? "So far" : "Report"}:\n${text}` : "It has said nothing yet.";
  return [head, used, ...waits, ...refused, "", said].join("\n");
}

/** How many tasks of a task's batch have ended. */
export function progress(task: Task, tasks: Task[]): string {
  const batch = tasks.filter((other) => other.batch === task.batch);
  return `Task Progress: ${batch.filter((other) => !isActive(other)).length}/${batch.length}`;
}

/** One line for the person, who is the one that can answer. */
export function waitLine(task: Task, what: string): string {
  return `⏳ ${name(task)} waits for ${what}: open its session to answer.`;
}

/** The table of `superagents_list`, newest first. */
export function list(tasks: Task[], nowMs: number): string {
  if (!tasks.length) return "No background tasks found.";
  const rows = tasks.map((task) => [
    `${task.id}${markers(task)}`,
    shortened(task.description),
    task.settings.agent,
    `${ICONS[task.status]} ${task.status}${waiting(task).length ? ` (waits: ${waiting(task).join("; ")})` : ""}`,
    duration(task, nowMs),
  ]);
  const tally = Object.keys(ICONS)
    .map((status) => [status, tasks.filter((task) => task.status === status).length] as const)
    .filter(([, number]) => number > 0)
    .map(([status, number]) => `${number} ${status}`);
  return [
    "| id | task | agent | status | time |",
    "|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`),
    "",
    `${count(tasks.length, "task")}: ${tally.join(", ")}`,
  ].join("\n");
}

/** `(forked)`, then `(resumed)`. */
export function markers({ context, resumes }: Task): string {
  const fork = context === "digest" ? " (digest)" : context === "fresh" ? "" : " (forked)";
  return `${fork}${resumes ? " (resumed)" : ""}`;
}

/** What a task waits for, in words. */
export function waiting(task: Task): string[] {
  return isActive(task) ? (task.waits ?? []).map(({ what }) => what) : [];
}

/** One line for the person, who sees it in the parent's session. */
export function endLine(task: Task): string {
  const time = duration(task, task.endedMs ?? task.startedMs);
  const reason = task.reason ? `: ${task.reason}` : "";
  const verb: Record<string, string> = {
    completed: `finished in ${time}`,
    cancelled: `ended after ${time}${reason}`,
    lost: `was lost after ${time}${reason}; it can be resumed`,
    error: `failed after ${time}${reason}`,
  };
  return `${ICONS[task.status]} ${name(task)} ${verb[task.status]}`;
}

/** A task in a line for the person, which OpenCode shows as it is, without marks. */
function name({ id, description, resumes }: Task): string {
  return `Task ${id} "${description}"${resumes ? ` (resume #${resumes})` : ""}`;
}

/** The beginning of what the model reads of an end, by which a notice is known again. */
export function endMark({ id, resumes }: Task): string {
  return `<task id="${id}" turn="${resumes + 1}"`;
}

/** What the model reads of an end. */
export function endNotice(task: Task): string {
  const resume = task.session ? ` superagents_task with resume "${task.id}" goes on with it.` : "";
  const next: Record<string, string> = {
    completed: `superagents_output("${task.id}") has its report.`,
    error: `It failed: ${task.reason ?? "no reason was given"}.${resume}`,
    cancelled: wasRefused(task)
      ? `It ended, as ${task.reason}. ${AFTER_REFUSAL}`
      : `It was cancelled${task.reason ? `: ${task.reason}` : ""}.${resume}`,
    lost: `It was lost: ${task.reason ?? "no reason was given"}. Look at what it left behind.${resume}`,
  };
  return `${endMark(task)} status="${task.status}">${escaped(task.description)}: ${escaped(next[task.status] ?? "")}</task>`;
}

export function waitMark(id: string, request: string): string {
  return `<task id="${id}" waits="${request}"`;
}

export function waitNotice(task: Task, request: string, what: string): string {
  return `${waitMark(task.id, request)}>${escaped(task.description)}: it waits for ${escaped(what)}. Nobody answers in its session unless the user opens it there (${task.session}); superagents_cancel("${task.id}") ends it.</task>`;
}

/** Stands behind the ends of a notice. */
export function outlook(active: number): string {
  return active
    ? `${count(active, "task")} of yours still ${active === 1 ? "works" : "work"}. Go on with something else, or end your turn: you are told when ${active === 1 ? "it ends" : "they end"}. Do not do that work yourself, and mind that files may change under you.`
    : "None of your tasks works any more.";
}

export function duration(task: Task, nowMs: number): string {
  const seconds = Math.max(0, Math.round(((task.endedMs ?? nowMs) - task.startedMs) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
}

function shortened(text: string): string {
  const characters = Array.from(text);
  return characters.length > DESCRIPTION_SHOWN ? `${characters.slice(0, DESCRIPTION_SHOWN - 1).join("")}…` : text;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function number(value: number): string {
  return value.toLocaleString("en-US");
}

function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
}
