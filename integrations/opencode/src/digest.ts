// The digest of a conversation is the work of tine itself: `tine digest --format opencode`.

import { spawn } from "node:child_process";

import type { Message } from "./host.js";

/** What `tine digest` prints. */
export interface Digest {
  text: string;
  stats: {
    messages: number;
    messages_dropped: number;
    results_cut: number;
    tokens_estimated: number;
    from_compaction: boolean;
  };
}

/** Why there is no digest. */
export class DigestError extends Error {}

const TIME_MS_MAX = 60_000;

/** Whether `tine` is on the path. */
export async function hasTine(): Promise<boolean> {
  return tine(["--version"], "").then(
    () => true,
    () => false,
  );
}

export async function digest(messages: Message[]): Promise<Digest> {
  const printed = await tine(["digest", "--format", "opencode", "-"], JSON.stringify(messages));
  return JSON.parse(printed) as Digest;
}

async function tine(args: string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("tine", args, { stdio: "pipe", timeout: TIME_MS_MAX });
    const printed: Buffer[] = [];
    const complaints: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => printed.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => complaints.push(chunk));
    child.on("error", (error) => reject(new DigestError(`tine cannot be run: ${error.message}`)));
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(printed).toString("utf8"));
      else reject(new DigestError(`tine ${args[0]} failed: ${Buffer.concat(complaints).toString("utf8").trim().split("\n")[0]}`));
    });
    // A program that does not read to the end says why on its standard error.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}
