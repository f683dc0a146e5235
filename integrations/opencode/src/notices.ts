// What parents are told of their tasks: each end and each wait once, several at a time in one message.

import { randomUUID } from "node:crypto";

import { told, type Host, type Message, type Settings, type Text } from "./host.js";
import { isActive, isAlive, isOurs, owner, type Registry, type Task } from "./registry.js";
import { hasOpenCall, settingsOf } from "./turn.js";
import * as words from "./words.js";

/** Ends within this time are one notice. */
const COALESCE_MS = 200;
/** After a failure it is tried again, later each time. */
const AGAIN_MS = 1_000;
const AGAIN_MS_MAX = 60_000;
/** How long the end of OpenCode waits for a notice that is being stored. */
const STOP_MS_MAX = 2_000;

interface Wait {
  task: Task;
  request: string;
  what: string;
}

export class Notices {
  /** Tasks that a call waits for: their end is its answer. */
  private readonly awaited = new Map<string, number>();
  /** Parents whose notices wait for the end of a turn, or for its next call. */
  private readonly held = new Set<string>();
  /** Parents in which messages are undone: a message that is added would throw them away, and what they changed with them. */
  private readonly undone = new Set<string>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  /** This plugin among those of all processes, and of this one, in which OpenCode may load it more than once. */
  private readonly plugin = randomUUID();
  private readonly telling = new Set<Promise<void>>();
  private isStopped = false;

  constructor(
    private readonly host: Host,
    private readonly registry: Registry,
    private readonly inOrder: <T>(key: string, work: () => Promise<T>) => Promise<T>,
  ) {}

