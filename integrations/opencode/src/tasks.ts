// The life of a task: started, resumed, ended, lost, and told to its parent once.

import { differences } from "./agents.js";
import { plan, whole, type Statistics } from "./cut.js";
import { digest, hasTine } from "./digest.js";
import { Host, told, type Agent, type AssistantMessage, type Message, type Session, type Settings, type Text } from "./host.js";
import { find, isActive, isAlive, newId, owner, type Context, type Registry, type Status, type Task } from "./registry.js";
import * as words from "./words.js";

/** A call that is refused before anything is made. Its message is the answer. */
export class Refusal extends Error {}

/** What a model asks for. */
export interface Start {
  description: string;
  prompt: string;
  agent?: string | undefined;
  context: Context;
}

/** Who asks: a session, in the course of a message. */
export interface Caller {
  sessionID: string;
  messageID: string;
  agent: string;
}

/** Ends within this time are one notice. */
const COALESCE_MS = 200;
/** How long a task may wait for a provider that does not answer, unless the options say otherwise. */
export const RETRY_MS_DEFAULT = 300_000;
/** How often a call that waits for a task looks. */
const LOOK_MS = 250;
/** Requests to OpenCode at once, where many messages or parts change. */
const AT_ONCE = 8;
/** Sessions above one another that are looked through for a worker. */
const ANCESTORS_MAX = 16;
/** What makes a text of an Anthropic conversation a cache breakpoint. */
const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

interface End {
  status: Exclude<Status, "running" | "resumed">;
  reason?: string;
}

export class Tasks {
  /** Since when a session waits for its provider. */
  private readonly retries = new Map<string, number>();
  /** The last error of a session, which may have no message that holds it. */
  private readonly failures = new Map<string, string>();
  /** Tasks that a call waits for: their end is its answer. */
  private readonly awaited = new Map<string, number>();
  /** Parents whose notices wait for the end of a turn, or for its next step. */
  private readonly held = new Set<string>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  /** What happens to one session happens in order. */
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(
    private readonly host: Host,
    private readonly registry: Registry,
    private readonly retryMs: number,
  ) {}

  // ---- starting

  /** Starts a task, and answers what the model is to know of it. */
  async start(wanted: Start, caller: Caller): Promise<string> {
    const agents = await this.host.agents();
    const own = agents.find(({ name }) => name === caller.agent);
    const name = wanted.agent ?? caller.agent;
    const agent = agents.find((candidate) => candidate.name === name);
    if (!agent) {
      const known = agents.filter(({ hidden }) => !hidden).map((each) => each.name);
      throw new Refusal(`There is no agent "${name}". Register it in OpenCode's configuration, or take one of: ${known.join(", ")}. Nothing was started.`);
    }
    if (wanted.context === "digest" && !(await hasTine())) throw new Refusal(words.NO_TINE);

    const parent = await this.host.session(caller.sessionID);
    if (!parent) throw new Refusal(`The session ${caller.sessionID} is gone; nothing was started.`);
    const messages = await this.host.messages(parent.id);
    const settings = settingsFor(agent, messages, caller);
    const task = await this.registry.change((tasks) => {
      const row: Task = {
        id: newId(tasks),
        parent: parent.id,
        directory: this.host.directory,
        description: wanted.description,
        prompt: wanted.prompt,
        settings,
        context: wanted.context,
        status: "running",
        owner: owner(),
        batch: "",
        createdMs: Date.now(),
        startedMs: Date.now(),
        resumes: 0,
      };
      const working = tasks.find((other) => other.parent === parent.id && isActive(other));
      row.batch = working?.batch || row.id;
      tasks.push(row);
      return row;
    });
    try {
      const { session, told, answer } = await this.child(task, parent, messages, caller, own, agent);
      await this.host.prompt(session, settings, prompted(task.id, told, wanted.prompt));
      return `${this.started(task)}\n${answer}\n${words.afterStart(task)}`;
    } catch (error) {
      // Nothing goes on without the context that was asked for.
      const row = await this.registry.update(task.id, (failed) => {
        Object.assign(failed, { status: "error", reason: told(error), endedMs: Date.now(), notice: "told" });
      });
      if (row?.session) await this.host.delete(row.session).catch(() => undefined);
      throw error;
    }
  }

