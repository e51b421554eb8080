// What the gateway tells its operators, and how it is asked for. A key of operators stays in the memory of the page.
import type { Answer } from "../../../../clients/typescript/src/index.js";

/** Rows of providers are those of `GET /v2/providers`. */
export type ProviderRow = Answer<"listProviders">["data"][number];

export interface Upstream {
  provider: string;
  label: string;
  network: string;
  chainId: number;
  tier: number;
  state: string;
  reason: string | null;
  p50Ms: number | null;
  p95Ms: number | null;
  errorRate: number | null;
  head: number | null;
  lag: number | null;
  outcomes: Record<string, number>;
}

export interface IndexRow {
  network: string;
  chainId: number;
  state: string;
  percent: number;
  etaSeconds: number | null;
  headBlock: number | null;
  indexedBlock: number | null;
  lagBlocks: number | null;
  problem: string | null;
}

interface Worker {
  worker: number;
  workers: number;
}

export interface State extends Worker {
  version: string;
  at: number;
  startedAt: number;
  ready: boolean;
  notReady: string[];
  networks: Record<string, { state: string; why: string[]; chainId: number; headAt: number | null }>;
  providers: ProviderRow[];
  upstreams: Upstream[];
  index: { data: IndexRow[]; problem: string | null } | null;
}

export interface ProviderCall {
  kind: string;
  name: string;
  atMs: number;
  durationMs: number | null;
  outcome: string | null;
}

export interface RequestRow {
  requestId: string;
  at: number;
  method: string;
  route: string;
  status: number;
  durationMs: number;
  caller: string | null;
  provider: string | null;
  code: string | null;
  reason: string | null;
  calls: ProviderCall[];
  callsLeftOut: number;
}

export interface Requests extends Worker {
  kept: number;
  data: RequestRow[];
}

export interface All {
  state: State;
  requests: Requests;
  config: unknown;
}

/** The gateway wants a key of operators, or another one. */
export class KeyNeeded extends Error {}

const MOST_CHARACTERS = 200;

async function one<Found>(name: string, key: string, worker: number | null, signal: AbortSignal): Promise<Found> {
  const response = await fetch(`/operator/${name}${worker === null ? "" : `?worker=${worker}`}`, {
    headers: key ? { Authorization: `Bearer ${key}` } : {},
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]),
  });
  // What stands before the gateway answers in words of its own, which are no JSON.
  const body = (await response.json().catch(() => null)) as { error?: { message?: unknown } } | null;
  if (response.ok && body !== null) return body as Found;
  const message = typeof body?.error?.message === "string" ? body.error.message : `The gateway answered HTTP ${response.status}.`;
  if (response.status === 401) throw new KeyNeeded(message);
  throw new Error(message.slice(0, MOST_CHARACTERS));
}

/** All that operators see of one worker; null: of the one that gets the first request. */
export async function everything(key: string, worker: number | null, signal: AbortSignal): Promise<All> {
  const state = await one<State>("state", key, worker, signal);
  const [requests, { config }] = await Promise.all([one<Requests>("requests", key, state.worker, signal), one<{ config: unknown }>("config", key, null, signal)]);
  return { state, requests, config };
}
