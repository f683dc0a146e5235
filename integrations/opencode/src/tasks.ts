// The life of a task: started, resumed, ended, lost.

import { differences, narrowed } from "./agents.js";
import { plan, whole, type Statistics } from "./cut.js";
import { digest, hasTine } from "./digest.js";
import { Host, told, type Agent, type Message, type PermissionRuleset, type Session } from "./host.js";
import { Notices } from "./notices.js";
import { find, isActive, isAlive, isOurs, isSame, newId, owner, type Context, type Registry, type Task } from "./registry.js";
import { before, isCut, judge, said, settingsOf, turn, type End } from "./turn.js";
import * as words from "./words.js";

/** A call that is refused. Its message is the answer. */
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

/** How long a task may wait for a provider that does not answer, unless the options say otherwise. */
export const RETRY_MS_DEFAULT = 300_000;
/** How often a call that waits for a task looks. */
const LOOK_MS = 250;
/** How often it is looked whether another OpenCode is gone, and its tasks with it. */
const TAKE_UP_MS = 10_000;
/** After a failure it is tried again, later each time. */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 60_000;
/** How long it is waited whether a task was interrupted alone, or OpenCode ends. */
const CUT_MS = 500;
/** Requests to OpenCode at once, where many messages or parts change. */
const AT_ONCE = 8;
/** Sessions above one another that are looked through for a worker. */
const ANCESTORS_MAX = 16;
const LOST: End = { status: "lost", reason: "OpenCode ended or was reloaded while it worked" };
/** What makes a text of an Anthropic conversation a cache breakpoint. */
const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

export class Tasks {
  private readonly notices: Notices;
  /** Since when a session waits for its provider. */
  private readonly retries = new Map<string, number>();
  /** The last error of a session, which may have no message that holds it. */
  private readonly failures = new Map<string, string>();
  /** What happens to one session happens in order. */
  private readonly turns = new Map<string, Promise<unknown>>();
  private watching: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(
    private readonly host: Host,
    private readonly registry: Registry,
    private readonly retryMs: number,
  ) {
    this.notices = new Notices(host, registry, (key, work) => this.inOrder(key, work));
  }

  // ---- starting

  /** Starts a task, and answers what the model is to know of it. */
  async start(wanted: Start, caller: Caller): Promise<string> {
    const agents = (await this.host.agents()).filter(({ hidden }) => !hidden);
    const own = agents.find(({ name }) => name === caller.agent);
    const name = wanted.agent ?? caller.agent;
    const agent = agents.find((candidate) => candidate.name === name);
    if (!agent) {
      const known = agents.map((each) => each.name).join(", ");
      throw new Refusal(`There is no agent "${name}". Register it in OpenCode's configuration, or take one of: ${known}. Nothing was started.`);
    }
    if (wanted.context === "digest" && !(await hasTine())) throw new Refusal(words.NO_TINE);

    const parent = await this.host.session(caller.sessionID);
    if (!parent) throw new Refusal(`The session ${caller.sessionID} is gone; nothing was started.`);
    const messages = await this.host.messages(parent.id);
    const task = await this.registry.change((tasks) => {
      const row = newTask(tasks, wanted, parent.id, this.host.directory, settingsFor(agent, messages, caller));
      tasks.push(row);
      return row;
    });
    const made: { session?: string } = {};
    try {
      const { lead, answer } = await this.prepare(task, { parent, messages, caller, own, agent }, made);
      const session = made.session!;
      const ready = await this.registry.update(task.id, (row) => (row.lead = lead));
      if (!ready || !isActive(ready)) throw new Refusal(`Task ${task.id} was ended while it was started.`);
      await this.host.prompt(session, task.settings, [{ text: lead, synthetic: true }, { text: task.prompt }]);
      const still = (await this.registry.all()).find(({ id }) => id === task.id);
      if (!still || still.status === "cancelled") throw new Refusal(`Task ${task.id} was ended while it was started.`);
      return `${words.started(task)}\n${answer}\n${words.afterStart(task)}`;
    } catch (error) {
      // Nothing goes on without the context that was asked for.
      if (made.session) await this.host.delete(made.session).catch(() => undefined);
      await this.registry.update(task.id, (row) => {
        if (isActive(row)) Object.assign(row, { status: "error", reason: told(error), endedMs: Date.now(), notice: "told" });
        delete row.session;
      });
      throw error;
    }
  }

