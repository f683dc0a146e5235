// What a `spec` fork leaves out of its parent's conversation, and what the provider's cache can still serve. It reads messages and says
// what is to be changed; it changes nothing.

import type { Message, Part, TextPart, ToolPart } from "./host.js";

/** Characters of a tool's result beyond which it is cut. */
export const RESULT_CHARACTERS_MAX = 1_500;
/** Estimated tokens of a conversation beyond which its oldest messages go. */
export const TOKENS_MAX = 100_000;
/** Tokens are estimated as a quarter of the characters. */
export const CHARACTERS_PER_TOKEN = 4;
/** What a picture or a PDF counts, about the 1,000 tokens that providers take for a middling one. */
const FILE_CHARACTERS = 4_000;
/** Blocks between the first cut and the end of a fork over which a provider of marked blocks (Anthropic's, which looks back over 20) surely
 *  finds what its parent wrote: the prompt adds two, and the marks stand at the ends of messages. */
const BLOCKS_LOOKED_BACK = 15;
/** What OpenCode sends for a result that it has pruned. */
const PRUNED = "[Old tool result content cleared]";

/** A result that is cut. */
export interface ResultCut {
  tool: string;
  callID: string;
  /** Characters of the result as OpenCode stores it. */
  characters: number;
  /** OpenCode had cut it before, and keeps the true length nowhere. */
  wasCut: boolean;
}

/** What is cut from a conversation, and how much of it stays as it was. Tokens are estimates. */
export interface Statistics {
  messages: number;
  messagesDropped: number;
  results: ResultCut[];
  /** The conversation before and after cutting. */
  tokens: number;
  tokensKept: number;
  /** Of the conversation's beginning, what is equal to the parent's, and the cache can serve. */
  tokensShared: number;
  /** The conversation was compacted before, and is counted from its summary. */
  isCompacted: boolean;
}

/** What is to be done to a fork before its prompt. */
export interface Plan {
  replaced: ToolPart[];
  dropped: Message[];
  /** The last text of the assistant before the first cut, where more comes after it than a provider of marked blocks looks back over: a
   *  mark on it keeps the prefix readable. OpenCode passes on no marks on words of the user. */
  marked: TextPart | undefined;
  statistics: Statistics;
}

/** Plans the cuts of a conversation. `isMarked` says that its provider caches marked blocks, as Anthropic's does. */
export function plan(messages: Message[], isMarked: boolean): Plan {
  const { first, summaryEnd } = sent(messages);
  const results: ResultCut[] = [];
  const replaced: ToolPart[] = [];
  const before = messages.map((message) => size(message.parts));
  const after = [...before];
  let shared = 0;
  let marked: { part: TextPart; shared: number } | undefined;
  let blocksAfter = 0;

  for (let index = first; index < messages.length; index += 1) {
    const { info, parts } = messages[index]!;
    for (const part of parts) {
      const cut = part.type === "tool" ? shorten(part) : undefined;
      if (cut) {
        results.push(cut.result);
        replaced.push(cut.part);
        after[index]! -= characters(part) - characters(cut.part);
      }
      if (results.length) {
        blocksAfter += blocks(part);
      } else {
        shared += characters(part);
        if (info.role === "assistant" && isSentText(part)) marked = { part, shared };
      }
    }
  }
  if (results.length === 0 || !isMarked || blocksAfter <= BLOCKS_LOOKED_BACK) marked = undefined;
  else shared = marked?.shared ?? 0;

  const keptFrom = newestWithin(messages, after, first, summaryEnd);
  const dropped = messages.slice(summaryEnd, keptFrom);
  const isDropped = (part: ToolPart) => dropped.some(({ info }) => info.id === part.messageID);
  const droppedParts = new Set(replaced.filter(isDropped).map(({ callID }) => callID));
  const sum = (sizes: number[], from: number, to: number) => sizes.slice(from, to).reduce((a, b) => a + b, 0);
  if (dropped.length) {
    marked = undefined;
    shared = Math.min(shared, sum(before, first, summaryEnd));
  }
  return {
    replaced: replaced.filter((part) => !droppedParts.has(part.callID)),
    dropped,
    marked: marked?.part,
    statistics: {
      messages: messages.length - first,
      messagesDropped: dropped.length,
      results: results.filter(({ callID }) => !droppedParts.has(callID)),
      tokens: tokens(sum(before, first, messages.length)),
      tokensKept: tokens(sum(after, first, summaryEnd) + sum(after, keptFrom, messages.length)),
      tokensShared: tokens(shared),
      isCompacted: first > 0 || summaryEnd > 0,
    },
  };
}

