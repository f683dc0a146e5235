import assert from "node:assert/strict";
import { test } from "node:test";

import { plan as planned, RESULT_CHARACTERS_MAX, TOKENS_MAX, whole } from "../src/cut.js";
import type { Message, Part, ToolPart } from "../src/host.js";

let next = 0;
const plan = (messages: Message[]) => planned(messages, false);

function message(role: "user" | "assistant", parts: object[], info: object = {}): Message {
  const id = `msg_${next++}`;
  const own = parts.map((part, place) => ({ id: `prt_${id}_${place}`, sessionID: "ses", messageID: id, ...part }) as Part);
  return { info: { id, sessionID: "ses", role, ...info } as Message["info"], parts: own };
}

const user = (text: string, more: object = {}) => message("user", [{ type: "text", text, ...more }]);
const assistant = (...parts: object[]) => message("assistant", parts);
const text = (words: string) => ({ type: "text", text: words });

function result(output: string, state: object = {}): object {
  const time = { start: 1, end: 2 };
  return { type: "tool", tool: "bash", callID: `call_${next++}`, state: { status: "completed", input: {}, output, title: "", metadata: {}, time, ...state } };
}

const output = (part: ToolPart | undefined) => (part?.state.status === "completed" ? part.state.output : undefined);

test("a result of 1,500 characters stays and one of 1,501 is cut", () => {
  const exact = "a".repeat(RESULT_CHARACTERS_MAX);
  const { replaced, statistics, dropped } = plan([user("go"), assistant(result(exact), result(`${exact}b`))]);
  assert.equal(replaced.length, 1);
  assert.equal(output(replaced[0]), `${exact}\n[Tool result truncated - original 1501 chars]`);
  assert.deepEqual(statistics.results.map(({ characters, wasCut }) => [characters, wasCut]), [[1501, false]]);
  assert.equal(dropped.length, 0);
});

test("characters are counted, not units of UTF-16, and none is torn", () => {
  const exact = "🦀".repeat(RESULT_CHARACTERS_MAX);
  const { replaced } = plan([user("go"), assistant(result(exact), result(`${exact}🦀`))]);
  assert.deepEqual(replaced.map(output), [`${exact}\n[Tool result truncated - original 1501 chars]`]);
});

test("call, arguments and id of a cut result stay, also of one that failed", () => {
  const input = { command: "x".repeat(2_000) };
  const long = { status: "error", input, error: "e".repeat(3_000) };
  const messages = [user("go"), assistant(result("", long))];
  const [part] = plan(messages).replaced;
  const original = messages[1]!.parts[0] as ToolPart;
  assert.deepEqual({ ...part, state: undefined }, { ...original, state: undefined });
  assert.deepEqual(part?.state.input, input);
  assert.match(part?.state.status === "error" ? part.state.error : "", /^e{1500}\n\[Tool result truncated - original 3000 chars\]$/);
});

test("what OpenCode cut says so, and what it cleared is left alone", () => {
  const cut = result("c".repeat(2_000), { metadata: { truncated: true } });
  const cleared = result("d".repeat(2_000), { time: { start: 1, end: 2, compacted: 3 } });
  const { replaced } = plan([user("go"), assistant(cut, cleared)]);
  assert.equal(replaced.length, 1);
  assert.match(output(replaced[0])!, /original 2000 chars, already cut by OpenCode\]$/);
});

/** A turn of so many tokens, the user's words and the answer. */
const turn = (tokens: number) => [user("u".repeat(2 * tokens)), assistant(text("a".repeat(2 * tokens)))];

test("100,000 tokens stay, and with one more the oldest go up to the next words of the user", () => {
  const fits = [...turn(TOKENS_MAX / 4), ...turn(TOKENS_MAX / 2), ...turn(TOKENS_MAX / 4)];
  assert.equal(plan(fits).dropped.length, 0);
  assert.equal(plan(fits).statistics.tokensKept, TOKENS_MAX);
  const over = [...turn(TOKENS_MAX / 4 + 1), ...turn(TOKENS_MAX / 2), ...turn(TOKENS_MAX / 4)];
  const { dropped, statistics } = plan(over);
  assert.deepEqual(dropped, over.slice(0, 2));
  assert.equal(statistics.tokensKept, (3 * TOKENS_MAX) / 4);
  assert.equal(statistics.tokensShared, 0);
});

