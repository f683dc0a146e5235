// A real OpenCode with the packed plugin, and `tine sim serve` in place of a provider.
//
// The environment says what runs: OPENCODE_BIN, TINE_BIN, PLUGIN (the packed plugin), as `cargo xtask hosts opencode` sets them.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { createOpencodeClient, type OpencodeClient, type Part, type Session } from "@opencode-ai/sdk/v2/client";

import type { Task } from "../../src/registry.js";

/** A hang, and nothing else, takes this long. */
const HANG_MS = 60_000;
const VERSION = "1.18.33";

/** A request as the provider got it. */
export interface Seen {
  number: number;
  body: { system: unknown; tools: unknown; messages: { role: string; content: Block[] | string }[] };
  usage: { uncached: number; write_short: number; write_long: number; read: number } | null;
}

export interface Block {
  type: string;
  text?: string;
  content?: string | Block[];
  cache_control?: unknown;
}

export class Machine {
  readonly place: string;
  readonly work: string;
  api!: OpencodeClient;
  private provider!: ChildProcess;
  private opencode!: ChildProcess;
  private url!: string;

  private constructor(private readonly withTine: boolean) {
    this.place = mkdtempSync(join(tmpdir(), "oc-"));
    this.work = join(this.place, "work");
    mkdirSync(this.work);
  }

