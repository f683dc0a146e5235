import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { differences, narrowed } from "../src/agents.js";
import { HostError, type Agent, type Host, type Message } from "../src/host.js";
import { Registry, type Task } from "../src/registry.js";
import { Refusal, Tasks, type Start } from "../src/tasks.js";
import { matches } from "../src/patterns.js";
import { judge, said } from "../src/turn.js";
import * as words from "../src/words.js";

const place = mkdtempSync(join(tmpdir(), "tasks-"));
after(() => rmSync(place, { recursive: true }));

const model = { providerID: "p", modelID: "m" };
const message = (role: "user" | "assistant", text: string, info: object = {}): Message =>
  ({ info: { id: `msg_${text}`, role, agent: "build", model, time: { created: 1, completed: 2 }, finish: "stop", ...info }, parts: [{ type: "text", text }] }) as never;

/** A host that notes what is asked of it, and fails where it is told to. */
function host(failing: string[] = []) {
  const calls: string[] = [];
  const answers: Record<string, unknown> = {
    agents: [{ name: "build", permission: [], mode: "primary", options: {} }],
    session: { id: "ses_parent" },
    messages: [message("user", "hello"), message("assistant", "hi")],
    statuses: {},
    fork: { id: "ses_child" },
    create: { id: "ses_child" },
  };
  const handler = {
    get: (_: object, name: string) => {
      if (name === "directory") return "/work";
      if (name === "then") return undefined;
      return async (...args: unknown[]) => {
        calls.push(`${name} ${args.filter((arg) => typeof arg === "string").join(" ")}`.trim());
        if (failing.includes(name)) throw new HostError(name, 500, "the disk is full");
        return answers[name];
      };
    },
  };
  return { calls, answers, host: new Proxy({}, handler) as Host };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

let number = 0;
const registry = () => new Registry(join(place, `${number++}.json`));
const start: Start = { description: "a task", prompt: "go", context: "full" };
const caller = { sessionID: "ses_parent", messageID: "msg_calling", agent: "build" };

for (const failing of ["agents", "session", "messages"]) {
  test(`where ${failing} cannot be read nothing is made`, async () => {
    const { calls, host: broken } = host([failing]);
    const tasks = new Tasks(broken, registry(), 1_000);
    await assert.rejects(tasks.start(start, caller), /the disk is full/);
    assert.deepEqual(calls.filter((call) => /^(fork|create|prompt)/.test(call)), []);
    assert.deepEqual(await tasks.ofParent("ses_parent"), []);
  });
}

for (const [failing, context] of [["entitle", "full"], ["prompt", "full"], ["providerPackage", "spec"], ["prompt", "fresh"]] as const) {
  test(`where ${failing} fails the ${context} child goes, and the task has failed`, async () => {
    const { calls, host: broken } = host([failing]);
    const tasks = new Tasks(broken, registry(), 1_000);
    await assert.rejects(tasks.start({ ...start, context }, caller), /the disk is full/);
    assert.equal(calls.at(-1), "delete ses_child");
    const [task] = await tasks.ofParent("ses_parent");
    assert.deepEqual([task?.status, task?.notice], ["error", "told"]);
  });
}

test("an agent that is not there is refused by name", async () => {
  const tasks = new Tasks(host().host, registry(), 1_000);
  await assert.rejects(tasks.start({ ...start, agent: "nobody" }, caller), (error) => error instanceof Refusal && /no agent "nobody".*build/.test(error.message));
});

const row = { id: "abcd1234", prompt: "go", resumes: 0, description: "one <two>", startedMs: 0, endedMs: 61_000 } as Task;
const ask = message("user", "go");

test("how a task ended is read from what is stored", () => {
  const ends = (messages: Message[], failure?: string) => judge(messages, row, failure);
  assert.deepEqual(ends([ask, message("assistant", "done")]), { status: "completed", report: "msg_done" });
  assert.deepEqual(ends([ask, message("assistant", "half", { time: { created: 1 }, finish: undefined })]), undefined);
  assert.deepEqual(ends([ask]), undefined);
  assert.deepEqual(ends([ask], "no such agent"), { status: "error", reason: "no such agent" });
  // The words of an earlier turn are no report of this one.
  assert.deepEqual(judge([message("assistant", "before"), ask], { ...row, after: "msg_before" }, undefined), undefined);
  assert.deepEqual(ends([ask, message("assistant", "", { finish: "tool-calls" })])?.reason, "it ended without a report");
  assert.deepEqual(ends([ask, message("assistant", "half", { finish: "length" })])?.reason, "its report is cut off at the model's limit");
  // A summary is OpenCode's, not a report.
  assert.deepEqual(ends([ask, message("assistant", "done"), message("assistant", "sum", { summary: true })]), { status: "completed", report: "msg_done" });
  const failed = (name: string) => message("assistant", "", { error: { name, data: { message: "why" } } });
  assert.deepEqual(ends([ask, failed("MessageAbortedError")])?.status, "cancelled");
  assert.deepEqual(ends([ask, failed("APIError")])?.reason, "why");
});

test("what is said in a task's session after its end is not its report", () => {
  const messages = [ask, message("assistant", "the report"), message("user", "thanks"), message("assistant", "you are welcome")];
  assert.equal(said(messages, { ...row, report: "msg_the report" }).text, "the report");
});

test("what is told of an end cannot be taken for something else", () => {
  const end = words.endNotice({ ...row, status: "error", reason: "</task>" });
  assert.match(end, /^<task id="abcd1234" turn="1" status="error">one &lt;two&gt;: It failed: &lt;\/task&gt;\./);
  assert.equal(words.endLine({ ...row, status: "completed" }), '✓ Task abcd1234 "one <two>" finished in 1m 1s');
  assert.equal(words.waitLine(row, 'an answer to "Which one?"'), '⏳ Task abcd1234 "one <two>" waits for an answer to "Which one?": open its session to answer.');
});

test("what a user has refused is told as that, and invites no other try", () => {
  const refused = { ...row, refused: "permission for bash: rm a && echo b" };
  const end = judge([ask, message("assistant", "", { finish: "tool-calls" })], refused, undefined)!;
  assert.deepEqual([end.status, end.reason], ["cancelled", "the user refused permission for bash: rm a && echo b"]);
  const ended = { ...refused, ...end, session: "ses_1" };
  for (const told of [words.endNotice(ended), words.output(ended, { text: "", tools: [] }, 0)]) {
    assert.match(told, /the user refused permission for bash.*Neither resume it nor do the same in another way unless the user asks for it\./s);
    assert.doesNotMatch(told, /goes on with it|failed/);
  }
  // It went on without, and was stopped for another reason.
  assert.match(words.endNotice({ ...refused, status: "cancelled", reason: "by the agent that started it", session: "ses_1" }), /goes on with it/);
});

test("the preamble says exactly what was cut, also that nothing was", () => {
  const nothing = { messages: 2, messagesDropped: 0, results: [], tokens: 10, tokensKept: 10, tokensShared: 10, isCompacted: false };
  assert.match(words.inherited(nothing), /Nothing of it was cut for you\.$/);
  const cut = { tool: "bash", callID: "call_1", characters: 12_345, wasCut: true };
  const told = words.inherited({ ...nothing, messagesDropped: 3, results: [cut], isCompacted: true });
  assert.match(told, /It begins with a summary.*Its 3 oldest messages were left out.*1 tool result was cut to its first 1,500 characters:\n- bash \(call_1\): originally 12,345 characters, already cut by OpenCode\n/s);
});

test("the list has its newest first, its markers and its totals", () => {
  const base = { ...row, settings: { agent: "build", model }, startedMs: 0, createdMs: 0 };
  const tasks = [
    { ...base, id: "b", description: "a description that is longer than it may be", context: "spec", status: "running", resumes: 0, endedMs: undefined },
    { ...base, id: "a", description: "first | one", context: "full", status: "completed", resumes: 2 },
  ] as Task[];
  assert.equal(
    words.list(tasks, 5_000),
    [
      "| id | task | agent | status | time |",
      "|---|---|---|---|---|",
      "| b (forked) | a description that is longer … | build | ⏳ running | 5s |",
      "| a (forked) (resumed) | first \\| one | build | ✓ completed | 1m 1s |",
      "",
      "2 tasks: 1 running, 1 completed",
    ].join("\n"),
  );
});

const rule = (permission: string, action: "allow" | "ask" | "deny", pattern = "*") => ({ permission, pattern, action });
const agent = (name: string, ...permission: ReturnType<typeof rule>[]) => ({ name, mode: "all", options: {}, permission }) as Agent;

/** What OpenCode does by these rules. */
const action = (rules: ReturnType<typeof narrowed>, permission: string, text: string) =>
  rules.findLast((each) => matches(each.permission, permission) && matches(each.pattern, text))?.action ?? "ask";

test("an agent that works for another may do what both may, and no more", () => {
  const plan = [rule("*", "allow"), rule("edit", "deny"), rule("edit", "allow", "plans/*.md"), rule("bash", "ask"), rule("bash", "allow", "echo *")];
  const build = [rule("*", "allow")];
  const explore = [...build, rule("*", "deny"), rule("read", "allow"), rule("read", "ask", "*.env"), rule("bash", "allow", "echo *"), rule("grep", "allow")];
  const reader = narrowed(build, explore);
  assert.deepEqual(["read", "grep", "edit"].map((tool) => action(reader, tool, "a")), ["allow", "allow", "deny"]);
  assert.deepEqual([action(reader, "read", ".env"), action(reader, "bash", "echo hi"), action(reader, "bash", "rm")], ["ask", "allow", "deny"]);
  assert.deepEqual(narrowed(plan, explore).findLast(({ permission }) => matches(permission, "edit")), rule("*", "deny"));
  assert.deepEqual([action(narrowed(plan, build), "edit", "a"), action(narrowed(plan, build), "edit", "plans/a.md")], ["deny", "allow"]);
  assert.deepEqual([action(narrowed(plan, build), "bash", "ls"), action(narrowed(plan, build), "bash", "echo hi")], ["ask", "allow"]);
  assert.deepEqual(narrowed(build, build), build);
  assert.deepEqual(differences(agent("plan", ...plan), agent("build", ...build), ["bash", "edit", "write"]), ["a reminder of its mode"]);
  assert.deepEqual(differences(agent("build", ...build), agent("explore", ...explore), ["bash", "edit", "write", "read"]), ["no edit, write"]);
});

test("of any rules the stricter counts, for any text", () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const text = (letters: string, length: number) => Array.from({ length: random(length + 1) }, () => letters[random(letters.length)]).join("");
  const rules = () => Array.from({ length: random(4) }, () => rule(text("ab*", 2), (["allow", "ask", "deny"] as const)[random(3)]!, text("ab *?", 4)));
  for (let round = 0; round < 3_000; round += 1) {
    const [one, two] = [rules(), rules()];
    const rank = (each: string) => ["allow", "ask", "deny"].indexOf(each);
    for (let probe = 0; probe < 10; probe += 1) {
      const [permission, at] = [text("ab", 2), text("ab ", 4)];
      const wanted = [action(one, permission, at), action(two, permission, at)].sort((left, right) => rank(right) - rank(left))[0];
      assert.equal(action(narrowed(one, two), permission, at), wanted, JSON.stringify([one, two, permission, at]));
    }
  }
});

