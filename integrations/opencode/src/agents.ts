// What two agents of OpenCode would send before the conversation. The cache serves a conversation only behind an equal head.

import type { Agent, PermissionRule, PermissionRuleset } from "./host.js";
import { covers, matches, shared } from "./patterns.js";

/** Tools that OpenCode allows or denies by another name. */
const PERMISSION_OF: Record<string, string> = { write: "edit", patch: "edit", multiedit: "edit", apply_patch: "edit" };

/** How what `other` sends differs from what `own` sends, in words; empty where it is equal as far as OpenCode tells. */
export function differences(own: Agent, other: Agent, tools: string[]): string[] {
  if (own.name === other.name) return [];
  const found: string[] = [];
  if ((own.prompt ?? "") !== (other.prompt ?? "")) found.push("another system prompt");
  const allowed = narrowed(own.permission, other.permission);
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

/** What OpenCode does where no rule matches. */
const ELSE: PermissionRule = { permission: "*", pattern: "*", action: "ask" };

const STRICTNESS = { allow: 0, ask: 1, deny: 2 };

/**
 * Rules for a session in which an agent with the rules `other` works for one with `own`: what either denies is denied, what either asks is
 * asked, and what both allow is allowed. Of rules the last that matches counts, and of these here the last is made of the last of either.
 */
export function narrowed(own: PermissionRuleset, other: PermissionRuleset): PermissionRuleset {
  const pairs = [ELSE, ...own].flatMap((one) => [ELSE, ...other].flatMap((two) => both(one, two)));
  return needed(pairs);
}

/** What is meant by two rules at once, with the stricter action. */
function both(one: PermissionRule, two: PermissionRule): PermissionRuleset {
  const { action } = STRICTNESS[one.action] > STRICTNESS[two.action] ? one : two;
  return shared(one.permission, two.permission).flatMap((permission) =>
    shared(one.pattern, two.pattern).map((pattern) => ({ permission, pattern, action })),
  );
}

/** Leaves out the rules that change nothing: a later one covers them, or an earlier one already says so. */
function needed(rules: PermissionRuleset): PermissionRuleset {
  const within = (rule: PermissionRule, of: PermissionRule) => covers(of.permission, rule.permission) && covers(of.pattern, rule.pattern);
  const last = rules.filter((rule, place) => !rules.some((later, there) => there > place && within(rule, later)));
  const kept: PermissionRuleset = [];
  for (const rule of last) {
    const before = kept.findLast((earlier) => within(rule, earlier) || (earlier.action !== rule.action && both(rule, earlier).length));
    if (before?.action !== rule.action) kept.push(rule);
  }
  return kept;
}

/** Whether a tool is denied as a whole, and so is not declared. The last rule that names it counts. */
function isDenied(rules: PermissionRuleset, tool: string): boolean {
  const name = PERMISSION_OF[tool] ?? tool;
  const rule = rules.findLast(({ permission }) => matches(permission, name));
  return rule?.pattern === "*" && rule.action === "deny";
}
