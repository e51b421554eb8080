// A wallet of ethers 6.
import type { JsonRpcApiProvider, Signer, TransactionReceipt, TransactionResponse } from "ethers";
import { aborting } from "./aborting.js";
import { walletBatches } from "./batches.js";
import type { Wallet } from "./sending.js";

/** Returns the wallet of `send`, of a signer with a provider. */
export async function ethersWallet(signer: Signer): Promise<Wallet> {
  const { provider } = signer;
  if (!provider) throw new TypeError("The signer has no provider: connect it to a node.");
  const sent = new Map<string, TransactionResponse>();
  const address = await signer.getAddress();
  return {
    address,
    chainId: async () => Number((await provider.getNetwork()).chainId),
    signTypedData: ({ domain, types, message }) => {
      // ethers adds the type of the domain itself.
      const { EIP712Domain: _, ...structs } = types;
      return signer.signTypedData(domain, structs, message);
    },
    sendTransaction: async ({ to, data, value, gas, chainId }) => {
      const response = await signer.sendTransaction({ to, data, value, chainId, gasLimit: gas ?? null });
      sent.set(response.hash, response);
      return response.hash;
    },
    receipt: (hash, signal) =>
      aborting(signal, async () => {
        const receipt = await mined(sent.get(hash));
        return { hash: receipt.hash, status: receipt.status === 1 ? "success" : "reverted", blockNumber: BigInt(receipt.blockNumber), gasUsed: receipt.gasUsed };
      }),
    batches: "send" in provider ? walletBatches(address, (method, params) => (provider as JsonRpcApiProvider).send(method, params)) : undefined,
  };
}

/** The receipt, also of a reverted transaction and of one that was sent again with another gas price. */
async function mined(response: TransactionResponse | undefined): Promise<TransactionReceipt> {
  if (!response) throw new Error("This wallet has not sent that transaction.");
  try {
    const receipt = await response.wait();
    if (receipt) return receipt;
  } catch (error) {
    const { code, reason, receipt } = error as { code?: string; reason?: string; receipt?: TransactionReceipt };
    if (receipt && (code === "CALL_EXCEPTION" || reason === "repriced")) return receipt;
    throw error;
  }
  throw new Error("The node gives no receipt.");
}
