// The plugin: five tools, and what it hears of OpenCode's sessions. OpenCode loads it once for each directory.

import type { Hooks, PluginInput, PluginModule, PluginOptions } from "@opencode-ai/plugin";
import type { Event } from "@opencode-ai/sdk/v2/client";

import { Host, told } from "./host.js";
import { read } from "./options.js";
import { Registry } from "./registry.js";
import { Tasks } from "./tasks.js";
import { tools } from "./tools.js";

/** The screen is drawn some seconds after the plugins are loaded, and shows nothing of what was said before. */
const COMPLAIN_MS = 5_000;

async function server(input: PluginInput, given?: PluginOptions): Promise<Hooks> {
  const { fork, retrySeconds, wrong } = read(given);
  const host = new Host(input);
  const tasks = new Tasks(host, new Registry(), retrySeconds * 1000);
  const guarded = async (work: Promise<void>) => work.catch((error: unknown) => host.warn(told(error)));
  // OpenCode answers no request before its plugins are loaded, so this looks later.
  tasks.watch();
  if (wrong) setTimeout(() => void host.complain(wrong), COMPLAIN_MS).unref?.();
  return {
    tool: tools(tasks, fork, wrong),
    dispose: async () => guarded(tasks.stop()),
    event: async ({ event }) => guarded(heard(tasks, event as Event)),
  };
}

async function heard(tasks: Tasks, event: Event): Promise<void> {
  switch (event.type) {
    case "session.idle":
      return tasks.idle(event.properties.sessionID);
    case "session.error":
      return event.properties.sessionID ? tasks.failed(event.properties.sessionID, event.properties.error) : undefined;
    case "session.status": {
      const { sessionID, status } = event.properties;
      return status.type === "retry" ? tasks.retried(sessionID, status.attempt, status.message) : undefined;
    }
    case "session.updated":
      return tasks.updated(event.properties.sessionID, event.properties.info.revert);
    case "session.deleted":
      return tasks.deleted(event.properties.sessionID);
    case "message.part.updated": {
      const { part } = event.properties;
      return part.type === "tool" && part.state.status === "running" ? tasks.calls(part.sessionID) : undefined;
    }
    case "question.asked": {
      const { id, sessionID, questions } = event.properties;
      return tasks.asked(sessionID, id, `an answer to "${questions.map(({ question }) => question).join(" ")}"`);
    }
    case "permission.asked": {
      const { id, sessionID, permission, patterns, metadata } = event.properties;
      // The patterns of a command are its parts, without what stands between them.
      const { command } = metadata;
      const what = permission === "bash" && typeof command === "string" ? command : patterns.join(", ");
      return tasks.asked(sessionID, id, `permission for ${permission}: ${what}`);
    }
    case "question.replied":
      return tasks.answered(event.properties.requestID, false);
    case "question.rejected":
      return tasks.answered(event.properties.requestID, true);
    case "permission.replied":
      return tasks.answered(event.properties.requestID, event.properties.reply === "reject");
    default:
      return undefined;
  }
}

export default { id: "opencode-tine", server } satisfies PluginModule;