test("a notice waits while messages of its parent are undone, and comes when they are not", async () => {
  const { calls, answers, host: undoing } = host();
  const rows = registry();
  const tasks = new Tasks(undoing, rows, 1_000);
  await tasks.start(start, caller);
  answers["session"] = { id: "ses_parent", revert: { messageID: "msg_hello" } };
  answers["messages"] = [message("user", "go"), message("assistant", "done")];
  await rows.change(([task]) => void (task!.after = undefined));
  await tasks.idle("ses_child");
  await pause(600);
  assert.ok(calls.includes("session ses_parent") && !calls.some((call) => call.startsWith("note")), calls.join());
  answers["session"] = { id: "ses_parent" };
  tasks.updated("ses_parent", undefined);
  await pause(600);
  assert.deepEqual(calls.filter((call) => call.startsWith("note")), ["note ses_parent"]);
  assert.equal((await tasks.ofParent("ses_parent"))[0]?.notice, "told");
});

test("a task that works when OpenCode ends is lost, not stopped by its user, and left to the next OpenCode to tell", async () => {
  const { calls, answers, host: ending } = host();
  const rows = registry();
  const tasks = new Tasks(ending, rows, 1_000);
  await tasks.start(start, caller);
  answers["messages"] = [message("user", "go"), message("assistant", "", { error: { name: "MessageAbortedError", data: {} } })];
  await rows.change(([task]) => void (task!.after = undefined));
  // OpenCode interrupts what works, and then says that it ends.
  const idle = tasks.idle("ses_child");
  await tasks.stop();
  const asked = calls.length;
  await idle;
  await tasks.takeUp();
  await pause(600);
  const [task] = await tasks.ofParent("ses_parent");
  assert.deepEqual([task!.status, task!.notice, task!.reason], ["lost", "due", "OpenCode ended or was reloaded while it worked"]);
  // A request to an OpenCode that ends would begin it anew.
  assert.deepEqual(calls.slice(asked).filter((call) => /^(note|session|prompt|agents)/.test(call)), []);
});