  /** Makes the task's session, up to its prompt. */
  private async prepare(
    task: Task,
    { parent, messages, caller, own, agent }: { parent: Session; messages: Message[]; caller: Caller; own: Agent | undefined; agent: Agent },
    made: { session?: string },
  ): Promise<{ lead: string; answer: string }> {
    const isFork = task.context === "spec" || task.context === "full";
    const text = task.context === "digest" ? await digest(before(messages, caller.messageID)) : undefined;
    const title = `${task.description} (task ${task.id})`;
    const session = isFork ? await this.host.fork(parent.id, caller.messageID) : await this.host.create(parent.id, title);
    made.session = session.id;
    await this.registry.update(task.id, (row) => (row.session = session.id));
    await this.host.entitle(session.id, title, entitled(parent.permission ?? [], own, agent));
    if (text) await this.host.note(session.id, task.settings, [{ text: text.text, synthetic: true }]);
    const inherited = isFork || text ? await this.host.messages(session.id) : [];
    await this.registry.update(task.id, (row) => (row.after = inherited.at(-1)?.info.id));
    if (!isFork) {
      return text
        ? { lead: words.preamble(task.id, words.digested(text.stats)), answer: words.digestAnswer(text.stats) }
        : { lead: words.preamble(task.id, words.FRESH), answer: words.FRESH_ANSWER };
    }
    const statistics = task.context === "full" ? whole(inherited) : await this.cut(inherited, task);
    const differs = own ? differences(own, agent, own.name === agent.name ? [] : await this.host.tools()) : [];
    const answer = words.cacheAnswer(statistics, task.context === "full", differs, agent.name);
    return { lead: words.preamble(task.id, words.inherited(statistics)), answer };
  }

  /** Cuts a fork in place. */
  private async cut(inherited: Message[], task: Task): Promise<Statistics> {
    const provider = await this.host.providerPackage(task.settings.model);
    const { dropped, replaced, marked, statistics } = plan(inherited, provider?.includes("anthropic") ?? false);
    await each(dropped, (message) => this.host.deleteMessage(message));
    await each(replaced, (part) => this.host.replacePart(part));
    if (marked) await this.host.replacePart({ ...marked, metadata: { ...marked.metadata, ...MARK } });
    return statistics;
  }