  private started(task: Task): string {
    const title = `Task ${task.id}${words.markers(task)} works in the background: "${task.description}"`;
    return `${title} (agent ${task.settings.agent}).`;
  }

  /** Makes the task's session, up to its prompt. */
  private async child(
    task: Task,
    parent: Session,
    messages: Message[],
    caller: Caller,
    own: Agent | undefined,
    agent: Agent,
  ): Promise<{ session: string; told: string; answer: string }> {
    const title = `${task.description} (task ${task.id})`;
    const made = async (session: Session) => {
      await this.registry.update(task.id, (row) => (row.session = session.id));
      return session.id;
    };
    if (task.context === "fresh" || task.context === "digest") {
      const inherited = before(messages, caller.messageID);
      const text = task.context === "digest" ? await digest(inherited) : undefined;
      const session = await made(await this.host.create(parent.id, title));
      if (!text) return { session, told: words.FRESH, answer: words.FRESH_ANSWER };
      await this.host.note(session, task.settings, [{ text: text.text, synthetic: true }]);
      return { session, told: words.digested(text.statistics), answer: words.digestAnswer(text.statistics) };
    }

    const tools = own && own.name !== agent.name ? await this.host.tools() : [];
    const session = await made(await this.host.fork(parent.id, caller.messageID));
    await this.host.entitle(session, title, parent.permission);
    const statistics = await this.cut(session, task);
    const differs = own ? differences(own, agent, tools) : [];
    return {
      session,
      told: words.inherited(statistics),
      answer: words.cacheAnswer(statistics, task.context === "full", differs, agent.name),
    };
  }

  /** Cuts a fork in place, where its context asks for it. */
  private async cut(session: string, task: Task): Promise<Statistics> {
    const messages = await this.host.messages(session);
    await this.registry.update(task.id, (row) => (row.after = messages.at(-1)?.info.id));
    if (task.context === "full") return whole(messages);
    const provider = await this.host.providerPackage(task.settings.model);
    const cuts = plan(messages, provider?.includes("anthropic") ?? false);
    await each(cuts.dropped, (message) => this.host.deleteMessage(message));
    await each(cuts.replaced, (part) => this.host.replacePart(part));
    const { marked } = cuts;
    if (marked) await this.host.replacePart({ ...marked, metadata: { ...marked.metadata, ...MARK } });
    const { messagesDropped, results } = cuts.statistics;
    await this.registry.update(task.id, (row) => (row.cuts = { messagesDropped, results }));
    return cuts.statistics;
  }

  /** Gives a task that has ended another prompt. */
  async resume(id: string, prompt: string, caller: Caller): Promise<string> {
    const task = find(await this.ofParent(caller.sessionID), id);
    if (isActive(task)) throw new Refusal(`Task ${task.id} still works. It can be resumed when it has ended.`);
    const session = task.session;
    if (!session || !(await this.host.session(session))) {
      throw new Refusal(`Task ${task.id} has no session to resume; start a new task.`);
    }
    const messages = await this.host.messages(session);
    // A prompt that was given moments before a crash may have left no trace.
    const isThere = turn(messages, task).some(({ info }) => info.role === "user");
    const before = structuredClone(task);
    const taken = await this.registry.update(task.id, (row) => {
      if (isActive(row)) throw new Refusal(`Task ${row.id} still works. It can be resumed when it has ended.`);
      const after = messages.at(-1)?.info.id;
      Object.assign(row, { status: "resumed", resumes: row.resumes + 1, prompt, after, owner: owner(), startedMs: Date.now(), isCleared: false });
      for (const key of ["endedMs", "reason", "notice", "waits"] as const) delete row[key];
    });
    if (!taken) throw new Refusal(`Task ${task.id} is gone.`);
    this.failures.delete(session);
    const lead = isThere ? [] : [{ text: task.prompt }];
    try {
      await this.host.prompt(session, task.settings, [...lead, { text: prompt }]);
    } catch (error) {
      await this.registry.update(task.id, (row) => Object.assign(row, before));
      throw error;
    }
    return `Task ${task.id}${words.markers(taken)} works again: "${task.description}".\n${words.afterStart(task)}`;
  }

