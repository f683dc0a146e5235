// What a fork inherits, and what the provider's cache serves of it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { bare, Machine, prompt, words, type Seen } from "./machine.js";

let machine: Machine;
before(async () => (machine = await Machine.start()));
after(() => machine.stop());

const LONG = "All of it matters to what comes. ".repeat(400);

const last = (seen: Seen) => bare(seen).at(-1)!;

/** The request that first ended with these words of the user. */
const asked = (text: string) => machine.requests().find((seen) => last(seen).includes(text))!;

/** Asserts that a child's request begins with all of its parent's but for the message that called. */
function inherits(child: Seen, own: Seen): void {
  const shared = bare(own).slice(0, -1);
  assert.deepEqual(bare(child).slice(0, shared.length), shared);
  assert.deepEqual([child.body.tools, text(child.body.system)], [own.body.tools, text(own.body.system)]);
}

const text = (system: unknown) => JSON.stringify((system as { text: string }[]).map((block) => block.text));

test("a cut fork: 1,500 characters stay, 1,501 are cut, and the prefix is read up to the cut", async () => {
  const parent = await machine.session("edges");
  await machine.say(parent, `edges ${LONG}`);
  await machine.say(parent, "FILL edges");
  for (let turn = 0; turn < 14; turn += 1) await machine.say(parent, `Then number ${turn}.`);
  const answer = await machine.say(parent, "START fork\nWORK quick");
  assert.match(answer, /1 result was cut, and what is shared ends before the first\. context "full" would have shared all of it/);
  await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  const results = bare(child!).filter((block) => block.includes('"tool_result"'));
  assert.ok(results[0]!.includes("a".repeat(1_500)) && !results[0]!.includes("truncated"), results[0]);
  assert.match(results[1]!, /b{1500}\\n\[Tool result truncated - original 1501 chars\]/);
  assert.match(last(child!) + bare(child!).at(-2), /1 tool result was cut to its first 1,500 characters:\\n- bash \(toolu?_[^)]*\): originally 1,501 characters/);
  // All else is as the parent sent it.
  const own = bare(asked("START fork"));
  const differ = own.filter((block, place) => bare(child!)[place] !== block);
  assert.deepEqual(differ.map((block) => block.includes("b".repeat(1_501))), [true]);
  const prefix = prompt(asked("FILL edges"));
  assert.ok(child!.usage!.read >= 0.99 * prefix, JSON.stringify([child!.usage, prefix]));
});

test("what OpenCode had cut before is told", async () => {
  const parent = await machine.session("cut before");
  await machine.say(parent, "FILL cut");
  await machine.say(parent, "START spec\nWORK quick");
  await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  assert.match(JSON.stringify(child!.body), /original [0-9]+ chars, already cut by OpenCode\]/);
});

test("nothing is cut from a full fork, whatever is in it", async () => {
  const parent = await machine.session("full");
  await machine.say(parent, `full ${LONG}`);
  await machine.say(parent, "FILL edges");
  await machine.say(parent, "START full\nWORK quick");
  await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  const own = machine.requests().find((seen) => last(seen).includes("START full") && JSON.stringify(seen.body).includes(`full ${LONG.slice(0, 50)}`))!;
  inherits(child!, own);
  assert.match(JSON.stringify(child!.body.messages.at(-1)), /Nothing of it was cut for you\./);
  const before = machine.requests().filter((seen) => JSON.stringify(seen.body).includes("full All of it") && JSON.stringify(seen.body.messages.at(-1)).includes("tool_result"))[0]!;
  assert.ok(child!.usage!.read >= 0.99 * prompt(before), JSON.stringify([child!.usage, before.usage]));
});

test("above 100,000 tokens the oldest messages go, up to the next words of the user", async () => {
  const parent = await machine.session("long");
  for (const turn of ["one", "two", "three", "four", "five"]) await machine.say(parent, `${turn} ${"x".repeat(110_000)}`);
  const answer = await machine.say(parent, "START spec\nWORK quick");
  assert.match(answer, /4 oldest messages went/);
  await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  assert.equal(child!.body.messages[0]!.role, "user");
  assert.match(bare(child!)[0]!, /"three x+"/);
  assert.match(JSON.stringify(child!.body.messages.at(-1)), /Its 4 oldest messages were left out, as it had more than 100,000 tokens/);
});

test("twenty forks of one message all read the prefix, and are told in few notices", async () => {
  const parent = await machine.session("twenty");
  await machine.say(parent, `twenty ${LONG}`);
  await machine.say(parent, "and one more turn");
  await machine.say(parent, "START twenty\nWORK quick");
  const tasks = await machine.told(parent);
  assert.deepEqual(tasks.map(({ status }) => status), Array(20).fill("completed"));
  const prefix = prompt(machine.requests().find((seen) => last(seen).includes("and one more turn"))!);
  for (const child of machine.firstRequests(parent)) assert.ok(child.usage!.read >= 0.99 * prefix, JSON.stringify([child.usage, prefix]));
  const notices = await machine.notices(parent);
  for (const { id } of tasks) assert.equal(notices.split(`<task id="${id}"`).length, 2, id);
  assert.ok(notices.split("<superagents-notice>").length - 1 < 20, notices);
});

