// Every call to OpenCode stands here, and nowhere else.
//
// OpenCode 2 has another plugin interface (`@opencode-ai/plugin/v2/promise`: `define({ id, setup })`). As of 1.18.33 its published types
// have neither tools nor sessions nor events, so this plugin cannot be written against it yet; when they have, a second class with the
// methods of `Host` is what it takes.

import type { PluginInput } from "@opencode-ai/plugin";
import {
  createOpencodeClient,
  type Agent,
  type AssistantMessage,
  type FilePart,
  type OpencodeClient,
  type Part,
  type PermissionRule,
  type PermissionRuleset,
  type Session,
  type SessionStatus,
  type TextPart,
  type ToolPart,
  type UserMessage,
} from "@opencode-ai/sdk/v2/client";

export type { Agent, AssistantMessage, FilePart, Part, PermissionRule, PermissionRuleset, Session, TextPart, ToolPart, UserMessage };

/** A message with its parts, as `GET /session/{id}/message` lists them, oldest first. */
export interface Message {
  info: UserMessage | AssistantMessage;
  parts: Part[];
}

/** What a prompt is run with. */
export interface Settings {
  /** The session's own where there is none. */
  agent?: string;
  model: { providerID: string; modelID: string };
  variant?: string;
  system?: string;
}

/** A text of a prompt. A synthetic one is not shown; an ignored one is shown and not sent. */
export interface Text {
  text: string;
  synthetic?: boolean;
  ignored?: boolean;
}

/** A call that OpenCode refused, or did not answer. */
export class HostError extends Error {
  constructor(
    readonly call: string,
    readonly status: number | undefined,
    message: string,
  ) {
    super(`OpenCode could not ${call}: ${message}`);
  }
}

/** A call that takes longer than this is given up. Forking the longest conversations takes some seconds. */
const ANSWER_MS_MAX = 60_000;

export class Host {
  readonly directory: string;
  private readonly client: OpencodeClient;

  constructor(input: PluginInput) {
    this.directory = input.directory;
    // The client that a plugin is given is that of version 1, which can neither change a part nor delete a message. Its address
    // is no help where no server listens (`opencode run`), but its `fetch` reaches OpenCode everywhere, with the password where
    // there is one.
    const given = input.client as unknown as { _client: { getConfig(): ClientConfig } };
    const { baseUrl, fetch, headers } = given._client.getConfig();
    this.client = createOpencodeClient({ baseUrl, fetch, headers: headers as never });
  }

  async agents(): Promise<Agent[]> {
    return this.ask("list its agents", (options) => this.client.app.agents({ directory: this.directory }, options));
  }

  /** Names of all tools, those of this plugin included. */
  async tools(): Promise<string[]> {
    return this.ask("list its tools", (options) => this.client.tool.ids({ directory: this.directory }, options));
  }

  /** The package that speaks to a model's provider, such as `@ai-sdk/anthropic`; undefined for a model that is not known. */
  async providerPackage(model: Settings["model"]): Promise<string | undefined> {
    const { providers } = await this.ask("list its providers", (options) =>
      this.client.config.providers({ directory: this.directory }, options),
    );
    return providers.find(({ id }) => id === model.providerID)?.models[model.modelID]?.api.npm;
  }

  /** Undefined where there is no such session. */
  async session(sessionID: string): Promise<Session | undefined> {
    return this.unlessGone(this.ask("read the session", (options) => this.client.session.get({ sessionID }, options)));
  }

  async messages(sessionID: string): Promise<Message[]> {
    return this.ask("read the conversation", (options) => this.client.session.messages({ sessionID }, options));
  }

  /** The sessions of this directory that are busy or wait for a provider, of this process alone. */
  async statuses(): Promise<Record<string, SessionStatus>> {
    return this.ask("tell which sessions are busy", (options) =>
      this.client.session.status({ directory: this.directory }, options),
    );
  }