  /** Starts both. `options` are the plugin's. */
  static async start({ options = {}, withTine = true }: { options?: object; withTine?: boolean } = {}): Promise<Machine> {
    const machine = new Machine(withTine);
    const scenario = resolve(env("SCENARIO"));
    machine.provider = spawn(env("TINE_BIN"), ["sim", "serve", "--scenario", scenario, "--log-bodies", machine.bodies], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    machine.url = (JSON.parse(await line(machine.provider, (text) => text.startsWith("{"))) as { anthropic: string }).anthropic;
    machine.configure(options);
    await machine.open();
    return machine;
  }

  private configure(options: object): void {
    const config = join(this.place, "config", "opencode");
    // OpenCode fetches the plugin's types at its first start, unless they are there.
    const types = join(config, "node_modules", "@opencode-ai");
    mkdirSync(types, { recursive: true });
    const dependencies = { "@opencode-ai/plugin": VERSION };
    writeFileSync(join(config, "package.json"), JSON.stringify({ dependencies }));
    const packages = { "": { dependencies }, "node_modules/@opencode-ai/plugin": { version: VERSION } };
    writeFileSync(join(config, "package-lock.json"), JSON.stringify({ name: "opencode", lockfileVersion: 3, requires: true, packages }));
    symlinkSync(resolve("node_modules/@opencode-ai/plugin"), join(types, "plugin"));
    const models = { "claude-test": { name: "test", limit: { context: 400_000, output: 8_000 } } };
    const npm = "@ai-sdk/anthropic";
    writeFileSync(
      join(config, "opencode.json"),
      JSON.stringify({
        autoupdate: false,
        share: "disabled",
        snapshot: false,
        model: "sim/claude-test",
        small_model: "sim/claude-test",
        // Installed as from npm: the path alone would load what lies beside the packed file.
        plugin: [[`opencode-tine@file:${resolve(env("PLUGIN"))}`, options]],
        agent: { same: { mode: "subagent", description: "as the one that builds", permission: { question: "allow", plan_enter: "allow" } } },
        provider: { sim: { npm, name: "sim", options: { baseURL: `${this.url}/v1`, apiKey: "none" }, models } },
      }),
    );
  }

  /** Starts OpenCode, and waits until it answers: what is asked before it listens is never answered. */
  async open(): Promise<void> {
    [this.opencode, this.api] = await this.another();
  }

  /** One more OpenCode over the same data. */
  async another(): Promise<[ChildProcess, OpencodeClient]> {
    const opencode = this.launch(["serve", "--port", "0", "--hostname", "127.0.0.1"]);
    const told = await line(opencode, (text) => text.includes("listening on"));
    const baseUrl = told.slice(told.indexOf("http")).trim();
    const waiting: typeof fetch = (input, init) => fetch(input, { signal: AbortSignal.timeout(HANG_MS), ...init });
    return [opencode, createOpencodeClient({ baseUrl, fetch: waiting, throwOnError: true })];
  }

  /** One turn in a session of its own, by an OpenCode that ends with it. */
  async run(text: string): Promise<void> {
    const opencode = this.launch(["run", text]);
    opencode.stdout!.resume();
    await new Promise((resolve) => opencode.once("exit", resolve));
  }

  private launch(args: string[]): ChildProcess {
    const tine = this.withTine ? [dirname(resolve(env("TINE_BIN")))] : [];
    return spawn(resolve(env("OPENCODE_BIN")), args, {
      cwd: this.work,
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        PATH: [...tine, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
        HOME: this.place,
        XDG_CONFIG_HOME: join(this.place, "config"),
        XDG_DATA_HOME: join(this.place, "data"),
        XDG_CACHE_HOME: join(this.place, "cache"),
        XDG_STATE_HOME: join(this.place, "state"),
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
    });
  }

  /** Ends OpenCode as a crash does, and starts it anew. */
  async crash(): Promise<void> {
    await ended(this.opencode);
    await this.open();
    await this.api.session.list({ directory: this.work });
  }

  async stop(): Promise<void> {
    await ended(this.opencode);
    await ended(this.provider);
    if (!process.env["KEEP"]) rmSync(this.place, { recursive: true, force: true });
  }

  async session(title: string): Promise<Session> {
    return (await this.api.session.create({ directory: this.work, title })).data!;
  }

  /** Says something in a session, and waits for the last words of the turn. */
  async say(session: Session, text: string, agent?: string, api = this.api): Promise<string> {
    const { data } = await api.session.prompt({ sessionID: session.id, agent, parts: [{ type: "text", text }] });
    return words(data!.parts);
  }

  async messages(sessionID: string): Promise<{ info: { id: string; role: string }; parts: Part[] }[]> {
    return (await this.api.session.messages({ sessionID })).data as never;
  }

  /** Lets a worker that waits at its gate end. */
  openGate(): void {
    writeFileSync(join(this.work, "gate"), "");
  }

  async isBusy(sessionID: string): Promise<void> {
    await until(async () => ((await this.api.session.status({ directory: this.work })).data![sessionID] ? true : undefined));
  }

  /** Waits until a call of this tool runs. */
  async calls(session: Session, tool: string): Promise<void> {
    const runs = (part: Part) => part.type === "tool" && part.tool === tool && part.state.status === "running";
    await until(async () => ((await this.messages(session.id)).some(({ parts }) => parts.some(runs)) ? true : undefined));
  }

  /** What the notices to a session say, in one text. */
  async notices(session: Session): Promise<string> {
    const parts = (await this.messages(session.id)).flatMap((message) => message.parts);
    return parts.flatMap((part) => (part.type === "text" && part.synthetic && part.text.startsWith("<superagents-notice") ? [part.text] : [])).join("\n");
  }

  /** The plugin's file. */
  tasks(): Task[] {
    const file = join(this.place, "data", "opencode-tine", "tasks.json");
    return (JSON.parse(readFileSync(file, "utf8")) as { tasks: Task[] }).tasks;
  }

  /** Writes the plugin's file, as an OpenCode that died may have left it. */
  write(tasks: Task[]): void {
    writeFileSync(join(this.place, "data", "opencode-tine", "tasks.json"), JSON.stringify({ version: 1, tasks }));
  }

  /** The only task that a session has started, as it is now. */
  task(session: Session): Task {
    const [task, other] = this.tasks().filter(({ parent }) => parent === session.id);
    if (!task || other) throw new Error(`${session.title} has not one task: ${JSON.stringify(this.tasks())}`);
    return task;
  }

  /** Waits until the tasks of a session have ended and are told. */
  async told(session: Session): Promise<Task[]> {
    return until(() => {
      const own = this.tasks().filter(({ parent }) => parent === session.id);
      return own.length && own.every(({ notice }) => notice === "told") ? own : undefined;
    });
  }

  private get bodies(): string {
    return join(this.place, "bodies");
  }

  /** The requests that were answered, in the order of their arrival. */
  requests(): Seen[] {
    const index = readFileSync(join(this.bodies, "index.jsonl"), "utf8").trim().split("\n").filter(Boolean);
    const seen = index.map((entry) => JSON.parse(entry) as { n: number; file: string; usage: Seen["usage"] });
    seen.sort((one, other) => one.n - other.n);
    return seen.map(({ n, file, usage }) => ({
      number: n,
      usage,
      body: JSON.parse(readFileSync(join(this.bodies, file), "utf8")) as Seen["body"],
    }));
  }

  /** How many requests came, answered or not. */
  requestCount(): number {
    return readdirSync(this.bodies).filter((name) => name.endsWith(".json")).length;
  }

  /** The first requests of the tasks that a session started. */
  firstRequests(session: Session): Seen[] {
    const marks = this.tasks().filter(({ parent }) => parent === session.id).map(({ id }) => `<superagents-task id="${id}">`);
    const all = this.requests();
    return marks.map((mark) => {
      const found = all.find(({ body }) => JSON.stringify(body.messages.at(-1)).includes(JSON.stringify(mark).slice(1, -1)));
      if (!found) throw new Error(`no request holds ${mark}`);
      return found;
    });
  }

  /** The last request of a session that ends with these words of the user. */
  requestOf(text: string): Seen {
    const found = this.requests().findLast(({ body }) => JSON.stringify(body.messages).includes(JSON.stringify(text).slice(1, -1)));
    if (!found) throw new Error(`no request holds ${text}`);
    return found;
  }
}

/** Waits for something, and fails where it hangs. */
export async function until<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + HANG_MS; Date.now() < deadline; ) {
    const found = await Promise.resolve().then(look).catch(() => undefined);
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`it never came: ${look}`);
}

/** All messages but for the marks, which move from request to request. */
export function bare(seen: Seen): string[] {
  return seen.body.messages.flatMap(({ role, content }) => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return blocks.map(({ cache_control: _, ...block }) => JSON.stringify({ role, ...block }));
  });
}

/** The tokens that a request's prompt has. */
export function prompt({ usage }: Seen): number {
  return usage!.uncached + usage!.read + usage!.write_short + usage!.write_long;
}

export function words(parts: Part[]): string {
  return parts.flatMap((part) => (part.type === "text" && !part.ignored ? [part.text] : [])).join("\n");
}

function env(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run cargo xtask hosts opencode`);
  return value;
}

async function line(child: ChildProcess, isIt: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout! });
    lines.on("line", (text) => isIt(text) && resolve(text));
    child.once("exit", (code) => reject(new Error(`${child.spawnfile} ended with ${code}`)));
    setTimeout(() => reject(new Error(`${child.spawnfile} does not start`)), HANG_MS).unref();
  });
}

/** Ends a process as a crash does. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exit;
}
