// A transfer to another network, from its deposit to its arrival or refund.
import type { components } from "./api.js";
import { ApiError, DeadlineExceeded, TransportError } from "./errors.js";
import { pause } from "./transport.js";

export type Tracked = components["schemas"]["Tracked"];

/** A transaction that is out: what `send` returns. */
export interface Transfer {
  txId: string;
  hash: string;
}

export interface FollowOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds between two looks. Default: 3,000. */
  pollMs?: number | undefined;
  /** Milliseconds after which DeadlineExceeded is thrown. Left out: none; the bridge refunds at `fillDeadline`. */
  timeoutMs?: number | undefined;
}

const LAST = new Set<Tracked["status"]>(["filled", "refunded", "action_required"]);

/**
 * Yields each state that differs from the one before. Ends after `filled`, `refunded` or `action_required` (`reason` says what the sender must do).
 * `unknown` never means failed, and passing errors of the gateway are waited out.
 */
export async function* follow(track: (signal: AbortSignal | undefined) => Promise<Tracked>, options: FollowOptions): AsyncGenerator<Tracked, void, undefined> {
  const { signal, pollMs = 3_000, timeoutMs = Infinity } = options;
  const endsAt = performance.now() + timeoutMs;
  let seen = "";
  let failure: unknown;
  for (;;) {
    const state = await track(signal).catch((error: unknown) => {
      if (!passing(error)) throw error;
      failure = error;
      return null;
    });
    if (state !== null) {
      failure = undefined;
      const facts = JSON.stringify(state, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
      if (facts !== seen) yield state;
      seen = facts;
      if (LAST.has(state.status)) return;
    }
    if (performance.now() + pollMs >= endsAt) throw new DeadlineExceeded(`The transfer has not arrived within ${timeoutMs} ms. Follow it again: it may still arrive.`, { cause: failure });
    await pause(pollMs, signal);
  }
}

const passing = (error: unknown): boolean =>
  error instanceof DeadlineExceeded || ((error instanceof ApiError || error instanceof TransportError) && error.retryable);
