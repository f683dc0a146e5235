// The five tools, as the model sees them. Their declarations are part of every cached prefix: they change with a version, and with nothing else.

import { tool, type ToolContext, type ToolDefinition } from "@opencode-ai/plugin";

import { DigestError } from "./digest.js";
import { HostError } from "./host.js";
import { IdError, RegistryError, type Context } from "./registry.js";
import { Refusal, type Start, type Tasks } from "./tasks.js";
import * as words from "./words.js";

const { schema } = tool;

type Shape = ToolDefinition["args"];

interface Made<Args extends Shape> {
  description: string;
  args: Args;
  execute: (args: Parameters<ReturnType<typeof tool<Args>>["execute"]>[0], caller: ToolContext) => Promise<string>;
}

/** Seconds that `superagents_output` waits where nothing else is said, and at most. */
const WAIT_S = 30;
const WAIT_S_MAX = 600;

const STATUSES = ["running", "resumed", "completed", "error", "cancelled", "lost"] as const;

const ID = "Id of the task; any beginning of it that no other task has will do.";

/** The tools. `fork` is the context of `fork: true`, and `wrong` what is wrong with the options, for the first answer. */
export function tools(tasks: Tasks, fork: Context, wrong?: string): Record<string, ToolDefinition> {
  const unsaid = wrong ? [`${wrong} Tell the user.`] : [];
  const define = <Args extends Shape>(made: Made<Args>): ToolDefinition => ({
    ...made,
    execute: async (args, context) => [...unsaid.splice(0), await answered(tasks, made, args, context)].join("\n"),
  });
  return {
    superagents_task: define({
      description: [
        "Start a worker in the background and go on at once: the answer is the task's id, and you are told when it ends.",
        "With fork: true the worker knows this whole conversation (long tool results cut) and reads it from the provider's prompt cache, so the prompt can be short.",
        "Without it the worker knows only its prompt. Start several in one message to have them work at the same time.",
        "With resume, a task that has ended gets another prompt and keeps all it knows.",
      ].join(" "),
      args: {
        description: schema.string().describe("What the task is, in three to six words."),
        prompt: schema.string().describe("What the worker is to do, and what it is to report."),
        agent: schema
          .string()
          .optional()
          .describe("The agent that works. Leave it out to keep your own: another one sends another system prompt or other tools, and then the cache serves nothing of this conversation."),
        fork: schema.boolean().optional().describe("Give the worker this conversation. Not together with resume."),
        resume: schema.string().optional().describe("Id of a task that has ended and is to go on with this prompt."),
        context: schema
          .enum(["spec", "full", "digest"])
          .optional()
          .describe("How the conversation is given: spec (tool results above 1,500 characters cut, at most 100,000 tokens), full (nothing cut, the cache serves all of it), digest (rendered as text; shares nothing with the cache). Implies fork."),
      },
      execute: async (args, caller) => {
        if (args.resume && (args.fork || args.context)) throw new Refusal(words.FORK_AND_RESUME);
        const prompt = args.prompt.trim();
        if (!prompt) throw new Refusal("The prompt is empty. Nothing was started.");
        if (args.resume) {
          const answer = await tasks.resume(args.resume, prompt, caller);
          return args.agent ? `${answer}\nThe agent stays that of the task; the one you named is not used.` : answer;
        }
        if (args.context && args.fork === false) {
          throw new Refusal("fork: false and a context exclude each other: a context is what a fork inherits. Nothing was started.");
        }
        const description = args.description.trim();
        if (!description) throw new Refusal("The description is empty. Nothing was started.");
        const context: Context = args.context ?? (args.fork ? fork : "fresh");
        const start: Start = { description, prompt, agent: args.agent?.trim() || undefined, context };
        return tasks.start(start, caller);
      },
    }),
    superagents_output: define({
      description:
        "Read what a task has said: its report when it has ended, and what there is so far while it works. Does not wait unless block is true.",
      args: {
        task_id: schema.string().describe(ID),
        block: schema.boolean().optional().describe("Wait until the task ends. Its end is then told by this answer alone."),
        timeout: schema.number().optional().describe(`Seconds to wait at most with block: ${WAIT_S} where nothing is said, ${WAIT_S_MAX} at most.`),
      },
      execute: async (args, caller) => {
        const seconds = Math.min(WAIT_S_MAX, Math.max(0, args.timeout ?? WAIT_S));
        return tasks.output(args.task_id, args.block ? seconds * 1000 : 0, caller.abort, caller);
      },
    }),
    superagents_list: define({
      description: "List the tasks that this session started, the newest first.",
      args: { status: schema.enum(STATUSES).optional().describe("Only tasks of this status.") },
      execute: async (args, caller) => {
        const own = (await tasks.ofParent(caller.sessionID)).filter(({ isCleared }) => !isCleared);
        const chosen = own.filter(({ status }) => !args.status || status === args.status);
        return words.list(chosen.reverse(), Date.now());
      },
    }),
    superagents_cancel: define({
      description: "Stop a task that works. What it has said and done stays, and it can be resumed.",
      args: { task_id: schema.string().describe(ID) },
      execute: async (args, caller) => tasks.cancel(args.task_id, caller),
    }),
    superagents_clear: define({
      description: "Stop all tasks of this session that work, and empty its list. Sessions and reports stay.",
      args: {},
      execute: async (_args, caller) => tasks.clear(caller),
    }),
  };
}

/** Refuses workers and arguments that OpenCode did not look at, and turns what a caller can mend into an answer. */
async function answered<Args extends Shape>(tasks: Tasks, { args: shape, execute }: Made<Args>, given: unknown, context: ToolContext): Promise<string> {
  try {
    if (await tasks.workerOf(context.sessionID)) return words.WORKER_REFUSED;
    const args = schema.object(shape).safeParse(given);
    if (!args.success) throw new Refusal(words.wrongArguments(args.error.issues));
    await tasks.takeUp();
    return await execute(args.data as never, context);
  } catch (error) {
    if (error instanceof Refusal || error instanceof IdError) return error.message;
    if (error instanceof HostError || error instanceof DigestError || error instanceof RegistryError) {
      return `Failed: ${error.message}.`;
    }
    throw error;
  }
}
