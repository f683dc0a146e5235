// What a session's messages say of the turns in it. Nothing here asks or changes anything.

import { told, type AssistantMessage, type Message, type Settings } from "./host.js";
import type { Status, Task } from "./registry.js";

/** How a task ended. */
export interface End {
  status: Exclude<Status, "running" | "resumed">;
  reason?: string;
  /** The message that is its report. */
  report?: string;
}

/** What a task's session holds since its last prompt, that one included. */
export function turn(messages: Message[], { after }: Pick<Task, "after">): Message[] {
  return messages.slice(messages.findIndex(({ info }) => info.id === after) + 1);
}

const INTERRUPTED = "it was stopped in its session";
const NO_REPORT = "it ended without a report";

function refusal(what: string): string {
  return `the user refused ${what}`;
}

/** Whether a task has ended because its user refused what it asked for. */
export function wasRefused({ status, reason, refused }: Task): boolean {
  return status === "cancelled" && !!refused && reason === refusal(refused);
}

/** Whether a task may have ended so because OpenCode did, which interrupts what works and answers what is asked. */
export function isCut({ reason }: End): boolean {
  return reason === INTERRUPTED || reason === NO_REPORT;
}

/** How a task has ended, by what its session holds; undefined where it has not. `failure` is an error that has no message. */
export function judge(messages: Message[], task: Pick<Task, "after" | "refused">, failure: string | undefined): End | undefined {
  const last = answers(messages, task).at(-1);
  const failed: End | undefined = failure ? { status: "error", reason: failure } : undefined;
  if (!last) return failed;
  const info = last.info as AssistantMessage;
  if (info.error?.name === "MessageAbortedError") return { status: "cancelled", reason: INTERRUPTED, report: info.id };
  if (info.error) return { status: "error", reason: told(info.error), report: info.id };
  if (!info.time.completed || !info.finish) return failed;
  if (info.finish === "tool-calls" || !text(last)) {
    // OpenCode ends a turn in which its user refuses.
    if (task.refused) return { status: "cancelled", reason: refusal(task.refused), report: info.id };
    return { status: "error", reason: NO_REPORT, report: info.id };
  }
  if (info.finish !== "stop") {
    const why = info.finish === "length" ? "its report is cut off at the model's limit" : `its report ended with "${info.finish}"`;
    return { status: "error", reason: why, report: info.id };
  }
  return { status: "completed", report: info.id };
}

/** What a task has said last, and the tools that it used since its prompt. What is said in its session after its end is not its own. */
export function said(messages: Message[], task: Task): { text: string; tools: string[] } {
  const all = answers(messages, task);
  const end = all.findIndex(({ info }) => info.id === task.report);
  const own = end < 0 ? all : all.slice(0, end + 1);
  const tools = own.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.tool] : [])));
  const last = own.findLast((message) => text(message));
  return { text: last ? text(last) : "", tools };
}

/** What stands before a message. */
export function before(messages: Message[], messageID: string): Message[] {
  const place = messages.findIndex(({ info }) => info.id === messageID);
  return place < 0 ? messages : messages.slice(0, place);
}

/** Whether a call runs in the last step of a turn, so that a further request comes whatever is added. */
export function hasOpenCall(messages: Message[]): boolean {
  const last = messages.findLast(({ info }) => info.role === "assistant");
  const isOpen = (status: string) => status === "running" || status === "pending";
  return last?.parts.some((part) => part.type === "tool" && isOpen(part.state.status)) ?? false;
}

/** What a session's last prompt was run with. */
export function settingsOf(messages: Message[]): (Settings & { agent: string }) | undefined {
  const info = messages.findLast((message) => message.info.role === "user")?.info;
  if (info?.role !== "user") return undefined;
  const { agent, model, system } = info;
  return {
    agent,
    model: { providerID: model.providerID, modelID: model.modelID },
    ...(model.variant ? { variant: model.variant } : {}),
    ...(system ? { system } : {}),
  };
}

/** The answers of a task's turn, without summaries, which are OpenCode's. */
function answers(messages: Message[], task: Pick<Task, "after">): Message[] {
  return turn(messages, task).filter(({ info }) => info.role === "assistant" && !info.summary);
}

function text({ parts }: Message): string {
  return parts.flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : [])).join("\n").trim();
}
