// OpenCode's patterns: `*` is any text, `?` any character, and a blank with `*` at the end may be missing (`ls *` is also `ls`).

/** Whether a text is of a pattern, as OpenCode sees it. */
export function matches(pattern: string, text: string): boolean {
  return expression(pattern, ".").test(text);
}

/** Whether all that is of `inner` is of `outer`, as far as their letters show. */
export function covers(outer: string, inner: string): boolean {
  if (outer === "*" || outer === inner) return true;
  if (!/[*?]/.test(outer)) return false;
  // A character that is open in `inner` is not one that `outer` may choose.
  const wide = expression(outer, "[^*]");
  return wide.test(inner) && (!isOptional(inner) || wide.test(inner.slice(0, -2)));
}

/** Patterns of all that is of both patterns, and of nothing else; none where nothing is. */
export function shared(one: string, two: string): string[] {
  if (covers(one, two)) return [two];
  if (covers(two, one)) return [one];
  const found = new Set(plain(one).flatMap((left) => plain(two).flatMap((right) => [...crossed(left, right, new Map())])));
  return [...found].flatMap(exactly).filter((pattern, place, all) => all.indexOf(pattern) === place);
}

/** Patterns that mean the same, of which none has an end that may be missing. */
function plain(pattern: string): string[] {
  return isOptional(pattern) ? [pattern.slice(0, -2), ...exactly(pattern)] : [pattern];
}

/** The same with an end that may not be missing. */
function exactly(pattern: string): string[] {
  return isOptional(pattern) ? [pattern.slice(0, -1), `${pattern.slice(0, -1)}?*`] : [pattern];
}

function isOptional(pattern: string): boolean {
  return pattern.endsWith(" *");
}

/** Where two patterns meet, letter by letter: a `*` ends, or takes one more of the other. */
function crossed(one: string, two: string, known: Map<string, Set<string>>): Set<string> {
  const key = `${one}\n${two}`;
  const before = known.get(key);
  if (before) return before;
  const [a, b] = [one[0], two[0]];
  const [restOne, restTwo] = [one.slice(1), two.slice(1)];
  const behind = (head: string, left: string, right: string) => [...crossed(left, right, known)].map((tail) => head + tail);
  const ways = (): string[] => {
    if (a === undefined && b === undefined) return [""];
    if (a === "*" && b === "*") return [...behind("*", restOne, two), ...behind("*", one, restTwo)];
    if (a === "*") return [...behind("", restOne, two), ...(b === undefined ? [] : behind(b, one, restTwo))];
    if (b === "*") return [...behind("", one, restTwo), ...(a === undefined ? [] : behind(a, restOne, two))];
    if (a === undefined || b === undefined) return [];
    if (a === b || b === "?") return behind(a, restOne, restTwo);
    return a === "?" ? behind(b, restOne, restTwo) : [];
  };
  const found = new Set(ways().map((pattern) => pattern.replace(/\*+/g, "*")));
  known.set(key, found);
  return found;
}

function expression(pattern: string, one: string): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, one);
  return new RegExp(`^${escaped.endsWith(" .*") ? `${escaped.slice(0, -3)}( .*)?` : escaped}$`, "s");
}
