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

/** How often an answer that is still being read is asked for again, and after how long. */
const [TRIES, PAUSE_MS] = [30, 2_000];

/** Asks again, in pauses, while `isRead` is false of the answer that came. Returns whether it goes on; a change of `inputs` begins anew. */
export function useAskingAgain({ found, failure, isAsking, load }: Asked<unknown>, isRead: boolean, inputs: readonly unknown[]): boolean {
  const tries = useRef(0);
  useEffect(() => void (tries.current = 0), inputs);
  useEffect(() => {
    if (isRead || isAsking || failure !== null || tries.current >= TRIES) return;
    const timer = setTimeout(() => {
      tries.current++;
      load();
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [found, isAsking, failure]);
  return !isRead && tries.current < TRIES;
}

/** Whether a list may be empty only because a provider did not answer in time. */
export const isListRead = (rows: readonly unknown[], partial: readonly { reason: string }[]): boolean => rows.length > 0 || !partial.some(({ reason }) => reason === "provider_timeout");

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