  /** Holds back the notice of a task's end while `work` may answer with it. */
  async answering<T>(task: Task, work: () => Promise<T>): Promise<T> {
    this.awaited.set(task.id, (this.awaited.get(task.id) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const others = (this.awaited.get(task.id) ?? 1) - 1;
      if (others > 0) this.awaited.set(task.id, others);
      else this.awaited.delete(task.id);
      // It may have ended while nobody could be told.
      this.soon(task.parent);
    }
  }

  /** Tells a parent in a moment what there is to tell. */
  soon(parent: string, waitMs = COALESCE_MS, againMs = AGAIN_MS): void {
    if (this.isStopped || this.timers.has(parent)) return;
    const timer = setTimeout(() => {
      this.timers.delete(parent);
      const telling = this.inOrder(parent, () => this.tell(parent)).catch((error: unknown) => {
        if (this.isStopped) return;
        void this.host.warn(`a notice to ${parent} waits: ${told(error)}`);
        this.soon(parent, againMs, Math.min(AGAIN_MS_MAX, 2 * againMs));
      });
      this.telling.add(telling);
      void telling.then(() => this.telling.delete(telling));
    }, waitMs);
    timer.unref?.();
    this.timers.set(parent, timer);
  }

  /** Tells no more: a request to an OpenCode that ends begins it anew. What is due is left to the next. */
  async stop(): Promise<void> {
    this.isStopped = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    await Promise.race([Promise.all(this.telling), new Promise((resolve) => setTimeout(resolve, STOP_MS_MAX).unref?.())]);
  }

  /** A turn of a parent has ended, or has a call now, and so a further request comes: a notice forces none. */
  moves(parent: string): void {
    if (this.held.has(parent)) this.soon(parent);
  }

  /** Nothing is undone in a parent: it was redone, or its user went on without. */
  whole(parent: string): void {
    if (this.undone.has(parent)) this.soon(parent);
  }

  private async tell(parent: string): Promise<void> {
    this.held.delete(parent);
    this.undone.delete(parent);
    const tasks = (await this.registry.all()).filter((task) => task.parent === parent);
    const { ends, waits } = this.news(tasks);
    if ((!ends.length && !waits.length) || !(await this.host.session(parent))) return;
    const messages = await this.host.messages(parent);
    if ((await this.host.statuses())[parent] && !hasOpenCall(messages)) {
      this.held.add(parent);
      return;
    }
    const settings = settingsOf(messages) ?? tasks[0]!.settings;
    // A notice for an agent that is gone would be stored nowhere.
    const isThere = (await this.host.agents()).some(({ name }) => name === settings.agent);
    const claimed = await this.claim(parent);
    try {
      await this.tellOf(claimed, isThere ? settings : { model: settings.model }, tasks);
    } finally {
      await this.release(claimed);
    }
  }

  private async tellOf(claimed: Task[], settings: Settings, tasks: Task[]): Promise<void> {
    const parent = claimed[0]?.parent;
    if (!parent) return;
    // Read behind the claim: what another one told before it ended is there.
    await this.noteWhatWasTold(claimed, await this.host.messages(parent));
    const { ends, waits } = this.news(claimed);
    if (!ends.length && !waits.length) return;
    // Looked at last, as its user may undo at any time.
    if ((await this.host.session(parent))?.revert) {
      this.undone.add(parent);
      return;
    }
    if (this.isStopped) return;
    ends.sort((one, other) => urgency(one) - urgency(other));
    await this.host.note(parent, settings, notice(ends, waits, tasks));
    await this.markTold(ends, waits);
  }

  /** What there is to tell of these tasks. An end for which a call waits is that call's answer. */
  private news(tasks: Task[]): { ends: Task[]; waits: Wait[] } {
    // Another process that runs a task tells of it, and knows whether the parent is busy.
    const own = tasks.filter(isOurs);
    return {
      ends: own.filter((task) => task.notice === "due" && !this.awaited.has(task.id)),
      waits: own.flatMap((task) => (task.waits ?? []).filter(({ isTold }) => !isTold).map((wait) => ({ task, ...wait }))),
    };
  }

  /** Takes what there is to tell of a session's tasks, so that nobody else tells it. */
  private async claim(parent: string): Promise<Task[]> {
    return this.registry.change((rows) => {
      const { ends, waits } = this.news(rows.filter((row) => row.parent === parent));
      const news = new Set([...ends, ...waits.map(({ task }) => task)]);
      const free = [...news].filter(({ teller }) => !teller || teller.plugin === this.plugin || !isAlive(teller.owner));
      for (const row of free) row.teller = { plugin: this.plugin, owner: owner() };
      return structuredClone(free);
    });
  }

  private async release(claimed: Task[]): Promise<void> {
    if (!claimed.length) return;
    await this.registry.change((rows) => {
      for (const row of rows) if (row.teller?.plugin === this.plugin && claimed.some(({ id }) => id === row.id)) delete row.teller;
    });
  }

  /** A notice that was sent by an OpenCode that ended right after it is in the conversation. */
  private async noteWhatWasTold(tasks: Task[], messages: Message[]): Promise<void> {
    const texts = messages.flatMap(({ info, parts }) =>
      info.role === "user" ? parts.flatMap((part) => (part.type === "text" && part.synthetic ? [part.text] : [])) : [],
    );
    const holds = (mark: string) => texts.some((text) => text.includes(mark));
    const ends = tasks.filter((task) => task.notice === "due" && holds(words.endMark(task)));
    const waits: Wait[] = tasks.flatMap((task) =>
      (task.waits ?? []).filter((wait) => !wait.isTold && holds(words.waitMark(task.id, wait.request))).map((wait) => ({ task, ...wait })),
    );
    if (ends.length || waits.length) await this.markTold(ends, waits);
    for (const task of ends) task.notice = "told";
    for (const { task, request } of waits) task.waits?.filter((wait) => wait.request === request).forEach((wait) => (wait.isTold = true));
  }

  /** Notes that these ends and waits are told. */
  async markTold(ends: Task[], waits: Wait[]): Promise<void> {
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
}

/** Lines for the person, who sees them and whose model does not; and behind them what the model reads. */
function notice(ends: Task[], waits: Wait[], tasks: Task[]): Text[] {
  const shown = [
    ...ends.map((task) => `${words.endLine(task)}\n${words.progress(task, tasks)}`),
    ...waits.map(({ task, what }) => words.waitLine(task, what)),
  ];
  const hidden = [
    "<superagents-notice>",
    ...ends.map(words.endNotice),
    ...waits.map(({ task, request, what }) => words.waitNotice(task, request, what)),
    words.outlook(tasks.filter(isActive).length),
    "</superagents-notice>",
  ];
  return [
    { text: shown.join("\n"), ignored: true },
    { text: hidden.join("\n"), synthetic: true },
  ];
}

/** Errors are told before cancellations, and those before what went well. */
function urgency({ status }: Task): number {
  return status === "error" || status === "lost" ? 0 : status === "cancelled" ? 1 : 2;
}