  // ---- reading and ending

  /** The tasks of a session, oldest first. */
  async ofParent(sessionID: string): Promise<Task[]> {
    return (await this.registry.all()).filter((task) => task.parent === sessionID);
  }

  private async ofSession(sessionID: string): Promise<Task | undefined> {
    return (await this.registry.all()).find(({ session }) => session === sessionID);
  }

  /** The task in whose session, or below it, something happens. */
  async workerOf(sessionID: string): Promise<Task | undefined> {
    const tasks = await this.registry.all();
    let at: string | undefined = sessionID;
    for (let above = 0; at && above < ANCESTORS_MAX; above += 1) {
      const task = tasks.find(({ session }) => session === at);
      if (task) return task;
      at = (await this.host.session(at))?.parentID;
    }
    return undefined;
  }

  /** What a task has said. Waits for its end, for so long at most. */
  async output(id: string, waitMs: number, stop: AbortSignal, caller: Caller): Promise<string> {
    const task = find(await this.ofParent(caller.sessionID), id);
    this.awaited.set(task.id, (this.awaited.get(task.id) ?? 0) + 1);
    try {
      const now = await this.ended(task, waitMs, stop);
      const messages = now.session ? await this.host.messages(now.session).catch(() => []) : [];
      const answer = words.output(now, said(messages, now), Date.now());
      if (!isActive(now) && !stop.aborted) await this.markTold([now], []);
      return answer;
    } finally {
      const others = (this.awaited.get(task.id) ?? 1) - 1;
      if (others > 0) this.awaited.set(task.id, others);
      else this.awaited.delete(task.id);
      // One that ended while nobody could be told.
      this.tellSoon(caller.sessionID);
    }
  }