test("another agent is run as named, and the answer says what is shared", async () => {
  const parent = await machine.session("agents");
  await machine.say(parent, `agents ${LONG}`);
  assert.match(await machine.say(parent, "START explore\nWORK quick"), /agent explore sends another system prompt, no .*edit.*; so the cache serves nothing/);
  const [explorer] = await machine.told(parent);
  assert.equal(explorer?.settings.agent, "explore");
  const declared = (machine.firstRequests(parent)[0]!.body.tools as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(["read", "grep", "bash", "edit", "write"].map((name) => declared.includes(name)), [true, true, true, false, false], declared.join());

  const other = await machine.session("same");
  await machine.say(other, `same ${LONG}`);
  const before = machine.requests().at(-1)!;
  const answer = await machine.say(other, "START same\nWORK quick");
  await machine.told(other);
  const [child] = machine.firstRequests(other);
  const isEqual = child!.usage!.read >= 0.99 * prompt(before);
  assert.equal(/can serve the whole conversation/.test(answer), isEqual, answer);
});

test("what is refused is refused before anything is made", async () => {
  const parent = await machine.session("refused");
  await machine.say(parent, "hello");
  const sessions = async () => (await machine.api.session.list({ directory: machine.work })).data!.length;
  const count = await sessions();
  assert.match(await machine.say(parent, "START nobody\nWORK quick"), /There is no agent \\?"nobody\\?".*build.*Nothing was started/);
  assert.match(await machine.say(parent, "START both\nWORK quick"), /Cannot use fork and resume together\. Use fork for new tasks with context, resume for continuing existing tasks\./);
  assert.equal(await sessions(), count);
  assert.deepEqual(machine.tasks().filter((task) => task.parent === parent.id), []);
});

test("a worker's own calls are refused, with the same declarations", async () => {
  const parent = await machine.session("worker");
  await machine.say(parent, `worker ${LONG}`);
  await machine.say(parent, "START full\nWORK delegate");
  const [task] = await machine.told(parent);
  const said = words((await machine.messages(task!.session!)).at(-1)!.parts);
  assert.match(said, /I was told: You are the worker/);
  assert.equal(machine.tasks().filter(({ parent }) => parent === task!.session).length, 0);
});

test("a fresh task knows its prompt alone, and stands below its parent", async () => {
  const parent = await machine.session("fresh");
  await machine.say(parent, "a secret word: rhubarb");
  await machine.say(parent, "START fresh\nWORK quick");
  const [task] = await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  assert.ok(!JSON.stringify(child!.body).includes("rhubarb"));
  assert.equal((await machine.api.session.get({ sessionID: task!.session! })).data!.parentID, parent.id);
});

test("a worker may do no more than its parent, whatever its context and its agent", async () => {
  const parent = await machine.session("denied");
  const permission = [{ permission: "bash", pattern: "*", action: "deny" as const }];
  await machine.api.session.update({ sessionID: parent.id, permission });
  await machine.say(parent, "hello");
  for (const context of ["fresh", "full", "same"]) await machine.say(parent, `START ${context}\nWORK quick`);
  await machine.told(parent);
  const names = machine.firstRequests(parent).map(({ body }) => (body.tools as { name: string }[]).map(({ name }) => name));
  assert.deepEqual(names.map((each) => [each.includes("bash"), each.includes("read")]), Array(3).fill([false, true]));

  const planner = await machine.session("plans");
  await machine.say(planner, "hello", "plan");
  await machine.say(planner, "START build\nWORK quick", "plan");
  const [task] = await machine.told(planner);
  assert.equal(task!.settings.agent, "build");
  const rules = (await machine.api.session.get({ sessionID: task!.session! })).data!.permission!;
  assert.ok(rules.some(({ permission, action }) => permission === "edit" && action === "deny"), JSON.stringify(rules));
});

test("after a compaction a fork is counted from the summary", async () => {
  const parent = await machine.session("compacted");
  await machine.say(parent, `compacted ${"y".repeat(450_000)}`);
  await machine.api.session.summarize({ sessionID: parent.id, providerID: "sim", modelID: "claude-test" });
  await machine.say(parent, "after it");
  const answer = await machine.say(parent, "START spec\nWORK quick");
  assert.match(answer, /nothing was cut/);
  await machine.told(parent);
  const [child] = machine.firstRequests(parent);
  assert.match(JSON.stringify(child!.body.messages.at(-1)), /It begins with a summary/);
});

test("a digest is text below the parent, with previews of 200 characters and results of 1,500", async () => {
  const parent = await machine.session("digest");
  await machine.say(parent, "a secret word: rhubarb");
  await machine.say(parent, "FILL edges");
  await machine.say(parent, "FILL wide");
  const answer = await machine.say(parent, "START digest\nWORK quick");
  assert.match(answer, /\(digest\) works .*It has a digest of this conversation as text.*1 result cut/s);
  const [task] = await machine.told(parent);
  assert.equal((await machine.api.session.get({ sessionID: task!.session! })).data!.parentID, parent.id);
  const [child] = machine.firstRequests(parent);
  const text = bare(child!).map((block) => (JSON.parse(block) as { text?: string }).text ?? "").join("\n");
  assert.match(text, /User: a secret word: rhubarb/);
  assert.match(text, /Agent: Noted\./);
  assert.match(text, /\[Tool: bash\] .{200}\.\.\./);
  assert.match(text, /a{1500}(?!a|\n\[Tool result truncated)/);
  assert.match(text, /b{1500}\n\[Tool result truncated - original 1501 chars\]/);
  // One message that asked for no reply, and the prompt.
  assert.equal((await machine.messages(task!.session!)).filter(({ info }) => info.role === "user").length, 2);
});

test("without tine on the path a digest is refused, and the rest works", async () => {
  const alone = await Machine.start({ withTine: false, options: { fork: "full" } });
  try {
    const parent = await alone.session("alone");
    await alone.say(parent, "FILL edges");
    assert.match(await alone.say(parent, "START digest\nWORK quick"), /needs the program tine on the PATH.*Nothing was started/);
    assert.match(await alone.say(parent, "START fork\nWORK quick"), /can serve the whole conversation/);
    const [task] = await alone.told(parent);
    assert.deepEqual([task!.status, task!.context], ["completed", "full"]);
  } finally {
    await alone.stop();
  }
});
