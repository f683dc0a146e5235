// What two agents of OpenCode would send before the conversation. The cache serves a conversation only behind an equal head.

import type { Agent, PermissionRuleset } from "./host.js";

/** Tools that OpenCode allows or denies by another name. */
const PERMISSION_OF: Record<string, string> = { write: "edit", patch: "edit", multiedit: "edit", apply_patch: "edit" };

/** How what `other` sends differs from what `own` sends, in words; empty where it is equal as far as OpenCode tells. */
export function differences(own: Agent, other: Agent, tools: string[]): string[] {
  if (own.name === other.name) return [];
  const found: string[] = [];
  if ((own.prompt ?? "") !== (other.prompt ?? "")) found.push("another system prompt");
  const allowed = [...other.permission, ...narrowed(own, other)];
  const lacks = tools.filter((tool) => !isDenied(own.permission, tool) && isDenied(allowed, tool));
  if (lacks.length) found.push(`no ${lacks.join(", ")}`);
  const model = other.model;
  if (model && (model.providerID !== own.model?.providerID || model.modelID !== own.model?.modelID)) {
    found.push(`the model ${model.providerID}/${model.modelID}`);
  }
  // OpenCode adds a reminder to every prompt of this agent, and changes the descriptions of tools.
  if ([own.name, other.name].includes("plan")) found.push("a reminder of its mode");
  return found;
}

/**
 * Rules for a session in which `other` works for `own`: what `own` may not do, or not unasked, `other` may not either. A session's rules
 * come after those of its agent and the last that matches counts, so the denials of `other` are said once more behind them.
 */
export function narrowed(own: Agent, other: Agent): PermissionRuleset {
  if (own.name === other.name) return [];
  const limits = own.permission.filter(({ action }) => action !== "allow");
  return [...limits, ...other.permission.filter(({ action }) => action === "deny")];
}

/** Whether a tool is denied as a whole, and so is not declared. The last rule that names it counts. */
function isDenied(rules: PermissionRuleset, tool: string): boolean {
  const name = PERMISSION_OF[tool] ?? tool;
  const rule = rules.findLast(({ permission }) => matches(permission, name));
  return rule?.pattern === "*" && rule.action === "deny";
}

function matches(pattern: string, name: string): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${escaped}$`, "s").test(name);
}
