// Calls that a wallet carries out as one: EIP-5792.
import type { Action } from "./client.js";
import { SendError } from "./errors.js";
import type { Receipt, SendOptions, Sent } from "./sending.js";
import { pause } from "./transport.js";

/** `supported`: the wallet carries out calls as one. `ready`: it would, after the person lets it upgrade the account. */
export type Atomicity = "supported" | "ready" | "unsupported";

export interface Call {
  to: string;
  data: string;
  value: bigint;
}

/** `code` as EIP-5792 has it: 100 is pending, 200 is carried out, everything above failed. */
export interface BatchState {
  code: number;
  receipts: Receipt[];
}

/** What a wallet that takes several calls as one offers. */
export interface Batches {
  /** Whether it does so on a chain. */
  atomic(chainId: number): Promise<Atomicity>;
  /** Gives all calls to the wallet once, all or nothing, and returns the id of the batch. */
  send(chainId: number, calls: readonly Call[]): Promise<string>;
  state(id: string): Promise<BatchState>;
}

/** How long a wallet may take to say what it can. */
const PATIENCE_MS = 5_000;
const POLL_MS = 1_000;
/** The wallet did not take the calls, by EIP-5792 and EIP-1193: nothing of them is out. */
const NOT_TAKEN = new Set([-32601, 4200, 5700, 5710, 5740, 5750, 5760]);

const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;

/** Returns the batches of a wallet that answers requests of EIP-1193. `request` must not repeat a request by itself. */
export function walletBatches(address: string, request: (method: string, params: unknown[]) => Promise<unknown>): Batches {
  return {
    async atomic(chainId) {
      const id = quantity(chainId);
      const found = (await request("wallet_getCapabilities", [address, [id]])) as Record<string, { atomic?: { status?: unknown } } | undefined> | null;
      const status = (found?.[id] ?? found?.["0x0"])?.atomic?.status;
      return status === "supported" || status === "ready" ? status : "unsupported";
    },
    async send(chainId, calls) {
      const given = calls.map(({ to, data, value }) => ({ to, data, value: quantity(value) }));
      const found = await request("wallet_sendCalls", [{ version: "2.0.0", from: address, chainId: quantity(chainId), atomicRequired: true, calls: given }]);
      const id = (found as { id?: unknown } | null)?.id;
      if (typeof id !== "string" || id === "") throw new Error("The wallet gives no id of the batch.");
      return id;
    },
    async state(id) {
      const found = (await request("wallet_getCallsStatus", [id])) as { status?: unknown; receipts?: Record<string, string>[] } | null;
      if (typeof found?.status !== "number") throw new Error("The wallet does not say what became of the batch.");
      return { code: found.status, receipts: (found.receipts ?? []).map(receiptOf) };
    },
  };
}

const receiptOf = ({ transactionHash, status, blockNumber, gasUsed }: Record<string, string>): Receipt => ({
  hash: String(transactionHash),
  status: status === "0x1" ? "success" : "reverted",
  blockNumber: BigInt(blockNumber ?? 0),
  gasUsed: BigInt(gasUsed ?? 0),
});

/** What a wallet offers for a chain. One that does not answer, or not in time, offers nothing. */
export async function atomicityOf(batches: Batches | undefined, chainId: number): Promise<Atomicity> {
  if (!batches) return "unsupported";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Atomicity>((resolve) => (timer = setTimeout(() => resolve("unsupported"), PATIENCE_MS)));
  try {
    return await Promise.race([batches.atomic(chainId), late]);
  } catch {
    return "unsupported";
  } finally {
    clearTimeout(timer);
  }
}

/** Sends the transactions of an action as one, and waits for them. Null where the wallet does not take them, so that nothing is out. */
export async function sendBatch(action: Action, calls: readonly Call[], batches: Batches, options: SendOptions): Promise<Sent | null> {
  options.signal?.throwIfAborted();
  const { txId } = action.steps.at(-1)!;
  let id: string;
  try {
    id = await batches.send(action.chainId, calls);
  } catch (cause) {
    if (isNotTaken(cause)) return null;
    throw new SendError("The batch was not sent, or the wallet lost track of it: look whether it is out before you send again.", 0, [], { cause });
  }
  options.onBatch?.(id);
  const { code, receipts } = await ended(id, batches, options);
  const sent = receipts.map(({ hash }) => ({ txId, hash }));
  const failed = (why: string) => new SendError(`The batch ${id} ${why}`, 0, sent);
  if (code >= 600) throw failed("was carried out in part alone: look at your balances before you do anything else.");
  if (code >= 500) throw failed("reverted: nothing of it stands.");
  if (code >= 300) throw failed("was not carried out.");
  const last = sent.at(-1);
  if (!last) throw failed("is said to be carried out, but the wallet names no transaction.");
  if (receipts.some(({ status }) => status !== "success")) throw failed("has a transaction that reverted.");
  return { ...last, batch: id, transactions: receipts.map((receipt, index) => ({ ...sent[index]!, receipt })) };
}

async function ended(id: string, batches: Batches, { signal }: SendOptions): Promise<BatchState> {
  try {
    for (;;) {
      const state = await batches.state(id);
      if (state.code >= 200) return state;
      await pause(POLL_MS, signal);
    }
  } catch (cause) {
    throw new SendError(`The batch is out as ${id}, but it is not known what became of it.`, 0, [], { cause });
  }
}

/** Looks for the wallet's code in what libraries wrap it in. */
function isNotTaken(error: unknown, depth = 0): boolean {
  if (error === null || typeof error !== "object" || depth > 5) return false;
  const { code, cause, error: inner, info, data, originalError } = error as Record<string, unknown>;
  if (typeof code === "number" && NOT_TAKEN.has(code)) return true;
  return [cause, inner, info, data, originalError].some((each) => isNotTaken(each, depth + 1));
}
