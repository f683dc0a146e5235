import assert from "node:assert/strict";
import { test } from "node:test";

import { read } from "../src/options.js";
import type { Tasks } from "../src/tasks.js";
import { tools } from "../src/tools.js";

const context = { sessionID: "ses_1", messageID: "msg_1", agent: "build" } as never;

/** Tasks that note what is asked of them. */
function asked() {
  const calls: string[] = [];
  const get = (_: object, name: string) => async () => {
    if (name !== "workerOf" && name !== "takeUp") calls.push(name);
    return name === "ofParent" ? [] : undefined;
  };
  return { calls, tasks: new Proxy({}, { get }) as Tasks };
}

test("arguments that are wrong are refused with what there is, as OpenCode does not look at them", async () => {
  const { calls, tasks } = asked();
  const all = tools(tasks, "spec");
  const say = async (name: string, args: object) => all[name]!.execute(args as never, context);
  const start = { description: "a task", prompt: "go" };
  assert.match(String(await say("superagents_task", { ...start, context: "none" })), /context: .*"spec"\|"full"\|"digest".* Nothing was done\./);
  assert.match(String(await say("superagents_list", { status: "weird" })), /status: .*"running"\|"resumed"\|"completed"\|"error"\|"cancelled"\|"lost"/);
  assert.match(String(await say("superagents_task", { ...start, fork: "yes" })), /fork: .*boolean/);
  assert.match(String(await say("superagents_task", { prompt: "go" })), /description: .*string/);
  assert.match(String(await say("superagents_output", {})), /task_id: .*string/);
  assert.deepEqual(calls, []);
  await say("superagents_task", { ...start, context: "full" });
  assert.deepEqual(calls, ["start"]);
});

test("options that are wrong leave the defaults, and the first answer says so", async () => {
  assert.deepEqual(read(undefined), { fork: "spec", retrySeconds: 300 });
  assert.deepEqual(read({ fork: "full", retrySeconds: 5 }), { fork: "full", retrySeconds: 5 });
  const { wrong, ...options } = read({ fork: "ful", retrySeconds: 5, forks: 1 });
  assert.deepEqual(options, { fork: "spec", retrySeconds: 5 });
  assert.match(wrong!, /no option forks, only fork and retrySeconds; fork is "spec" or "full", not "ful"; "spec" is used/);
  assert.match(read({ retrySeconds: "60" }).wrong!, /retrySeconds is a number above 0, not "60"; 300 is used/);
  const all = tools(asked().tasks, "spec", wrong);
  const list = async () => String(await all["superagents_list"]!.execute({}, context));
  assert.match(await list(), /^opencode-tine in opencode\.json: .*Tell the user\.\nNo background tasks found\./);
  assert.equal(await list(), "No background tasks found.");
});