  /** A task as it is when it has ended, or after so long. */
  private async ended(task: Task, waitMs: number, stop: AbortSignal): Promise<Task> {
    for (const deadline = Date.now() + waitMs; isActive(task) && Date.now() < deadline && !stop.aborted; ) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      task = (await this.registry.all()).find((row) => row.id === task.id) ?? task;
    }
    return task;
  }

  async cancel(id: string, caller: Caller): Promise<string> {
    const task = find(await this.ofParent(caller.sessionID), id);
    // The answer is the notice of this end.
    const isMine = await this.end(task.id, { status: "cancelled", reason: "by the agent that started it" }, "told");
    if (!isMine) {
      throw new Refusal(`Cannot cancel task: current status is "${task.status}". Only running tasks can be cancelled.`);
    }
    if (task.session) await this.host.abort(task.session);
    return `Task ${task.id} is cancelled: "${task.description}". superagents_task with resume "${task.id}" goes on with it.`;
  }

  /** Cancels what works, and leaves the tasks of a session out of its list. */
  async clear(caller: Caller): Promise<string> {
    const tasks = (await this.ofParent(caller.sessionID)).filter(({ isCleared }) => !isCleared);
    const working = tasks.filter(isActive);
    for (const task of working) {
      await this.end(task.id, { status: "cancelled", reason: "all tasks were cleared" }, "told");
      if (task.session) await this.host.abort(task.session);
    }
    await this.registry.change((rows) => {
      for (const row of rows) if (row.parent === caller.sessionID) row.isCleared = true;
    });
    return tasks.length
      ? `Cleared ${tasks.length} tasks; ${working.length} of them worked and ${working.length === 1 ? "was" : "were"} cancelled. Their sessions stay.`
      : "No background tasks found.";
  }

  /** Records the end of a task, where none is recorded. Returns false where it has ended before. */
  private async end(id: string, { status, reason }: End, notice: "due" | "told"): Promise<boolean> {
    const nowMs = Date.now();
    let isMine = false;
    const task = await this.registry.update(id, (row) => {
      if (!isActive(row)) return;
      isMine = true;
      Object.assign(row, { status, endedMs: nowMs, notice, waits: [] });
      if (reason) row.reason = reason;
    });
    if (isMine && task && notice === "due") this.tellSoon(task.parent);
    return isMine;
  }

  // ---- what happens in OpenCode

  async idle(sessionID: string): Promise<void> {
    await this.settle(sessionID);
    if (this.held.has(sessionID)) this.tellSoon(sessionID);
  }

  /** A step of a turn has calls, and so a further request comes: a notice that was held forces none. */
  goesOn(sessionID: string): void {
    if (this.held.has(sessionID)) this.tellSoon(sessionID);
  }

  async failed(sessionID: string, error: unknown): Promise<void> {
    if (!(await this.ofSession(sessionID))) return;
    this.failures.set(sessionID, told(error));
    await this.settle(sessionID);
  }

  /** OpenCode tries again for ever. */
  async retried(sessionID: string, attempt: number, nextMs: number, why: string): Promise<void> {
    const task = await this.ofSession(sessionID);
    if (!task || !isActive(task)) return;
    if (attempt <= 1 || !this.retries.has(sessionID)) this.retries.set(sessionID, Date.now());
    if (nextMs - this.retries.get(sessionID)! < this.retryMs) return;
    const reason = `the provider was not reached within ${Math.round(this.retryMs / 1000)} s: ${why}`;
    if (await this.end(task.id, { status: "error", reason }, "due")) await this.host.abort(sessionID);
  }

  async asked(sessionID: string, request: string, what: string): Promise<void> {
    const worker = await this.workerOf(sessionID);
    if (!worker || !isActive(worker)) return;
    await this.registry.update(worker.id, (row) => {
      row.waits = [...(row.waits ?? []).filter((wait) => wait.request !== request), { request, what, isTold: false }];
    });
    this.tellSoon(worker.parent);
  }

  async answered(request: string): Promise<void> {
    if (!(await this.registry.all()).some(({ waits }) => waits?.some((wait) => wait.request === request))) return;
    await this.registry.change((tasks) => {
      for (const task of tasks) if (task.waits) task.waits = task.waits.filter((wait) => wait.request !== request);
    });
  }

  /** The tasks of a deleted session go with it. Forks are not OpenCode's to delete, so they are ours. */
  async deleted(sessionID: string): Promise<void> {
    const tasks = await this.registry.all();
    const own = tasks.find(({ session }) => session === sessionID);
    if (own) await this.end(own.id, { status: "cancelled", reason: "its session was deleted" }, "due");
    const orphans = tasks.filter(({ parent }) => parent === sessionID);
    if (!orphans.length) return;
    await this.registry.change((rows) => {
      const kept = rows.filter(({ parent }) => parent !== sessionID);
      rows.splice(0, rows.length, ...kept);
    });
    this.held.delete(sessionID);
    await each(
      orphans.flatMap(({ session }) => (session ? [session] : [])),
      (session) => this.host.delete(session),
    );
  }

  /** Finds what the last OpenCode left behind: tasks that it did not see end, and notices that it did not send. */
  async takeUp(): Promise<void> {
    const tasks = (await this.registry.all()).filter(({ directory }) => directory === this.host.directory);
    for (const task of tasks.filter((row) => isActive(row) && !isAlive(row.owner))) {
      const messages = task.session ? await this.host.messages(task.session).catch(() => []) : [];
      const lost: End = { status: "lost", reason: "OpenCode ended while it worked" };
      await this.end(task.id, judge(messages, task, undefined) ?? lost, "due");
    }
    for (const parent of new Set(tasks.filter(({ notice }) => notice === "due").map((task) => task.parent))) this.tellSoon(parent);
  }

  /** Looks whether a session's task has ended. Events come twice and out of order; what is stored decides. */
  private async settle(sessionID: string): Promise<void> {
    await this.inOrder(sessionID, async () => {
      const task = await this.ofSession(sessionID);
      if (!task || !isActive(task) || task.owner.pid !== owner().pid) return;
      if ((await this.host.statuses())[sessionID]) return;
      const end = judge(await this.host.messages(sessionID), task, this.failures.get(sessionID));
      if (!end) return;
      this.failures.delete(sessionID);
      this.retries.delete(sessionID);
      await this.end(task.id, end, "due");
    });
  }

  // ---- notices

  private tellSoon(parent: string): void {
    if (this.timers.has(parent)) return;
    const timer = setTimeout(() => {
      this.timers.delete(parent);
      this.inOrder(parent, () => this.tell(parent)).catch((error: unknown) => {
        this.held.add(parent);
        void this.host.warn(`a notice to ${parent} waits: ${told(error)}`);
      });
    }, COALESCE_MS);
    this.timers.set(parent, timer);
  }

  /** Tells a parent, in one message, what has ended and what waits. */
  private async tell(parent: string): Promise<void> {
    this.held.delete(parent);
    const tasks = await this.ofParent(parent);
    const isNews = (task: Task) => task.notice === "due" || task.waits?.some(({ isTold }) => !isTold);
    if (!tasks.some(isNews)) return;
    const messages = await this.host.messages(parent);
    await this.noteWhatWasTold(tasks, messages);
    // An end for which a call waits is that call's answer.
    const ends = tasks.filter((task) => task.notice === "due" && !this.awaited.has(task.id));
    ends.sort((one, other) => urgency(one) - urgency(other));
    const waits = tasks.flatMap((task) =>
      (task.waits ?? []).filter(({ isTold }) => !isTold).map((wait) => ({ task, ...wait })),
    );
    if (!ends.length && !waits.length) return;
    if ((await this.host.statuses())[parent] && !hasOpenStep(messages)) {
      this.held.add(parent);
      return;
    }
    const active = tasks.filter(isActive).length;
    const lines = ends.map((task) => `${words.endLine(task)}\n${words.progress(task, tasks)}`);
    const hidden = [
      "<superagents-notice>",
      ...ends.map(words.endNotice),
      ...waits.map(({ task, request, what }) => words.waitNotice(task, request, what)),
      words.outlook(active),
      "</superagents-notice>",
    ];
    const shown = [...lines, ...waits.map(({ task, what }) => words.waitLine(task, what))].join("\n");
    const note: Text[] = [{ text: shown, ignored: true }, { text: hidden.join("\n"), synthetic: true }];
    await this.host.note(parent, settingsOf(messages) ?? tasks[0]!.settings, note);
    await this.markTold(ends, waits);
  }

  /** A notice that was sent by an OpenCode that ended right after it is in the conversation. */
  private async noteWhatWasTold(tasks: Task[], messages: Message[]): Promise<void> {
    const texts = messages.flatMap(({ info, parts }) =>
      info.role === "user" ? parts.flatMap((part) => (part.type === "text" && part.synthetic ? [part.text] : [])) : [],
    );
    const holds = (mark: string) => texts.some((text) => text.includes(mark));
    const ends = tasks.filter((task) => task.notice === "due" && holds(words.endMark(task)));
    const waits = tasks.flatMap((task) =>
      (task.waits ?? []).filter((wait) => !wait.isTold && holds(words.waitMark(task.id, wait.request))).map((wait) => ({ task, ...wait })),
    );
    if (ends.length || waits.length) await this.markTold(ends, waits);
    for (const task of ends) task.notice = "told";
    for (const { task, request } of waits) task.waits?.filter((wait) => wait.request === request).forEach((wait) => (wait.isTold = true));
  }

  private async markTold(ends: Task[], waits: { task: Task; request: string }[]): Promise<void> {
    await this.registry.change((rows) => {
      for (const row of rows) {
        // One that was resumed meanwhile has another end before it.
        if (row.notice === "due" && ends.some(({ id, resumes }) => id === row.id && resumes === row.resumes)) row.notice = "told";
        for (const wait of row.waits ?? []) {
          if (waits.some(({ task, request }) => task.id === row.id && request === wait.request)) wait.isTold = true;
        }
      }
    });
  }

  private async inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.turns.get(key) ?? Promise.resolve()).then(work, work);
    this.turns.set(key, mine);
    const done = () => void (this.turns.get(key) === mine && this.turns.delete(key));
    mine.then(done, done);
    return mine;
  }
}

