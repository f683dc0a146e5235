// How tasks end, are told, and survive.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import type { Task } from "../../src/registry.js";
import { ended, Machine, until, words } from "./machine.js";

let machine: Machine;
before(async () => (machine = await Machine.start({ options: { retrySeconds: 3 } })));
after(() => machine.stop());

const RUNS = /^(running|resumed)$/;

test("output, list, resume and cancel, by a beginning of the id", async () => {
  const parent = await machine.session("tools");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK quick");
  const [task] = await machine.told(parent);
  const id = task!.id;
  assert.match(await machine.say(parent, `OUTPUT\n${id.slice(0, 7)}`), /\(forked\): completed, .*Report:\s+Report: the quick work is done\./s);
  assert.match(await machine.say(parent, `CANCEL\n${id}`), /Cannot cancel task: current status is \\?"completed\\?"/);
  assert.match(await machine.say(parent, `RESUME\n${id}\nWORK again`), /\(forked\) \(resumed\) works again/);
  await machine.told(parent);
  assert.match(await machine.say(parent, `BLOCK\n${id}`), /Report: once more\./);
  assert.match(await machine.say(parent, "LIST"), new RegExp(`\\| ${id} \\(forked\\) \\(resumed\\) \\| a task \\| build \\| ✓ completed \\|`));
  assert.equal((await machine.notices(parent)).split(`<task id="${id}"`).length, 3);
  assert.match(await machine.say(parent, "OUTPUT\nzz"), /no task/);
});

test("a call that waits is told the end, and no notice follows", async () => {
  const parent = await machine.session("waits");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK gate");
  const { id } = machine.task(parent);
  const answer = machine.say(parent, `BLOCK\n${id}`);
  await machine.calls(parent, "superagents_output");
  machine.openGate();
  assert.match(await answer, /Report: the gate was opened\./);
  assert.equal(machine.task(parent).notice, "told");
  assert.equal(await machine.notices(parent), "");
});

test("what works is cancelled, and cleared", async () => {
  const parent = await machine.session("cancelled");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK stall");
  assert.match(await machine.say(parent, `CANCEL\n${machine.task(parent).id}`), /is cancelled/);
  assert.equal(machine.task(parent).status, "cancelled");
  assert.match(await machine.say(parent, "CLEAR"), /Cleared 1 tasks?; 0/);
  assert.match(await machine.say(parent, "LIST"), /No background tasks found\./);
});

test("each end of another kind is told once, and with its reason", async () => {
  for (const [work, status, reason] of [
    ["WORK refused", "error", /this is refused/],
    ["WORK overloaded", "error", /not reached within 3 s/],
  ] as const) {
    const parent = await machine.session(work);
    await machine.say(parent, "hello");
    await machine.say(parent, `START full\n${work}`);
    const [task] = await machine.told(parent);
    assert.equal(task!.status, status);
    assert.match(task!.reason!, reason);
    const notices = await machine.notices(parent);
    assert.equal(notices.split(`<task id="${task!.id}"`).length, 2, notices);
  }
});

test("a person who stops a task's session cancels it", async () => {
  const parent = await machine.session("stopped");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK stall");
  const { session } = machine.task(parent);
  await machine.isBusy(session!);
  await machine.api.session.abort({ sessionID: session! });
  const [task] = await machine.told(parent);
  assert.deepEqual([task!.status, task!.reason], ["cancelled", "it was stopped in its session"]);
  await machine.api.session.abort({ sessionID: session! });
  assert.equal((await machine.notices(parent)).split("status=").length, 2);
});