test("an end is told by one of several plugins over the same data", async () => {
  const { calls, answers, host: shared } = host();
  const rows = registry();
  await new Tasks(shared, rows, 1_000).start(start, caller);
  await rows.change(([task]) => void Object.assign(task!, { status: "lost", notice: "due" }));
  answers["note"] = pause(300);
  for (const plugin of [1, 2, 3].map(() => new Tasks(shared, new Registry(rows.file), 1_000))) await plugin.takeUp();
  await pause(1_200);
  assert.equal(calls.filter((call) => call.startsWith("note")).length, 1);
  const [task] = await rows.all();
  assert.deepEqual([task!.notice, task!.teller], ["told", undefined]);
});

test("a notice that another one stored before it died is not repeated, and one that it did not store is told", async () => {
  for (const isStored of [true, false]) {
    const { calls, answers, host: shared } = host();
    const rows = registry();
    await new Tasks(shared, rows, 1_000).start(start, caller);
    const teller = { plugin: "another", owner: { pid: 1, began: "before" } };
    const [task] = await rows.change(([row]) => [Object.assign(row!, { status: "lost", notice: "due", teller })]);
    const stored = { ...message("user", "notice"), parts: [{ type: "text", synthetic: true, text: words.endNotice(task!) }] } as never;
    if (isStored) answers["messages"] = [message("user", "hello"), stored];
    await new Tasks(shared, rows, 1_000).takeUp();
    await pause(800);
    assert.equal(calls.filter((call) => call.startsWith("note")).length, isStored ? 0 : 1);
    assert.equal((await rows.all())[0]!.notice, "told");
  }
});

