// The tasks that this plugin has started, in one file that survives restarts. Every change reads the file, writes it anew beside itself
// and renames it, under a lock that all processes of OpenCode share.

import { randomBytes } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { lock } from "proper-lockfile";

import type { Settings } from "./host.js";

/** What a task's session begins with: nothing, its parent's conversation cut or whole, or a rendered text of it. */
export type Context = "fresh" | "spec" | "full" | "digest";

/** `resumed` is a task that works again; `lost` one whose OpenCode ended before it. */
export type Status = "running" | "resumed" | "completed" | "error" | "cancelled" | "lost";

/** A process, told from a later one of the same number by when it began. */
export interface Owner {
  pid: number;
  began: string;
}

export interface Task {
  id: string;
  /** The session that started it, and where. */
  parent: string;
  directory: string;
  description: string;
  prompt: string;
  settings: Settings & { agent: string };
  context: Context;
  /** Its own session, once there is one. */
  session?: string;
  /** The last message before its last prompt: what comes after it is the task's turn. */
  after?: string;
  status: Status;
  /** Why it ended as `error`, `cancelled` or `lost`. */
  reason?: string;
  owner: Owner;
  /** Tasks that are started while one of the batch works belong to the batch. */
  batch: string;
  createdMs: number;
  /** When the last turn began and ended. */
  startedMs: number;
  endedMs?: number;
  resumes: number;
  /** What it is told before its first prompt. Without it the session was not made ready. */
  lead?: string;
  /** The message that is its last report. */
  report?: string;
  /** The notice of the last end: not yet due, to be sent, or in the parent's conversation. */
  notice?: "due" | "told";
  /** Who is about to tell of it. Nobody else does while that one is there. */
  teller?: { plugin: string; owner: Owner };
  /** What it waits for, and the requests that the parent was told of. */
  waits?: { request: string; what: string; isTold: boolean }[];
  /** What it asked for last and was refused. */
  refused?: string;
  /** Left out of the list; what it was stays. */
  isCleared?: boolean;
}

/** Ended tasks beyond this number go, the oldest first. */
const ENDED_MAX = 2_000;
/** A lock that nobody has renewed for so long belongs to a process that is gone. */
const LOCK_STALE_MS = 5_000;
const LOCK_WAIT_MS = 30_000;
const LOCK_LOOK_MS = 20;
/** The form of the file. A later one is refused, not rewritten. */
const VERSION = 1;

/** The file cannot be used as it is. */
export class RegistryError extends Error {}

/** A task is named by an id, and no task or more than one has it. */
export class IdError extends Error {}

export class Registry {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(readonly file: string = join(dataHome(), "opencode-tine", "tasks.json")) {}

  /** All tasks, oldest first. A file that cannot be read is an error: to take it for empty would lose it with the next change. */
  async all(): Promise<Task[]> {
    const text = await readFile(this.file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return [];
    const kept = parse(text);
    if (typeof kept === "string") throw new RegistryError(`${this.file} ${kept}; move it away to begin a new one`);
    return kept;
  }

  /** Changes the tasks, and answers what `change` answers. One change at a time, of all processes. */
  async change<T>(change: (tasks: Task[]) => T): Promise<T> {
    const mine = this.turn.then(() => this.exclusively(change));
    this.turn = mine.catch(() => undefined);
    return mine;
  }

  /** Changes one task where it still is there. */
  async update(id: string, change: (task: Task) => void): Promise<Task | undefined> {
    return this.change((tasks) => {
      const task = tasks.find((candidate) => candidate.id === id);
      if (task) change(task);
      return task;
    });
  }

  private async exclusively<T>(change: (tasks: Task[]) => T): Promise<T> {
    const release = await this.locked().catch((error: Error) => {
      throw new RegistryError(`${this.file} cannot be written: ${error.message}`);
    });
    try {
      const tasks = await this.all();
      const answer = change(tasks);
      await this.write(withoutTheOldest(tasks));
      return answer;
    } finally {
      await release().catch(() => undefined);
    }
  }

  private async locked(): Promise<() => Promise<void>> {
    await mkdir(dirname(this.file), { recursive: true });
    for (const deadline = Date.now() + LOCK_WAIT_MS; ; ) {
      try {
        // A process that stood still for long may lose the lock. The file is whole all the same.
        return await lock(this.file, { realpath: false, stale: LOCK_STALE_MS, onCompromised: () => undefined });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ELOCKED" || Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, LOCK_LOOK_MS));
      }
    }
  }

  private async write(tasks: Task[]): Promise<void> {
    // Under the lock, so that one that a crash left is written over.
    const beside = `${this.file}.new`;
    const file = await open(beside, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify({ version: VERSION, tasks }, null, 1));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, this.file);
  }
}

/** The one task that an id, a beginning of it, or a session names. */
export function find(tasks: Task[], id: string): Task {
  const wanted = id.trim();
  const found = tasks.filter((task) => task.id === wanted || task.session === wanted);
  const candidates = found.length || !wanted ? found : tasks.filter((task) => task.id.startsWith(wanted));
  const [task, other] = candidates;
  if (!task) throw new IdError(`There is no task "${id}" of this session. superagents_list shows what there is.`);
  if (other) {
    throw new IdError(`"${id}" is the beginning of several ids: ${candidates.map((each) => each.id).join(", ")}.`);
  }
  return task;
}

/** An id that no task has. */
export function newId(tasks: Task[]): string {
  for (;;) {
    const id = randomBytes(4).toString("hex");
    if (!tasks.some((task) => task.id === id)) return id;
  }
}

export function isActive({ status }: Task): boolean {
  return status === "running" || status === "resumed";
}

/** Whether a task is this process's to end and to tell of: its own, or that of a process that is gone. */
export function isOurs({ owner: theirs }: Task): boolean {
  return theirs.pid === owner().pid || !isAlive(theirs);
}

let self: Owner | undefined;

/** This process. */
export function owner(): Owner {
  self ??= { pid: process.pid, began: began(process.pid) ?? "" };
  return self;
}

export function isSame(one: Owner, other: Owner): boolean {
  return one.pid === other.pid && one.began === other.began;
}

/** Whether a process still is there. */
export function isAlive({ pid, began: then }: Owner): boolean {
  return began(pid) === then;
}

/** When a process began, in the system's own terms; undefined for one that is gone. */
function began(pid: number): string | undefined {
  try {
    // The 22nd field counts from the boot; the name before it, in brackets, may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\)/s, "").trim().split(" ");
    return fields[0] === "Z" ? undefined : `${fields[19]} ${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}`;
  } catch {
    // No /proc: a system that is not Linux, or the process is gone.
  }
  if (process.platform === "linux") return undefined;
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The tasks in a file, or what is wrong with it. */
function parse(text: string): Task[] | string {
  let kept: { version?: number; tasks?: Task[] };
  try {
    kept = JSON.parse(text) as typeof kept;
  } catch {
    return "is not a list of tasks";
  }
  if (typeof kept?.version === "number" && kept.version > VERSION) return "was written by a later opencode-tine";
  const isTask = (row: Task | null) => typeof row?.id === "string" && typeof row.parent === "string" && typeof row.status === "string" && !!row.owner;
  return Array.isArray(kept?.tasks) && kept.tasks.every(isTask) ? kept.tasks : "is not a list of tasks";
}

function withoutTheOldest(tasks: Task[]): Task[] {
  const ended = tasks.filter((task) => !isActive(task));
  const gone = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_MAX)));
  return tasks.filter((task) => !gone.has(task));
}

function dataHome(): string {
  return process.env["XDG_DATA_HOME"] || join(homedir(), ".local", "share");
}
