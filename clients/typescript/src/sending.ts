// Signs and sends what an action has, in order.
import type { components } from "./api.js";
import { atomicityOf, sendBatch, type Batches } from "./batches.js";
import { checkAction } from "./checks.js";
import type { Action, Revocation } from "./client.js";
import { ActionMismatch, SendError, WalletError, type SentTransaction } from "./errors.js";
import { checkManagement, type Management } from "./management.js";
import { checkRevocation } from "./revocations.js";
import type { CallOptions } from "./transport.js";
import { checkPermit, checkSignature } from "./typed_data.js";

type Schemas = components["schemas"];
export type SignedPermit = NonNullable<Schemas["ConsentBody"]["permits"]>[number];

/** A transaction as a wallet gets it. Nonce and gas price are the wallet's. */
export interface WalletTransaction {
  to: string;
  data: string;
  value: bigint;
  chainId: number;
  /** Gas limit. Undefined where the wallet must estimate it. */
  gas: bigint | undefined;
}

/** EIP-712 message, as `eth_signTypedData_v4` takes it. */
export interface TypedData {
  domain: Record<string, unknown>;
  types: Record<string, { name: string; type: string }[]>;
  primaryType: string;
  message: Record<string, unknown>;
}

export interface Receipt {
  hash: string;
  status: "success" | "reverted";
  blockNumber: bigint;
  gasUsed: bigint;
}

/** What signs and broadcasts. `viemWallet` and `ethersWallet` make one. */
export interface Wallet {
  readonly address: string;
  /** Chain id of the node that the transactions go to. */
  chainId(): Promise<number>;
  signTypedData(data: TypedData): Promise<string>;
  /** Broadcasts once, and returns the hash. */
  sendTransaction(transaction: WalletTransaction): Promise<string>;
  /** Waits until the transaction is in a block. */
  receipt(hash: string, signal: AbortSignal | undefined): Promise<Receipt>;
  /** Left out where it cannot take several calls as one. */
  readonly batches?: Batches | undefined;
}

export interface SendOptions extends CallOptions {
  /** Called with each transaction when it is broadcast: keep it, should the program end before the receipt. */
  onSent?: ((sent: SentTransaction) => void) | undefined;
  /**
   * Has a wallet that can do so carry out all transactions as one (EIP-5792): all or nothing. Other wallets get them one by one. One that must first upgrade the
   * account (`ready`) asks the person for it.
   */
  asBatch?: boolean | undefined;
  /** Called with the id of the batch when the wallet has taken it. */
  onBatch?: ((id: string) => void) | undefined;
  /**
   * Sends an action of several providers (`parts`) one by one. When a later part fails, the earlier ones stand: the tokens between them are in
   * the wallet. Left out: such actions are refused.
   */
  withoutBatch?: boolean | undefined;
}

/** What was sent. `txId` and `hash` are those of the last transaction, for `follow`. */
export interface Sent extends SentTransaction {
  /** The wallet's id of the batch. Null where the transactions were sent one by one. */
  batch: string | null;
  transactions: (SentTransaction & { receipt: Receipt })[];
}

/**
 * Sends an action. Throws ActionMismatch, WalletError or the wallet's error of a signature before anything is out; SendError after
 * that. Nothing is broadcast twice: an error of the wallet ends it.
 */
export async function send(
  given: Action | Revocation | Management,
  wallet: Wallet,
  permitted: (action: Action, permits: SignedPermit[]) => Promise<Action>,
  options: SendOptions,
): Promise<Sent> {
  // A copy: what was checked is what is sent.
  const copy = structuredClone(given);
  if ("asked" in copy || "managing" in copy) {
    if ("asked" in copy) checkRevocation(copy.asked, copy);
    else checkManagement(copy.managing, copy);
    await checkWallet(copy, wallet, options.withoutBatch === true);
    return broadcast(copy, copy.transactions.map(({ data }) => data), wallet, options);
  }
  let action: Action = copy;
  checkAction(action.quote, action);
  const batches = await batchesFor(action, wallet, options);
  await checkWallet(action, wallet, batches !== null || options.withoutBatch === true);
  const offers = action.permitOffers;
  if (offers.length) {
    for (const offer of offers) checkPermit(action.quote, action, offer);
    const permits: SignedPermit[] = [];
    for (const offer of offers) {
      options.signal?.throwIfAborted();
      permits.push({ ...offer.permit, nonce: BigInt(offer.permit.nonce), signature: await signed(wallet, offer.typedData) });
    }
    action = await permitted(action, permits);
    checkFunds(action);
  }
  for (const each of action.signatures) checkSignature(action.quote, action, each);
  const data = action.transactions.map((each) => each.data);
  for (const { typedData, appliesTo } of action.signatures) {
    options.signal?.throwIfAborted();
    const signature = await signed(wallet, typedData);
    data[appliesTo.transaction] = spliced(data[appliesTo.transaction]!, signature, appliesTo.offset, appliesTo.length);
  }
  if (batches) {
    await checkChain(action, wallet);
    const calls = action.transactions.map(({ to, value }, index) => ({ to, value: BigInt(value), data: data[index]! }));
    const sent = await sendBatch(action, calls, batches, options);
    if (sent) return sent;
    if (action.parts !== null && !options.withoutBatch) throw new WalletError("The wallet does not take the batch. Nothing was sent.");
  }
  return broadcast(action, data, wallet, options);
}

