// One HTTP request: time limit, retries, and an answer or an error.
import type { components } from "./api.js";
import { decode } from "./amounts.js";
import { apiError, ApiError, DeadlineExceeded, TransportError } from "./errors.js";

const MAX_ANSWER_BYTES = 64 * 2 ** 20;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;
/** What a server before the gateway answers while the gateway is away. */
const PASSING = new Set([429, 502, 503, 504]);

export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Limit for the whole call with all retries, in milliseconds. Left out: that of the client. */
  timeoutMs?: number | undefined;
}

export interface TransportSettings {
  baseUrl: string;
  apiKey: string | null;
  fetch: typeof fetch;
  timeoutMs: number;
  retries: number;
}

export interface Request {
  method: string;
  /** Path and query. */
  path: string;
  body: string | null;
  /** Schema of the answer, for its amounts. Null where it has none. */
  answers: string | null;
  /** Whether sending it twice does what sending it once does. */
  repeatable: boolean;
}

/** Returns the decoded answer. Throws ApiError, TransportError, DeadlineExceeded, or the reason of the signal. */
export async function request(settings: TransportSettings, asked: Request, options: CallOptions = {}): Promise<unknown> {
  const timeoutMs = options.timeoutMs ?? settings.timeoutMs;
  const endsAt = performance.now() + timeoutMs;
  let last: unknown;
  for (let attempt = 0; ; attempt++) {
    options.signal?.throwIfAborted();
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) throw late(timeoutMs, last);
    const timer = AbortSignal.timeout(Math.ceil(leftMs));
    const signal = options.signal ? AbortSignal.any([options.signal, timer]) : timer;
    try {
      return await once(settings, asked, signal);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (timer.aborted) throw late(timeoutMs, last ?? error);
      last = error;
      const pauseMs = attempt < settings.retries ? pauseBefore(error, attempt, asked.repeatable) : null;
      // An error now is worth more than a wait that cannot end well.
      if (pauseMs === null || performance.now() + pauseMs >= endsAt) throw error;
      await pause(pauseMs, options.signal);
    }
  }
}

const late = (timeoutMs: number, cause: unknown): DeadlineExceeded =>
  new DeadlineExceeded(`No usable answer came within ${timeoutMs} ms. Give the call a longer timeoutMs, or try later.`, { cause });

/** Milliseconds to wait before the next attempt. Null where there must be none. */
function pauseBefore(error: unknown, attempt: number, repeatable: boolean): number | null {
  if (!(error instanceof ApiError || error instanceof TransportError) || !error.retryable) return null;
  // A request that was refused for its rate was not carried out.
  if (!repeatable && error.status !== 429) return null;
  const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
  // Jitter: clients that failed together must not come back together.
  const jitterMs = longestMs * (0.5 + Math.random() / 2);
  return error.retryAfterMs === null ? jitterMs : error.retryAfterMs + jitterMs / 4;
}

/** Resolves after that time. Rejects with the reason of the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

async function once(settings: TransportSettings, asked: Request, signal: AbortSignal): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (asked.body !== null) headers["Content-Type"] = "application/json";
  if (settings.apiKey !== null) headers["Authorization"] = `Bearer ${settings.apiKey}`;
  let response: Response;
  let text: string;
  try {
    // A redirect would take the key and the request elsewhere.
    response = await settings.fetch(settings.baseUrl + asked.path, {
      method: asked.method,
      headers,
      body: asked.body,
      signal,
      redirect: "manual",
      credentials: "omit",
      cache: "no-store",
    });
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      throw new TransportError("The server redirects to another address, which is not followed. Set baseUrl to the gateway's own address.", response.status || null, false);
    }
    text = await limitedText(response);
  } catch (error) {
    if (error instanceof TransportError || signal.aborted) throw error;
    throw new TransportError(`No answer came from ${settings.baseUrl}: the connection failed or was cut off.`, null, true, { cause: error });
  }
  return read(response, text, asked.answers);
}

/** Returns the error of an answer that is not what was asked for. */
export async function refusal(response: Response): Promise<Error> {
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    return new TransportError("The server redirects to another address, which is not followed. Set baseUrl to the gateway's own address.", response.status || null, false);
  }
  const text = await limitedText(response);
  try {
    read(response, text, null);
  } catch (error) {
    return error as Error;
  }
  return new TransportError(`The answer (HTTP ${response.status}) is no stream. Is baseUrl a Quoteway gateway?`, response.status, false);
}

async function limitedText(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > MAX_ANSWER_BYTES) {
      await reader.cancel();
      throw new TransportError(`The answer has more than ${MAX_ANSWER_BYTES} bytes. Ask for less at once.`, response.status, false);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function read(response: Response, text: string, schema: string | null): unknown {
  const { status, ok } = response;
  if (ok && text === "") return null;
  const retryAfterMs = retryAfter(response.headers.get("Retry-After"));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const retryable = ok || PASSING.has(status);
    throw new TransportError(`The answer (HTTP ${status}) is not JSON. Is baseUrl a Quoteway gateway, and what is before it up?`, status, retryable, { cause }, retryAfterMs);
  }
  if (!ok) {
    const error = envelopeOf(value);
    if (error === null) {
      throw new TransportError(`The answer (HTTP ${status}) is not an error of a Quoteway gateway.`, status, PASSING.has(status), {}, retryAfterMs);
    }
    const { code, message, details = {} } = error;
    throw apiError({ status, code, message, details, requestId: error.requestId ?? response.headers.get("X-Request-ID"), retryAfterMs });
  }
  if (value === null || typeof value !== "object") throw new TransportError("The answer is no JSON object. Is baseUrl a Quoteway gateway?", status, false);
  try {
    return decode(value, schema);
  } catch (cause) {
    throw new TransportError(`The answer cannot be read: ${(cause as Error).message}`, status, false, { cause });
  }
}

function envelopeOf(value: unknown): components["schemas"]["ErrorMembers"] | null {
  const error = (value as { error?: unknown } | null)?.error as Record<string, unknown> | null | undefined;
  if (typeof error?.["code"] !== "string" || typeof error["message"] !== "string") return null;
  try {
    return (decode(value, "Error") as components["schemas"]["Error"]).error;
  } catch {
    return null;
  }
}

/** Milliseconds of a `Retry-After` header, in seconds or as a date. */
function retryAfter(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}
