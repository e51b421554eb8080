// An answer of the gateway with the states of asking for it, and all pages of a list.
import { useEffect, useRef, useState } from "preact/hooks";

export interface Asked<Found> {
  /** Null until it is there. While it is asked for again the last one stays. */
  found: Found | null;
  /** Why it did not come. Null where nothing failed. */
  failure: unknown;
  isAsking: boolean;
  load: () => void;
}

/** Asks when `inputs` change, and again with `load`. An answer to an earlier question is not shown; with `keeps` the last one stays until the next is there. */
export function useAnswer<Found>(ask: (signal: AbortSignal) => Promise<Found>, inputs: readonly unknown[], keeps = false): Asked<Found> {
  const [state, setState] = useState<Omit<Asked<Found>, "load">>({ found: null, failure: null, isAsking: true });
  const ending = useRef(new AbortController());
  const load = () => {
    ending.current.abort();
    const { signal } = (ending.current = new AbortController());
    setState(({ found }) => ({ found, failure: null, isAsking: true }));
    ask(signal).then(
      (found) => signal.aborted || setState({ found, failure: null, isAsking: false }),
      (failure: unknown) => signal.aborted || setState(({ found }) => ({ found, failure, isAsking: false })),
    );
  };
  useEffect(() => {
    if (!keeps) setState({ found: null, failure: null, isAsking: true });
    load();
    return () => ending.current.abort();
  }, inputs);
  return { ...state, load };
}

/** Returns all rows of a list without further facts. */
export async function every<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const found: Row[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

interface Page<Row, Missing> {
  data: Row[];
  partial: Missing[];
  nextCursor: string | null;
}

/** Returns the rows of all pages, and what each page says is missing, once. */
export async function everyPage<Row, Missing>(ask: (cursor: { cursor?: string }) => Promise<Page<Row, Missing>>): Promise<{ rows: Row[]; partial: Missing[] }> {
  const rows: Row[] = [];
  const partial = new Map<string, Missing>();
  const seen = new Set<string>();
  for (let cursor: { cursor?: string } = {}; ; ) {
    const page = await ask(cursor);
    rows.push(...page.data);
    for (const each of page.partial) partial.set(JSON.stringify(each), each);
    if (page.nextCursor === null) return { rows, partial: [...partial.values()] };
    if (seen.has(page.nextCursor)) throw new Error("The list does not end: a cursor came twice.");
    seen.add(page.nextCursor);
    cursor = { cursor: page.nextCursor };
  }
}
