// Remembers what the pages asked the gateway for last, so that a person can copy it as code.
import { useEffect, useState } from "preact/hooks";
import type { Asked } from "./snippets.js";

/** Requests in their order, the newest last. In memory alone. */
const newest = new Map<string, Asked>();
const watchers = new Set<() => void>();

/** The browser's fetch for the client: it notes each request. */
export const noting: typeof fetch = (input, init) => {
  const { pathname, search } = new URL(String(input), location.origin);
  note({ method: init?.method ?? "GET", path: pathname + search, body: typeof init?.body === "string" ? init.body : null, hasKey: new Headers(init?.headers).has("Authorization") });
  return fetch(input, init);
};

function note(asked: Asked): void {
  // Of each operation the newest: quotes of one route have ids in their paths.
  const [, , noun, ...rest] = asked.path.split("?")[0]!.split("/");
  const key = `${asked.method} ${noun} ${rest.at(-1) ?? ""}`;
  newest.delete(key);
  newest.set(key, asked);
  if (newest.size > 100) newest.delete(newest.keys().next().value!);
  for (const watcher of watchers) watcher();
}

/** The newest request whose path begins with one of these. Null before there is one. */
export function useNewest(prefixes: readonly string[]): Asked | null {
  const find = () => [...newest.values()].reverse().find(({ path }) => prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`))) ?? null;
  const [found, setFound] = useState(find);
  useEffect(() => {
    const look = () => setFound(find);
    look();
    watchers.add(look);
    return () => void watchers.delete(look);
  }, []);
  return found;
}
