// The Safe whose web page shows the console in a frame, by the protocol of Safe Apps.
import SafeAppsSDK, { TransactionStatus, type BaseTransaction, type SafeInfo } from "@safe-global/safe-apps-sdk";
import type { Hex } from "viem";
import type { BatchState, Receipt, Wallet } from "../../../../clients/typescript/src/index.js";
import { short } from "./text.js";
import { nodeOf, type Choice } from "./wallets.js";

/** How long the page around the frame may take to tell its Safe. Other pages never do. */
const PATIENCE_MS = 10_000;
const POLL_MS = 1_000;
/** EIP-5792's codes of what became of a transaction. */
const CODES: Readonly<Record<TransactionStatus, number>> = {
  [TransactionStatus.AWAITING_CONFIRMATIONS]: 100,
  [TransactionStatus.AWAITING_EXECUTION]: 100,
  [TransactionStatus.SUCCESS]: 200,
  [TransactionStatus.CANCELLED]: 400,
  [TransactionStatus.FAILED]: 500,
};

interface Asked {
  to: string;
  data: string;
  value: bigint;
}

/** Returns the Safe of the page around the frame. Null where that page tells none. */
export async function safeOfFrame(): Promise<Choice | null> {
  const sdk = new SafeAppsSDK();
  const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), PATIENCE_MS));
  const safe = await Promise.race([sdk.safe.getInfo().catch(() => null), late]);
  return safe && choiceOf(sdk, safe);
}

function choiceOf(sdk: SafeAppsSDK, { safeAddress, chainId, threshold, isReadOnly }: SafeInfo): Choice {
  const propose = async (calls: readonly Asked[]): Promise<string> => {
    if (isReadOnly) throw new Error("Connect an owner of the Safe first: this one can only be looked at.");
    const txs: BaseTransaction[] = calls.map(({ to, data, value }) => ({ to, data, value: String(value) }));
    return (await sdk.txs.send({ txs })).safeTxHash;
  };
  const state = async (id: string): Promise<BatchState & { hash: string | null }> => {
    const { txStatus, txHash } = await sdk.txs.getBySafeTxHash(id);
    const code = CODES[txStatus] ?? 100;
    return { code, hash: txHash ?? null, receipts: code === 200 && txHash ? [await receiptOf(chainId, txHash)] : [] };
  };
  const wallet: Wallet = {
    address: safeAddress,
    chainId: async () => chainId,
    signTypedData: () => Promise.reject(new Error("A Safe signs no messages here: ask for approvals.")),
    sendTransaction: async (transaction) => {
      const id = await propose([transaction]);
      for (;;) {
        const { code, hash } = await state(id);
        if (hash !== null && code === 200) return hash;
        if (code >= 300) throw new Error("The Safe did not carry the transaction out.");
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    receipt: (hash) => receiptOf(chainId, hash),
    batches: { atomic: async (id) => (id === chainId ? "supported" : "unsupported"), send: (_, calls) => propose(calls), state },
  };
  return {
    id: "safe",
    name: `Safe ${short(safeAddress)}`,
    isTest: false,
    onlyChainId: chainId,
    wraps: true,
    note: threshold > 1 ? `${threshold} owners of the Safe have to sign. This page waits for them while it is open; the transaction stays in the Safe's queue, and has to be executed before the deadline.` : "",
    signsFor: (id) => id === chainId,
    address: async () => safeAddress,
    atomic: async (id) => (id === chainId ? "supported" : "unsupported"),
    open: async () => wallet,
  };
}

async function receiptOf(chainId: number, hash: string): Promise<Receipt> {
  const { transactionHash, status, blockNumber, gasUsed } = await nodeOf(chainId).waitForTransactionReceipt({ hash: hash as Hex });
  return { hash: transactionHash, status, blockNumber, gasUsed };
}
