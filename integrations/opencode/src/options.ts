// What `opencode.json` may say behind the plugin's name: `["opencode-tine", { "fork": "full" }]`.

import type { PluginOptions } from "@opencode-ai/plugin";

import { RETRY_MS_DEFAULT } from "./tasks.js";

export interface Options {
  /** What `fork: true` gives: the conversation with long results cut, or all of it. */
  fork: "spec" | "full";
  /** How long a provider may be out of reach before a task counts as failed. */
  retrySeconds: number;
  /** What is wrong with what was given. OpenCode would leave out a plugin that fails, and say so in its log alone. */
  wrong?: string;
}

/** Takes the options that are right, and the defaults for the rest. */
export function read(given: PluginOptions | undefined): Options {
  const { fork = "spec", retrySeconds = RETRY_MS_DEFAULT / 1000, ...unknown } = given ?? {};
  const options: Options = { fork: "spec", retrySeconds: RETRY_MS_DEFAULT / 1000 };
  const wrong = Object.keys(unknown).map((name) => `there is no option ${name}, only fork and retrySeconds`);
  if (fork === "spec" || fork === "full") options.fork = fork;
  else wrong.push(`fork is "spec" or "full", not ${JSON.stringify(fork)}; "spec" is used`);
  if (typeof retrySeconds === "number" && retrySeconds > 0) options.retrySeconds = retrySeconds;
  else wrong.push(`retrySeconds is a number above 0, not ${JSON.stringify(retrySeconds)}; ${options.retrySeconds} is used`);
  return wrong.length ? { ...options, wrong: `opencode-tine in opencode.json: ${wrong.join("; ")}.` } : options;
}
