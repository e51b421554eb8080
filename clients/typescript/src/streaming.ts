// Live answers: the events of GET /v2/stream, read with fetch, which sends a key where EventSource cannot.
import { decode } from "./amounts.js";
import type { components } from "./api.js";
import { ApiError, TransportError } from "./errors.js";
import type { Transfer } from "./following.js";
import { pause, refusal, type TransportSettings } from "./transport.js";

type Schemas = components["schemas"];

/** What a stream follows: at least one topic. Of transactions and transfers, what `send` returned. */
export interface Topics {
  /** Networks whose newest blocks are told. */
  heads?: readonly string[] | undefined;
  /** `quoteId` of swap quotes, which are compared with the best quote at each new block. */
  quotes?: readonly string[] | undefined;
  transactions?: readonly Transfer[] | undefined;
  transfers?: readonly Transfer[] | undefined;
  /** Networks whose index progress is told. */
  index?: readonly string[] | undefined;
}

/** One event. `id` is the one after which a later stream goes on. */
export type StreamEvent = { id: string | null } & (
  | { name: "head"; data: Schemas["Head"] }
  | { name: "quote"; data: Schemas["QuoteChange"] }
  | { name: "transaction"; data: Schemas["HashReport"] }
  | { name: "transfer"; data: Schemas["Tracked"] }
  | { name: "index"; data: Schemas["IndexStatus"] }
  /** A state is not known at the moment. The next event of the topic ends it. */
  | { name: "failure"; data: Schemas["TopicFailure"] }
  /** Events were missed. The present states follow. */
  | { name: "lost"; data: Schemas["StreamLost"] }
);

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** The id of the last event that the caller has. Left out: the stream begins with the present states. */
  lastId?: string | undefined;
  /** Milliseconds without anything from the gateway, over all attempts, after which its error is thrown. Default: 60,000. */
  timeoutMs?: number | undefined;
}

const SCHEMAS: Record<StreamEvent["name"], string> = {
  head: "Head",
  quote: "QuoteChange",
  transaction: "HashReport",
  transfer: "Tracked",
  index: "IndexStatus",
  failure: "TopicFailure",
  lost: "StreamLost",
};
/** The gateway sends a comment every 15 seconds by default: a connection that is silent for longer is dead. */
const SILENCE_MS = 60_000;
const DEFAULT_RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 60_000;
const MAX_EVENT_CHARS = 4 * 2 ** 20;

/** Yields events, connects again where a connection ended, and ends after the last event of the last topic. */
export async function* stream(settings: TransportSettings, topics: Topics, options: StreamOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, timeoutMs = 60_000 } = options;
  const path = `/v2/stream?${query(topics)}`;
  let lastId = options.lastId;
  let retryMs = DEFAULT_RETRY_MS;
  let aliveAt = performance.now();
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    let failure: unknown;
    const silence = new AbortController();
    const ends = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await open(settings, path, lastId, ends);
      if (response === null) return;
      for await (const event of events(response)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        aliveAt = performance.now();
        attempt = 0;
        if (event.retry) retryMs = Math.min(Number(event.retry), LONGEST_RETRY_MS);
        lastId = event.id ?? lastId;
        if (event.data === undefined || event.name === undefined) continue;
        const data: unknown = JSON.parse(event.data);
        if (event.name === "end") {
          if ((data as Schemas["StreamEnd"]).reconnect === false) return;
        } else if (event.name in SCHEMAS) {
          yield { name: event.name, data: decode(data, SCHEMAS[event.name as StreamEvent["name"]]), id: event.id ?? null } as StreamEvent;
        }
      }
    } catch (error) {
      signal?.throwIfAborted();
      const final = error instanceof ApiError || error instanceof TransportError ? !error.retryable : error instanceof SyntaxError;
      if (final) throw error;
      failure = error;
    } finally {
      clearTimeout(timer);
      silence.abort(); // also where the caller has ended the stream
    }
    if (failure !== undefined && performance.now() - aliveAt >= timeoutMs) {
      if (failure instanceof ApiError || failure instanceof TransportError) throw failure;
      throw new TransportError("The stream was cut off, and does not come back.", null, true, { cause: failure });
    }
    const asked = failure instanceof ApiError || failure instanceof TransportError ? (failure.retryAfterMs ?? 0) : 0;
    const pauseMs = Math.min(retryMs * 2 ** Math.min(attempt, 6), LONGEST_RETRY_MS);
    await pause(Math.max(pauseMs, asked) * (0.75 + Math.random() / 2), signal);
  }
}

function query(topics: Topics): string {
  const named = (sent: Transfer) => `${sent.txId}:${sent.hash}`;
  const items = {
    heads: topics.heads,
    quotes: topics.quotes,
    transactions: topics.transactions?.map(named),
    transfers: topics.transfers?.map(named),
    index: topics.index,
  };
  const search = new URLSearchParams();
  for (const [name, list] of Object.entries(items)) if (list?.length) search.set(name, list.join(","));
  if (search.size === 0) throw new TypeError(`Name at least one of ${Object.keys(items).join(", ")}.`);
  return search.toString();
}

/** Returns the body of a stream. Null: the stream that `lastId` names has ended. Throws as `request` does. */
async function open(settings: TransportSettings, path: string, lastId: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (settings.apiKey !== null) headers["Authorization"] = `Bearer ${settings.apiKey}`;
  if (lastId !== undefined) headers["Last-Event-ID"] = lastId;
  const response = await settings.fetch(settings.baseUrl + path, { headers, signal, redirect: "manual", credentials: "omit", cache: "no-store" });
  if (response.status === 204) return null;
  const isStream = response.status === 200 && (response.headers.get("Content-Type") ?? "").startsWith("text/event-stream");
  if (!isStream || response.body === null) throw await refusal(response);
  return response.body;
}

interface Fields {
  name?: string;
  data?: string;
  id?: string;
  retry?: string;
}

/** The fields of each block of lines, also of comments. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Fields, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const blocks = waiting.split(/\r?\n\r?\n/);
      waiting = blocks.pop() ?? "";
      if (waiting.length > MAX_EVENT_CHARS) throw new TransportError("An event of the stream is too long.", 200, false);
      for (const block of blocks) yield fields(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function fields(block: string): Fields {
  const found: Fields = {};
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") found.name = value;
    else if (name === "data") found.data = found.data === undefined ? value : `${found.data}\n${value}`;
    else if (name === "id") found.id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) found.retry = value;
  }
  return found;
}