test("a task that asks tells its parent, and one whose user refuses says so", async () => {
  const parent = await machine.session("asks");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK ask");
  const notice = await until(async () => (await machine.notices(parent)) || undefined);
  assert.match(notice, /it waits for an answer to "Which one\?"/);
  assert.match(await machine.say(parent, "LIST"), /waits: an answer to \\?"Which one\?/);
  const [question] = (await machine.api.question.list({ directory: machine.work })).data!;
  await machine.api.question.reject({ requestID: question!.id });
  const [task] = await machine.told(parent);
  assert.deepEqual([task!.status, task!.reason], ["cancelled", 'the user refused an answer to "Which one?"']);
});

test("a permission is asked for with the whole command, and a refusal is told as one", async () => {
  const parent = await machine.session("refuses");
  await machine.api.session.update({ sessionID: parent.id, permission: [{ permission: "bash", pattern: "*", action: "ask" }] });
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK permit");
  const notice = await until(async () => (await machine.notices(parent)) || undefined);
  assert.match(notice, /it waits for permission for bash: rm -f victim &amp;&amp; echo removed/);
  const [request] = (await machine.api.permission.list({ directory: machine.work })).data!;
  await machine.api.permission.reply({ requestID: request!.id, reply: "reject" });
  const [task] = await machine.told(parent);
  assert.deepEqual([task!.status, task!.reason], ["cancelled", "the user refused permission for bash: rm -f victim && echo removed"]);
  assert.match(await machine.notices(parent), /It ended, as the user refused permission/);
});

test("a notice waits where it would force a further request", async () => {
  const parent = await machine.session("held");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK gate");
  const turn = machine.say(parent, "WORK slow, and say it here");
  await machine.isBusy(parent.id);
  machine.openGate();
  await turn;
  await machine.told(parent);
  const turns = (await machine.messages(parent.id)).filter(({ info }) => info.role === "assistant");
  // hello; the call, what followed it; the slow answer. A forced request would be one more.
  assert.equal(turns.length, 4);
});

test("a notice does not throw away what its user has undone", async () => {
  const parent = await machine.session("undone");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK gate");
  await machine.say(parent, "to be undone");
  const count = (await machine.messages(parent.id)).length;
  const undone = (await machine.messages(parent.id)).find(({ parts }) => words(parts) === "to be undone")!;
  await machine.api.session.revert({ sessionID: parent.id, messageID: undone.info.id });
  machine.openGate();
  await until(() => (machine.task(parent).notice === "due" ? true : undefined));
  await new Promise((done) => setTimeout(done, 1_000));
  assert.equal((await machine.messages(parent.id)).length, count);
  await machine.api.session.unrevert({ sessionID: parent.id });
  await machine.told(parent);
  assert.ok((await machine.messages(parent.id)).some(({ info }) => info.id === undone.info.id));
  assert.equal((await machine.notices(parent)).split("status=").length, 2);
});

test("two parents hear of their own tasks alone, and cannot touch the other's", async () => {
  const parents = [await machine.session("first"), await machine.session("second")];
  for (const parent of parents) await machine.say(parent, "hello");
  await Promise.all(parents.map((parent) => machine.say(parent, "START full\nWORK quick")));
  const [one, two] = await Promise.all(parents.map((parent) => machine.told(parent)));
  for (const [parent, own, other] of [[parents[0]!, one!, two!], [parents[1]!, two!, one!]] as const) {
    const notices = await machine.notices(parent);
    assert.ok(notices.includes(own[0]!.id) && !notices.includes(other[0]!.id), notices);
  }
  assert.match(await machine.say(parents[0]!, `OUTPUT\n${two![0]!.id}`), /There is no task/);
});

test("a deleted parent takes its tasks along, and nobody else's", async () => {
  const parent = await machine.session("deleted");
  const other = await machine.session("stays");
  for (const each of [parent, other]) {
    await machine.say(each, "hello");
    await machine.say(each, "START full\nWORK stall");
  }
  const { session } = machine.task(parent);
  await machine.api.session.delete({ sessionID: parent.id });
  await until(() => (machine.tasks().some((task) => task.parent === parent.id) ? undefined : true));
  await until(async () => {
    const sessions = (await machine.api.session.list({ directory: machine.work })).data!;
    return sessions.some(({ id }) => id === session) ? undefined : true;
  });
  assert.match(machine.task(other).status, RUNS);
  await machine.session("made elsewhere");
  assert.match(machine.task(other).status, RUNS);
  await machine.say(other, `CANCEL\n${machine.task(other).id}`);
});

test("a restart loses a task once, and it can be resumed", async () => {
  const parent = await machine.session("restarted");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK stall");
  const { id, session } = machine.task(parent);
  await until(async () => ((await machine.messages(session!)).length > 3 ? true : undefined));
  await machine.crash();
  const [task] = await machine.told(parent);
  assert.deepEqual([task!.id, task!.status], [id, "lost"]);
  await machine.crash();
  assert.equal((await machine.notices(parent)).split(`<task id="${id}"`).length, 2);
  assert.match(await machine.say(parent, `RESUME\n${id}\nWORK again`), /works again/);
  const [again] = await machine.told(parent);
  assert.equal(again!.status, "completed");
  assert.match(words((await machine.messages(session!)).at(-1)!.parts), /once more/);
});

test("tasks that work when OpenCode is reloaded are lost, told once each, and can be resumed", async () => {
  const parent = await machine.session("reloaded");
  await machine.say(parent, "hello");
  await machine.say(parent, "START twenty\nWORK stall");
  await machine.api.instance.dispose({ directory: machine.work });
  await until(() => (machine.tasks().every(({ notice }) => notice) ? true : undefined));
  // The plugin is loaded anew with the next request.
  await machine.api.session.list({ directory: machine.work });
  const tasks = await machine.told(parent);
  await new Promise((done) => setTimeout(done, 2_000));
  assert.deepEqual(tasks.map(({ status }) => status), Array(20).fill("lost"));
  const notices = await machine.notices(parent);
  for (const { id } of tasks) assert.equal(notices.split(`<task id="${id}"`).length, 2, notices);
  assert.match(await machine.say(parent, `RESUME\n${tasks[0]!.id}\nWORK again`), /works again/);
});

test("opencode run ends with its turn, and what works then is lost", async () => {
  await machine.run("START fresh\nWORK stall behind a run");
  const task = machine.tasks().find(({ prompt }) => prompt.includes("behind a run"))!;
  assert.deepEqual([task.status, task.reason], ["lost", "OpenCode ended or was reloaded while it worked"]);
});

test("a second OpenCode leaves the first one's tasks alone, and takes them up when it is gone", async () => {
  const parent = await machine.session("two processes");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK stall");
  const { id } = machine.task(parent);
  const [second, api] = await machine.another();
  try {
    assert.match(await machine.say(parent, "LIST", undefined, api), /⏳ running/);
    assert.match(await machine.say(parent, `CANCEL\n${id}`, undefined, api), /works in another OpenCode/);
    assert.match(await machine.say(parent, "CLEAR", undefined, api), /Cleared 0 tasks|No background tasks found.*works in another/s);
    assert.match(machine.task(parent).status, RUNS);
    await machine.crash();
    await until(() => (machine.task(parent).status === "lost" ? true : undefined));
    await machine.told(parent);
    assert.match(await machine.say(parent, "LIST", undefined, api), /✗ lost/);
    assert.equal((await machine.notices(parent)).split(`<task id="${id}"`).length, 2);
  } finally {
    await ended(second);
  }
});

test("a crash before the prompt is stored is no report, and a resume says all of it", async () => {
  const parent = await machine.session("early");
  await machine.say(parent, "WORK again");
  await machine.say(parent, "START full\nWORK again");
  const [task] = await machine.told(parent);
  // As a crash leaves it: the prompt, which stands in the inherited conversation too, was not stored.
  const messages = await machine.messages(task!.session!);
  const place = messages.findIndex(({ info }) => info.id === task!.after);
  for (const { info } of messages.slice(place + 1)) await machine.api.session.deleteMessage({ sessionID: task!.session!, messageID: info.id });
  const crashed = { status: "running", notice: undefined, report: undefined, endedMs: undefined, owner: { pid: 1, began: "before" }, id: "0badcafe" };
  machine.write(machine.tasks().map((row) => (row.id === task!.id ? { ...row, ...crashed } : row)) as Task[]);
  await machine.crash();
  const lost = await until(() => machine.tasks().find(({ id, status }) => id === "0badcafe" && status === "lost"));
  assert.match(await machine.say(parent, "OUTPUT\n0badcafe"), /lost.*It has said nothing yet/s);
  await machine.say(parent, "RESUME\n0badcafe\nWORK quick");
  await until(() => machine.tasks().find(({ id, status }) => id === "0badcafe" && status === "completed"));
  const said = JSON.stringify((await machine.messages(lost.session!)).slice(place + 1));
  assert.match(said, /superagents-task.*WORK again.*WORK quick/s);
});

test("a task that ended while nobody looked has ended", async () => {
  const parent = await machine.session("unseen");
  await machine.say(parent, "hello");
  await machine.say(parent, "START full\nWORK quick");
  const [task] = await machine.told(parent);
  // As a crash between the end and its record leaves it.
  const tasks = machine.tasks().map((row) => (row.id === task!.id ? { ...row, status: "running", notice: undefined, endedMs: undefined, owner: { pid: 1, began: "before" } } : row));
  machine.write(tasks as Task[]);
  await machine.crash();
  const [found] = await machine.told(parent);
  assert.equal(found!.status, "completed");
  // The notice was sent before; it is not sent again.
  assert.equal((await machine.notices(parent)).split(`<task id="${task!.id}"`).length, 2);
});
