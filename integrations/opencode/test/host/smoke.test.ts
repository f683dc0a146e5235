import assert from "node:assert/strict";
import { test } from "node:test";

import { bare, Machine, prompt } from "./machine.js";

test("a full fork reads its parent's prefix from the cache, and reports once", async () => {
  const machine = await Machine.start();
  try {
    const parent = await machine.session("smoke");
    await machine.say(parent, `Read this first. ${"All of it matters to what comes. ".repeat(400)}`);
    const answer = await machine.say(parent, "START full\nWORK quick");
    assert.match(answer, /Task [0-9a-f]{8} \(forked\) works in the background/);
    assert.match(answer, /can serve the whole conversation/);
    const [task] = await machine.told(parent);
    assert.equal(task?.status, "completed");

    const [child] = machine.firstRequests(parent);
    const own = machine.requests().find(({ body }) => JSON.stringify(body.messages.at(-1)).includes("START full"))!;
    const shared = bare(own).slice(0, -1);
    assert.deepEqual(bare(child!).slice(0, shared.length), shared);
    assert.deepEqual(child!.body.tools, own.body.tools);
    const before = machine.requests()[0]!;
    assert.ok(child!.usage!.read >= 0.99 * prompt(before), JSON.stringify([child!.usage, before.usage]));
    assert.equal((await machine.notices(parent)).match(/status="completed"/g)?.length, 1);
  } finally {
    await machine.stop();
  }
});