  /** Gives a task that has ended another prompt. */
  async resume(id: string, prompt: string, caller: Caller): Promise<string> {
    const task = find(await this.ofParent(caller.sessionID), id);
    if (isActive(task)) throw new Refusal(`Task ${task.id} still works. It can be resumed when it has ended.`);
    const { session, lead } = task;
    // Without its lead it was not ready: it may have half of what it was to inherit, and more than it may do.
    const own = session && lead ? await this.host.session(session) : undefined;
    if (!session || !lead || !own) throw new Refusal(`Task ${task.id} has no session to resume; start a new task.`);
    // A prompt would throw away what is undone, and what it changed with it.
    if (own.revert) throw new Refusal(words.undone(task));
    if (!(await this.host.agents()).some(({ name }) => name === task.settings.agent)) {
      throw new Refusal(`The agent "${task.settings.agent}" of task ${task.id} is gone; start a new task.`);
    }
    const messages = await this.host.messages(session);
    // A prompt that was given moments before a crash may have left no trace.
    const isThere = turn(messages, task).some(({ info }) => info.role === "user");
    const before = structuredClone(task);
    const taken = await this.registry.update(task.id, (row) => {
      if (isActive(row)) throw new Refusal(`Task ${row.id} still works. It can be resumed when it has ended.`);
      const after = messages.at(-1)?.info.id;
      Object.assign(row, { status: "resumed", resumes: row.resumes + 1, prompt, after, owner: owner(), startedMs: Date.now(), isCleared: false });
      for (const key of ["endedMs", "reason", "report", "notice", "waits", "refused"] as const) delete row[key];
    });
    if (!taken) throw new Refusal(`Task ${task.id} is gone.`);
    this.failures.delete(session);
    const first = isThere ? [] : [...(task.resumes ? [] : [{ text: lead, synthetic: true }]), { text: task.prompt }];
    try {
      await this.host.prompt(session, task.settings, [...first, { text: prompt }]);
    } catch (error) {
      await this.registry.change((rows) => {
        const place = rows.findIndex((row) => row.id === task.id);
        if (place >= 0) rows[place] = before;
      });
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
    return this.notices.answering(task, async () => {
      const now = await this.ended(task, waitMs, stop);
      const messages = now.session ? await this.host.messages(now.session).catch(() => []) : [];
      const answer = words.output(now, said(messages, now), Date.now());
      if (!isActive(now) && !stop.aborted) await this.notices.markTold([now], []);
      return answer;
    });
  }

  /** A task as it is when it has ended, or after so long. */
  private async ended(task: Task, waitMs: number, stop: AbortSignal): Promise<Task> {
    for (const deadline = Date.now() + waitMs; isActive(task) && Date.now() < deadline && !stop.aborted; ) {
      await pause(LOOK_MS);
      task = (await this.registry.all()).find((row) => row.id === task.id) ?? task;
    }
    return task;
  }

  async cancel(id: string, caller: Caller): Promise<string> {
    const task = find(await this.ofParent(caller.sessionID), id);
    if (isActive(task) && !isOurs(task)) throw new Refusal(words.elsewhere(task));
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
    const elsewhere = tasks.filter((task) => isActive(task) && !isOurs(task));
    const working = tasks.filter((task) => isActive(task) && isOurs(task));
    for (const task of working) {
      await this.end(task.id, { status: "cancelled", reason: "all tasks were cleared" }, "told");
      if (task.session) await this.host.abort(task.session);
    }
    const kept = new Set(elsewhere.map(({ id }) => id));
    await this.registry.change((rows) => {
      for (const row of rows) if (row.parent === caller.sessionID && !kept.has(row.id)) row.isCleared = true;
    });
    return [words.cleared(tasks.length - kept.size, working.length), ...elsewhere.map(words.elsewhere)].join("\n");
  }

  /** Records the end of a task, where none is recorded. Returns false where it has ended before. */
  private async end(id: string, end: End, notice: "due" | "told"): Promise<boolean> {
    const nowMs = Date.now();
    let isMine = false;
    const task = await this.registry.update(id, (row) => {
      if (!isActive(row)) return;
      isMine = true;
      Object.assign(row, end, { endedMs: nowMs, notice, waits: [] });
    });
    if (isMine && task && notice === "due") this.notices.soon(task.parent);
    return isMine;
  }

  // ---- what happens in OpenCode

  async idle(sessionID: string): Promise<void> {
    this.notices.moves(sessionID);
    await this.settle(sessionID);
  }

  /** A session is as `revert` says: it has messages that are undone, or none. */
  updated(sessionID: string, revert: object | undefined): void {
    if (!revert) this.notices.whole(sessionID);
  }

  /** A call runs in a session. */
  calls(sessionID: string): void {
    this.notices.moves(sessionID);
  }

  async failed(sessionID: string, error: unknown): Promise<void> {
    if (!(await this.ofSession(sessionID))) return;
    // An interruption is stored with its message; the event may come when the next turn has begun.
    const { name } = (error ?? {}) as { name?: string };
    if (name !== "MessageAbortedError") this.failures.set(sessionID, told(error));
    await this.settle(sessionID);
  }

  /** OpenCode tries again, as long as the provider asks for, of a worker and of what works below it. */
  async retried(sessionID: string, attempt: number, why: string): Promise<void> {
    const since = attempt <= 1 ? undefined : this.retries.get(sessionID);
    if (since === undefined) {
      this.retries.set(sessionID, Date.now());
      setTimeout(() => void this.giveUp(sessionID, why).catch((error: unknown) => this.host.warn(told(error))), this.retryMs).unref?.();
    } else if (Date.now() - since >= this.retryMs) {
      await this.giveUp(sessionID, why);
    }
  }

  private async giveUp(sessionID: string, why: string): Promise<void> {
    const since = this.retries.get(sessionID);
    if (this.isStopped || since === undefined || Date.now() - since < this.retryMs) return;
    if ((await this.host.statuses())[sessionID]?.type !== "retry") return;
    const task = await this.workerOf(sessionID);
    if (!task || !isOurs(task)) return;
    this.retries.delete(sessionID);
    const reason = `the provider was not reached within ${Math.round(this.retryMs / 1000)} s: ${why}`;
    if (!(await this.end(task.id, { status: "error", reason }, "due"))) return;
    for (const session of new Set([task.session!, sessionID])) await this.host.abort(session);
  }

  async asked(sessionID: string, request: string, what: string): Promise<void> {
    await this.inOrder(request, async () => {
      const worker = await this.workerOf(sessionID);
      if (!worker || !isActive(worker)) return;
      await this.registry.update(worker.id, (row) => {
        row.waits = [...(row.waits ?? []).filter((wait) => wait.request !== request), { request, what, isTold: false }];
      });
      this.notices.soon(worker.parent);
    });
  }

  /** A request is answered, or refused. */
  async answered(request: string, isRefused: boolean): Promise<void> {
    await this.inOrder(request, async () => {
      if (!(await this.registry.all()).some(({ waits }) => waits?.some((wait) => wait.request === request))) return;
      await this.registry.change((tasks) => {
        for (const task of tasks) {
          const wait = task.waits?.find((each) => each.request === request);
          if (!wait) continue;
          task.waits = task.waits?.filter((each) => each !== wait);
          if (isRefused) task.refused = wait.what;
        }
      });
    });
  }

  /** The tasks of a deleted session go with it. Forks are not OpenCode's to delete, so they are ours. */
  async deleted(sessionID: string): Promise<void> {
    const tasks = await this.registry.all();
    const own = tasks.find(({ session }) => session === sessionID);
    if (own) {
      await this.host.abort(sessionID);
      await this.end(own.id, { status: "cancelled", reason: "its session was deleted" }, "due");
      await this.registry.update(own.id, (row) => delete row.session);
    }
    const orphans = tasks.filter(({ parent }) => parent === sessionID);
    if (!orphans.length) return;
    await this.registry.change((rows) => {
      const kept = rows.filter(({ parent }) => parent !== sessionID);
      rows.splice(0, rows.length, ...kept);
    });
    await each(
      orphans.flatMap(({ session }) => (session ? [session] : [])),
      (session) => this.host.delete(session),
    );
  }

  /** Looks now and from time to time for what an OpenCode that is gone has left behind. Ends with the process. */
  watch(): void {
    const look = () => this.takeUp().catch((error: unknown) => this.host.warn(told(error)));
    setTimeout(look, 0);
    this.watching = setInterval(look, TAKE_UP_MS);
    this.watching.unref?.();
  }

  /** OpenCode ends or is reloaded, and interrupts all that works here. Nothing asks it any more: a request would begin it anew. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.watching);
    await this.registry.change((rows) => {
      // One that is not ready yet is still being started, or taken up later.
      const working = rows.filter((row) => isActive(row) && row.lead && row.directory === this.host.directory && isSame(row.owner, owner()));
      for (const row of working) Object.assign(row, LOST, { endedMs: Date.now(), notice: "due", waits: [] });
    });
    await this.notices.stop();
  }

  /** Finds tasks that nobody saw end, and notices that nobody sent. */
  async takeUp(): Promise<void> {
    if (this.isStopped) return;
    const tasks = (await this.registry.all()).filter(({ directory }) => directory === this.host.directory);
    for (const task of tasks.filter((row) => isActive(row) && !isAlive(row.owner))) {
      // Without its lead it was not ready, and nobody is to go on with it.
      if (task.session && !task.lead) await this.host.delete(task.session);
      const messages = task.session && task.lead ? await this.host.messages(task.session).catch(() => []) : [];
      const end = judge(messages, task, undefined);
      await this.end(task.id, end && !isCut(end) ? end : LOST, "due");
      if (!task.lead) await this.registry.update(task.id, (row) => delete row.session);
    }
    for (const { parent, notice } of tasks) if (notice === "due") this.notices.soon(parent);
  }

  /** Looks whether a session's task has ended. Events come twice and out of order; what is stored decides. */
  private async settle(sessionID: string, againMs = AGAIN_MS): Promise<void> {
    await this.inOrder(sessionID, async () => {
      const task = await this.ofSession(sessionID);
      if (!task || !isActive(task) || !isOurs(task)) return;
      if (this.isStopped || (await this.host.statuses())[sessionID]) return;
      const end = judge(await this.host.messages(sessionID), task, this.failures.get(sessionID));
      if (!end) return;
      if (!isCut(end)) return void (await this.end(task.id, end, "due"));
      await pause(CUT_MS);
      // Where OpenCode ends, this one has ended already, as lost; what its user refused is known now.
      const now = await this.ofSession(sessionID);
      if (!now || !isActive(now) || this.isStopped) return;
      await this.end(task.id, judge(await this.host.messages(sessionID), now, this.failures.get(sessionID)) ?? end, "due");
      this.failures.delete(sessionID);
      this.retries.delete(sessionID);
    }).catch((error: unknown) => {
      if (this.isStopped) return;
      // No later event may come.
      void this.host.warn(`the end of ${sessionID} is not recorded yet: ${told(error)}`);
      setTimeout(() => void this.settle(sessionID, Math.min(AGAIN_MS_MAX, 2 * againMs)), againMs).unref?.();
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

function newTask(tasks: Task[], wanted: Start, parent: string, directory: string, settings: Task["settings"]): Task {
  const id = newId(tasks);
  const working = tasks.find((other) => other.parent === parent && isActive(other));
  const { description, prompt, context } = wanted;
  const nowMs = Date.now();
  const batch = working?.batch || id;
  return { id, parent, directory, description, prompt, settings, context, status: "running", owner: owner(), batch, createdMs: nowMs, startedMs: nowMs, resumes: 0 };
}

/** What a task is run with: all that stands before the conversation is its parent's, but for another agent's own model. */
function settingsFor(agent: Agent, messages: Message[], caller: Caller): Task["settings"] {
  const parent = settingsOf(messages);
  if (!parent) throw new Error(`the session ${caller.sessionID} has no message of the user`);
  if (agent.name === caller.agent) return { ...parent, agent: agent.name };
  const { system: _, variant, ...rest } = parent;
  const own = agent.model ? { model: agent.model, variant: agent.variant } : { variant };
  return { ...rest, ...own, agent: agent.name };
}

/** Rules for a task's session, which count behind those of its agent: a worker may do what its parent may, and no more. */
function entitled(parent: PermissionRuleset, own: Agent | undefined, agent: Agent): PermissionRuleset {
  return own && own.name !== agent.name ? narrowed([...own.permission, ...parent], agent.permission) : parent;
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Does something with each, some at once, and fails with the first that fails. */
async function each<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
