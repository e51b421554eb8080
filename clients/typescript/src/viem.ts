// A wallet of viem 2.
import type { Account, Chain, Hash, Hex, PublicClient, Transport, TypedDataDefinition, WalletClient } from "viem";
import { aborting } from "./aborting.js";
import { walletBatches } from "./batches.js";
import type { Wallet } from "./sending.js";

/** Returns the wallet of `send`: `walletClient` signs and broadcasts, `publicClient` waits for receipts. */
export function viemWallet(walletClient: WalletClient<Transport, Chain | undefined, Account>, publicClient: PublicClient): Wallet {
  const { account } = walletClient;
  return {
    address: account.address,
    chainId: () => walletClient.getChainId(),
    signTypedData: ({ types, domain, primaryType, message }) => walletClient.signTypedData({ account, types, domain, primaryType, message } as unknown as TypedDataDefinition & { account: Account }),
    sendTransaction: ({ to, data, value, gas }) => walletClient.sendTransaction({ account, chain: walletClient.chain ?? null, to: to as Hex, data: data as Hex, value, gas }),
    receipt: (hash, signal) =>
      aborting(signal, async () => {
        let replaced: string | undefined;
        const onReplaced = ({ reason }: { reason: string }) => (replaced = reason);
        const { transactionHash, status, blockNumber, gasUsed } = await publicClient.waitForTransactionReceipt({ hash: hash as Hash, onReplaced });
        if (replaced !== undefined && replaced !== "repriced") throw new Error(`Another transaction took its place (${replaced}).`);
        return { hash: transactionHash, status, blockNumber, gasUsed };
      }),
    // viem repeats requests that fail in some ways, and a batch must go out once.
    batches: walletBatches(account.address, (method, params) => walletClient.request({ method, params } as never, { retryCount: 0 })),
  };
}