test("a task in whose session messages are undone is not resumed", async () => {
  const { calls, answers, host: undoing } = host();
  const rows = registry();
  const tasks = new Tasks(undoing, rows, 1_000);
  await tasks.start(start, caller);
  const [task] = await rows.change((all) => [Object.assign(all[0]!, { status: "completed", notice: "told" })]);
  answers["session"] = { id: "ses_child", revert: { messageID: "msg_hello" } };
  const prompts = calls.filter((call) => call.startsWith("prompt")).length;
  await assert.rejects(tasks.resume(task!.id, "more", caller), (error) => error instanceof Refusal && /undone/.test(error.message));
  assert.equal(calls.filter((call) => call.startsWith("prompt")).length, prompts);
});

test("a task that is ended while it is started does not work", async () => {
  const { calls, host: slow } = host();
  const rows = registry();
  const tasks = new Tasks(slow, rows, 1_000);
  const original = slow.entitle.bind(slow);
  const hooked = new Proxy(slow, {
    get: (target, name: string) =>
      name === "entitle"
        ? async (...args: Parameters<Host["entitle"]>) => {
            await tasks.clear(caller);
            return original(...args);
          }
        : (target as never)[name],
  });
  await assert.rejects(new Tasks(hooked, rows, 1_000).start(start, caller), /was ended while it was started/);
  assert.deepEqual(calls.filter((call) => call.startsWith("prompt")), []);
  assert.equal(calls.at(-1), "delete ses_child");
});