/** Null where the transactions go one by one. */
async function batchesFor(action: Action, wallet: Wallet, options: SendOptions): Promise<Batches | null> {
  const { batches } = wallet;
  if (!options.asBatch || !batches || action.transactions.length < 2) return null;
  return (await atomicityOf(batches, action.chainId)) === "unsupported" ? null : batches;
}

async function checkWallet(action: Action | Revocation | Management, wallet: Wallet, takesParts: boolean): Promise<void> {
  if (wallet.address.toLowerCase() !== action.from.toLowerCase()) {
    throw new WalletError(`The action is for ${action.from}, the wallet is ${wallet.address}. Use the wallet that the quote was asked for with.`);
  }
  checkFunds(action);
  if (action.parts !== null && !takesParts) {
    throw new WalletError('The action has parts of several providers, which only a batch makes all or nothing. Ask for the quote with "atomicBatch": false, pass "asBatch": true with a wallet that batches, or pass "withoutBatch": true.');
  }
  await checkChain(action, wallet);
}

async function checkChain(action: Action | Revocation | Management, wallet: Wallet): Promise<void> {
  const chainId = await wallet.chainId();
  if (chainId !== action.chainId) {
    throw new WalletError(`The action is for chain ${action.chainId}, the wallet is on chain ${chainId}. Switch the wallet's network.`);
  }
}

/** What the simulation had to assume would be missing on the chain. */
function checkFunds(action: Action | Revocation | Management): void {
  const lacking = action.simulation.assumptions.filter((each) => each === "native_balance" || each.startsWith("balance:"));
  if (lacking.length) throw new WalletError(`The account has too little for the action (${lacking.join(", ")}). Fund it, then ask for the action again.`);
}

async function signed(wallet: Wallet, data: unknown): Promise<string> {
  const signature = await wallet.signTypedData(data as TypedData);
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) throw new WalletError("The wallet's signature is not 65 bytes: it is no key. Ask for the quote without permits and with approvals by transactions.");
  return signature;
}

function spliced(data: string, signature: string, offset: number, length: number): string {
  const start = 2 + 2 * offset;
  const end = start + 2 * length;
  if (length !== 65 || offset < 4 || end > data.length) throw new ActionMismatch("signatures.appliesTo", "65 bytes of the calldata", `${length} bytes at ${offset}`);
  return data.slice(0, start) + signature.slice(2) + data.slice(end);
}

async function broadcast(action: Action | Revocation | Management, data: string[], wallet: Wallet, options: SendOptions): Promise<Sent> {
  const done: Sent["transactions"] = [];
  const sent: SentTransaction[] = [];
  for (const [index, { to, value, chainId }] of action.transactions.entries()) {
    const { txId, gasLimit, description } = action.steps[index]!;
    const what = `Transaction ${index + 1} of ${action.transactions.length} (${description})`;
    const failed = (why: string, cause?: unknown) => new SendError(`${what} ${why}`, index, sent, { cause });
    if (options.signal?.aborted) {
      if (index === 0) options.signal.throwIfAborted();
      throw failed("was not sent: the caller ended it.", options.signal.reason);
    }
    let hash: string;
    try {
      // A person may switch the network while an approval waits.
      await checkChain(action, wallet);
      hash = await wallet.sendTransaction({ to, data: data[index]!, value: BigInt(value), chainId, gas: gasLimit === null ? undefined : BigInt(gasLimit) });
    } catch (cause) {
      throw failed("was not sent, or the wallet lost track of it: look whether it is out before you send again.", cause);
    }
    const out = { txId, hash };
    sent.push(out);
    options.onSent?.(out);
    let receipt: Receipt;
    try {
      receipt = await wallet.receipt(hash, options.signal);
    } catch (cause) {
      throw failed(`is out as ${hash}, but it is not known whether it is in a block.`, cause);
    }
    if (receipt.status !== "success") throw failed(`reverted: ${receipt.hash}.`);
    done.push({ ...out, receipt });
  }
  const last = done.at(-1);
  if (!last) throw new ActionMismatch("transactions", "at least one", "none");
  return { txId: last.txId, hash: last.hash, batch: null, transactions: done };
}