/** How a task has ended, by what its session holds; undefined where it has not. */
export function judge(messages: Message[], task: Task, failure: string | undefined): End | undefined {
  const answers = turn(messages, task).filter(({ info }) => info.role === "assistant");
  const last = answers.at(-1);
  if (!last) return failure ? { status: "error", reason: failure } : undefined;
  const info = last.info as AssistantMessage;
  if (info.error?.name === "MessageAbortedError") return { status: "cancelled", reason: "it was interrupted" };
  if (info.error) return { status: "error", reason: told(info.error) };
  if (!info.time.completed || !info.finish) return failure ? { status: "error", reason: failure } : undefined;
  if (info.finish === "tool-calls" || info.finish === "unknown" || !text(last)) {
    return { status: "error", reason: "it ended without a report" };
  }
  return { status: "completed" };
}

/** What a task has said last, and which tools it used since its prompt. */
function said(messages: Message[], task: Task): { text: string; tools: string[] } {
  const answers = turn(messages, task).filter(({ info }) => info.role === "assistant");
  const tools = answers.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "tool" ? [part.tool] : [])));
  const last = answers.findLast((message) => text(message));
  return { text: last ? text(last) : "", tools };
}

function text({ parts }: Message): string {
  return parts.flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : [])).join("\n").trim();
}