  /** Copies what comes before a message into a new session. Permission is not copied. */
  async fork(sessionID: string, messageID: string): Promise<Session> {
    return this.ask("fork the session", (options) => this.client.session.fork({ sessionID, messageID }, options));
  }

  async create(parentID: string, title: string): Promise<Session> {
    return this.ask("create a session", (options) =>
      this.client.session.create({ directory: this.directory, parentID, title }, options),
    );
  }

  /** Gives a session its title and, where there is one, a permission, which is added to what it has. */
  async entitle(sessionID: string, title: string, permission: PermissionRuleset | undefined): Promise<void> {
    await this.ask("set the session's title", (options) =>
      this.client.session.update({ sessionID, title, ...(permission?.length ? { permission } : {}) }, options),
    );
  }

  async replacePart(part: Part): Promise<void> {
    const { sessionID, messageID, id: partID } = part;
    await this.ask("change a part", (options) =>
      this.client.part.update({ sessionID, messageID, partID, part }, options),
    );
  }

  /** Refused while the session is busy. */
  async deleteMessage(message: Message): Promise<void> {
    const { sessionID, id: messageID } = message.info;
    await this.ask("delete a message", (options) =>
      this.client.session.deleteMessage({ sessionID, messageID }, options),
    );
  }

  /** Starts a turn, and returns before it ends; where OpenCode dies in the next moments, the prompt may be lost. */
  async prompt(sessionID: string, settings: Settings, texts: Text[]): Promise<void> {
    await this.ask("take the prompt", (options) =>
      this.client.session.promptAsync({ sessionID, ...settings, parts: parts(texts) }, options),
    );
  }

  /** Adds a message that asks for no reply, and returns when it is stored. In the last step of a running turn it forces one more request
   *  all the same. */
  async note(sessionID: string, settings: Settings, texts: Text[]): Promise<void> {
    await this.ask("take the notice", (options) =>
      this.client.session.prompt({ sessionID, ...settings, noReply: true, parts: parts(texts) }, options),
    );
  }

  async abort(sessionID: string): Promise<void> {
    await this.unlessGone(this.ask("stop the session", (options) => this.client.session.abort({ sessionID }, options)));
  }

  /** Stops a session first: one that is deleted while it runs goes on, and fails when it writes. */
  async delete(sessionID: string): Promise<void> {
    await this.abort(sessionID);
    await this.unlessGone(
      this.ask("delete the session", (options) => this.client.session.delete({ sessionID }, options)),
    );
  }

  /** Says something to the person at the screen, where there is one, and in the log. */
  async complain(message: string): Promise<void> {
    const shown = { directory: this.directory, title: "opencode-tine", message, variant: "warning" as const };
    await this.client.tui.showToast(shown).catch(() => undefined);
    await this.warn(message);
  }

  async warn(message: string): Promise<void> {
    await this.client.app.log({ service: "opencode-tine", level: "warn", message }).catch(() => undefined);
  }

  private async ask<T>(call: string, request: (options: { signal: AbortSignal }) => Promise<Answer<T>>): Promise<T> {
    const answer = await request({ signal: AbortSignal.timeout(ANSWER_MS_MAX) }).catch((error: unknown) => {
      throw new HostError(call, undefined, error instanceof Error ? error.message : String(error));
    });
    if (answer.error !== undefined) throw new HostError(call, answer.response?.status, told(answer.error));
    return answer.data as T;
  }

  private async unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
    return answer.catch((error: unknown) => {
      if (error instanceof HostError && error.status === 404) return undefined;
      throw error;
    });
  }
}

function parts(texts: Text[]) {
  return texts.map((text) => ({ type: "text" as const, ...text }));
}

interface ClientConfig {
  baseUrl: string;
  fetch: typeof fetch;
  headers: unknown;
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response?: Response;
}

/** An error of OpenCode in words: `{ name, data: { message } }`, or whatever came. */
export function told(error: unknown): string {
  const { data, message } = (error ?? {}) as { data?: { message?: string }; message?: string };
  return data?.message ?? message ?? (typeof error === "string" ? error : JSON.stringify(error));
}
