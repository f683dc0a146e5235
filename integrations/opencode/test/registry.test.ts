import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { find, IdError, isAlive, newId, owner, Registry, type Task } from "../src/registry.js";

const place = mkdtempSync(join(tmpdir(), "registry-"));
after(() => rmSync(place, { recursive: true }));

function task(id: string, more: Partial<Task> = {}): Task {
  const settings = { agent: "build", model: { providerID: "p", modelID: "m" } };
  return { id, parent: "ses_p", directory: "/w", description: id, prompt: "go", settings, context: "full", status: "completed", owner: owner(), batch: id, createdMs: 1, startedMs: 1, resumes: 0, ...more };
}

test("a task is named by its id, any beginning that is its own, or its session", () => {
  const tasks = [task("abcd0001", { session: "ses_1" }), task("abcd0002"), task("ef000000")];
  assert.equal(find(tasks, "abcd0001").id, "abcd0001");
  assert.equal(find(tasks, " e ").id, "ef000000");
  assert.equal(find(tasks, "ses_1").id, "abcd0001");
  assert.throws(() => find(tasks, "abcd"), /several ids: abcd0001, abcd0002/);
  assert.throws(() => find(tasks, ""), IdError);
  assert.throws(() => find(tasks, "zz"), /no task "zz"/);
});

test("changes of many callers at once are all kept", async () => {
  const registry = new Registry(join(place, "many.json"));
  await Promise.all(Array.from({ length: 50 }, () => registry.change((tasks) => void tasks.push(task(newId(tasks))))));
  const ids = (await new Registry(registry.file).all()).map(({ id }) => id);
  assert.equal(new Set(ids).size, 50);
});

test("a file that is no list of tasks is refused and stays", async () => {
  const registry = new Registry(join(place, "broken.json"));
  writeFileSync(registry.file, "{ half");
  await assert.rejects(registry.change(() => undefined), /is not a list of tasks; move it away/);
  assert.equal(readFileSync(registry.file, "utf8"), "{ half");
});

test("a file of a later version, or with rows that are none, is refused and stays", async () => {
  for (const [text, why] of [['{"version":2,"tasks":[]}', /later opencode-tine/], ['{"tasks":[null]}', /not a list of tasks/], ['{"tasks":[{"id":"a"}]}', /not a list/]] as const) {
    const registry = new Registry(join(place, "later.json"));
    writeFileSync(registry.file, text);
    await assert.rejects(registry.change(() => undefined), why);
    assert.equal(readFileSync(registry.file, "utf8"), text);
  }
});

test("a folder that cannot be written is an error at once", async () => {
  writeFileSync(join(place, "plain"), "");
  const registry = new Registry(join(place, "plain", "tasks.json"));
  await assert.rejects(registry.change(() => undefined), /tasks.json/);
});

test("the oldest that have ended go where there are very many, and none that works", async () => {
  const registry = new Registry(join(place, "old.json"));
  await registry.change((tasks) => {
    tasks.push(task("works", { status: "running" }));
    for (let number = 0; number < 2_005; number += 1) tasks.push(task(`t${number}`));
  });
  const ids = (await registry.all()).map(({ id }) => id);
  assert.deepEqual([ids.length, ids[0], ids[1]], [2_001, "works", "t5"]);
});

test("a process is told from a later one of the same number", async () => {
  assert.ok(isAlive(owner()));
  assert.ok(!isAlive({ ...owner(), began: "another time" }));
  const child = spawn("true");
  await new Promise((done) => child.once("exit", done));
  assert.ok(!isAlive({ pid: child.pid!, began: owner().began }));
});