/** What a task's session holds since its last prompt, that one included. */
function turn(messages: Message[], { after }: Task): Message[] {
  return messages.slice(messages.findIndex(({ info }) => info.id === after) + 1);
}

/** Whether a running turn has calls in its last step, so that a further request comes whatever is added. */
function hasOpenStep(messages: Message[]): boolean {
  const last = messages.findLast(({ info }) => info.role === "assistant");
  if (!last) return false;
  const { finish, error } = last.info as AssistantMessage;
  const isOpen = last.parts.some((part) => part.type === "tool" && (part.state.status === "running" || part.state.status === "pending"));
  return !error && (isOpen || finish === "tool-calls");
}

/** Errors are told before cancellations, and those before what went well. */
function urgency({ status }: Task): number {
  return status === "error" || status === "lost" ? 0 : status === "cancelled" ? 1 : 2;
}

function before(messages: Message[], messageID: string): Message[] {
  const place = messages.findIndex(({ info }) => info.id === messageID);
  return place < 0 ? messages : messages.slice(0, place);
}

/** What a session's last prompt was run with. */
function settingsOf(messages: Message[]): Settings | undefined {
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

/** What a task is run with: all that stands before the conversation is its parent's, but for another agent's own model. */
function settingsFor(agent: Agent, messages: Message[], caller: Caller): Settings {
  const parent = settingsOf(messages);
  if (!parent) throw new Error(`the session ${caller.sessionID} has no message of the user`);
  if (agent.name === caller.agent) return { ...parent, agent: agent.name };
  const { system: _, variant, ...rest } = parent;
  const own = agent.model ? { model: agent.model, variant: agent.variant } : { variant };
  return { ...rest, ...own, agent: agent.name };
}

function prompted(id: string, told: string, prompt: string): Text[] {
  return [{ text: words.preamble(id, told), synthetic: true }, { text: prompt }];
}

/** Does something with each, some at once, and fails with the first that fails. */
async function each<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