/** The same figures for a fork that nothing is cut from. */
export function whole(messages: Message[]): Statistics {
  const { first, summaryEnd } = sent(messages);
  const all = tokens(messages.slice(first).reduce((sum, { parts }) => sum + size(parts), 0));
  return {
    messages: messages.length - first,
    messagesDropped: 0,
    results: [],
    tokens: all,
    tokensKept: all,
    tokensShared: all,
    isCompacted: first > 0 || summaryEnd > 0,
  };
}

/** Estimated tokens of so many characters. */
export function tokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** The first message that OpenCode sends, and the one behind the summary of the last compaction (0 where there was none). */
function sent(messages: Message[]): { first: number; summaryEnd: number } {
  for (let index = messages.length - 2; index >= 0; index -= 1) {
    const compaction = messages[index]!.parts.find((part) => part.type === "compaction");
    const next = messages[index + 1]!.info;
    if (compaction && next.role === "assistant" && next.summary && next.finish && !next.error) {
      // Messages from the tail on are sent as they were, beside the summary.
      const tail = compaction.tail_start_id;
      const tailStart = tail ? messages.findIndex(({ info }) => info.id === tail) : -1;
      const first = tailStart >= 0 && tailStart < index ? tailStart : index;
      return { first, summaryEnd: index + 2 };
    }
  }
  return { first: 0, summaryEnd: 0 };
}

/** The message from which the conversation is short enough. A request begins with words of the user, so only there is it parted. */
function newestWithin(messages: Message[], sizes: number[], first: number, summaryEnd: number): number {
  const begin = Math.max(first, summaryEnd);
  const starts = messages.flatMap((message, index) => (index > begin && isOfTheUser(message) ? [index] : []));
  let kept = sizes.slice(first).reduce((a, b) => a + b, 0);
  let from = begin;
  for (const start of starts) {
    if (tokens(kept) <= TOKENS_MAX) break;
    kept -= sizes.slice(from, start).reduce((a, b) => a + b, 0);
    from = start;
  }
  return from;
}

function isOfTheUser({ info, parts }: Message): boolean {
  return info.role === "user" && parts.some((part) => isSentText(part) && !part.synthetic);
}

function isSentText(part: Part): part is TextPart {
  return part.type === "text" && !part.ignored && part.text !== "";
}

function shorten(part: ToolPart): { part: ToolPart; result: ResultCut } | undefined {
  const { state } = part;
  if (state.status !== "completed" && state.status !== "error") return undefined;
  if (state.status === "completed" && state.time.compacted) return undefined;
  const text = state.status === "completed" ? state.output : state.error;
  const length = count(text);
  if (length <= RESULT_CHARACTERS_MAX) return undefined;
  const wasCut = state.metadata?.["truncated"] === true;
  const head = Array.from(text).slice(0, RESULT_CHARACTERS_MAX).join("");
  const note = `[Tool result truncated - original ${length} chars${wasCut ? ", already cut by OpenCode" : ""}]`;
  const short = `${head}\n${note}`;
  return {
    part: {
      ...part,
      state: state.status === "completed" ? { ...state, output: short } : { ...state, error: short },
    },
    result: { tool: part.tool, callID: part.callID, characters: length, wasCut },
  };
}

/** Characters, not units of UTF-16: what is cut never tears one. */
function count(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** Blocks that a part is on the wire. */
function blocks(part: Part): number {
  if (part.type === "tool") return 2;
  return part.type === "text" ? Number(isSentText(part)) : Number(part.type === "reasoning" || part.type === "file");
}

function size(parts: Part[]): number {
  return parts.reduce((sum, part) => sum + characters(part), 0);
}

function characters(part: Part): number {
  switch (part.type) {
    case "text":
      return part.ignored ? 0 : count(part.text);
    case "reasoning":
      return count(part.text);
    case "file":
      return FILE_CHARACTERS;
    case "tool":
      return part.tool.length + JSON.stringify(part.state.input).length + count(resultText(part));
    default:
      return 0;
  }
}

function resultText({ state }: ToolPart): string {
  if (state.status === "error") return state.error;
  if (state.status !== "completed") return "";
  return state.time.compacted ? PRUNED : state.output;
}