test("arguments and results count, and results that are cut count as cut", () => {
  const calls = Array.from({ length: 1_000 }, () => result("r".repeat(5_000)));
  const { dropped, statistics } = plan([...turn(10), user("go"), assistant(...calls)]);
  assert.equal(dropped.length, 2);
  assert.equal(statistics.results.length, 1_000);
  const few = Array.from({ length: 200 }, () => result("r".repeat(5_000)));
  assert.equal(plan([...turn(10), user("go"), assistant(...few)]).dropped.length, 0);
});

test("the newest turn stays whatever it is", () => {
  const messages = [...turn(10), ...turn(2 * TOKENS_MAX)];
  assert.deepEqual(plan(messages).dropped, messages.slice(0, 2));
});

test("a notice or an ignored text is no word of the user", () => {
  const messages = [user("begin"), assistant(text("a".repeat(400_000))), user("a notice", { synthetic: true }), user("seen", { ignored: true }), assistant(text("b"))];
  assert.equal(plan(messages).dropped.length, 0);
  assert.equal(plan([...messages, user("go on"), assistant(text("c"))]).dropped.length, 5);
});

const summary = (words: string) => [
  message("user", [{ type: "compaction", auto: false }]),
  message("assistant", [text(words)], { summary: true, finish: "stop", time: { completed: 1 } }),
];

test("after a compaction everything counts from its summary, which stays", () => {
  const messages = [...turn(3 * TOKENS_MAX), ...summary("s".repeat(400)), user("go"), assistant(text("done"))];
  const kept = plan(messages);
  assert.deepEqual([kept.dropped.length, kept.statistics.isCompacted, kept.statistics.messages], [0, true, 4]);
  const long = [...turn(10), ...summary("s"), ...turn(TOKENS_MAX), ...turn(10)];
  assert.deepEqual(plan(long).dropped, long.slice(4, 6));
});

test("the mark is on the assistant's last text before the first cut, where much comes after it", () => {
  const later = Array.from({ length: 20 }, () => text("later"));
  const messages = [user("u".repeat(400)), assistant(text("look")), user("more"), assistant(result("x".repeat(2_000)), ...later)];
  const { marked, statistics } = planned(messages, true);
  assert.equal(marked, messages[1]!.parts[0]);
  assert.equal(statistics.tokensShared, 101);
  // Nearby, the provider looks back far enough; others cache without marks.
  assert.equal(planned([...messages.slice(0, 3), assistant(result("x".repeat(2_000)))], true).marked, undefined);
  assert.equal(plan(messages).marked, undefined);
  // Without such a text the head alone is shared, and the figures say so.
  const bare = planned([messages[0]!, ...messages.slice(3)], true);
  assert.deepEqual([bare.marked, bare.statistics.tokensShared], [undefined, 0]);
});

test("what is shared ends at the first cut", () => {
  const messages = [user("a".repeat(400)), assistant(result("x".repeat(2_000)))];
  const { statistics } = plan(messages);
  assert.equal(statistics.tokensShared, 100);
  assert.equal(statistics.tokens, whole(messages).tokens);
  assert.equal(whole(messages).tokensShared, whole(messages).tokens);
});

test("whatever the conversation is, what is sent begins with words of the user", () => {
  let seed = 17;
  const random = (below: number) => ((seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below);
  for (let round = 0; round < 300; round += 1) {
    const messages = Array.from({ length: 1 + random(12) }, () => {
      const length = random(200_000);
      return [() => user("u".repeat(length)), () => assistant(text("a".repeat(length))), () => assistant(result("r".repeat(length)))][random(3)]!();
    });
    messages.unshift(user("begin"));
    const { dropped, replaced, statistics } = plan(messages);
    const rest = messages.slice(dropped.length);
    assert.deepEqual(messages.slice(0, dropped.length), dropped);
    assert.equal(rest[0]?.info.role, "user");
    assert.ok(replaced.every((part) => rest.some(({ info }) => info.id === part.messageID)));
    assert.ok(statistics.tokensShared <= statistics.tokens);
  }
});
