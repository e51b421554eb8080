// Wallets: those that the browser's extensions announce (EIP-6963), and anvil's public test accounts on the devnet.
import { createPublicClient, createWalletClient, custom, http, type EIP1193Provider, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { atomicityOf, walletBatches, type Action, type Atomicity, type Management, type Quoteway, type Revocation, type Wallet } from "../../../../clients/typescript/src/index.js";
import { viemWallet } from "../../../../clients/typescript/src/viem.js";

/** The chains whose coins are worth nothing: only there the test accounts sign. */
const DEVNET_CHAINS = new Set([31337, 31338]);
/** Keys of anvil's first two accounts. They are public. */
const TEST_KEYS: Hex[] = [
  "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
];

/** A wallet that a person can choose. */
export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly isTest: boolean;
  /** The one chain that it is on. Undefined for wallets of all chains. */
  readonly onlyChainId?: number;
  /** Whether its transactions on the chain are calls of its own around those that it is given. */
  readonly wraps?: boolean;
  /** What to know before something is sent with it. */
  readonly note?: string;
  /** Whether it can sign for a chain. */
  signsFor(chainId: number): boolean;
  /** Asks for the account. Rejects where the person refuses. */
  address(): Promise<string>;
  /** Whether it carries out several transactions as one (EIP-5792). */
  atomic(chainId: number): Promise<Atomicity>;
  /** The wallet for one action. */
  open(action: Action | Revocation | Management, client: Quoteway): Promise<Wallet>;
}

/** The gateway's own node of a chain. */
export const nodeOf = (chainId: number) => createPublicClient({ transport: http(`${location.origin}/v2/rpc/${chainId}`), pollingInterval: 500 });

function testWallet(key: Hex, index: number): Choice {
  const account = privateKeyToAccount(key);
  return {
    id: `test-${index}`,
    name: `Test account ${index + 1}`,
    isTest: true,
    signsFor: (chainId) => DEVNET_CHAINS.has(chainId),
    address: async () => account.address,
    atomic: async () => "unsupported",
    open: async (action, client) => {
      const { chainId } = action;
      if (!DEVNET_CHAINS.has(chainId)) throw new Error(`Test accounts sign for the devnet alone, not for chain ${chainId}.`);
      const node = nodeOf(chainId);
      // `send` gives the transactions in the order of the steps.
      let next = 0;
      return {
        address: account.address,
        chainId: async () => chainId,
        signTypedData: (data) => account.signTypedData(data as unknown as Parameters<typeof account.signTypedData>[0]),
        sendTransaction: async ({ to, data, value, gas }) => {
          const { txId } = action.steps[next++]!;
          const [nonce, fees] = await Promise.all([node.getTransactionCount({ address: account.address }), node.estimateFeesPerGas()]);
          const members = { to: to as Hex, data: data as Hex, value, nonce, chainId, ...fees, type: "eip1559" as const };
          const signedPayload = await account.signTransaction({ ...members, gas: gas ?? 3_000_000n });
          return (await client.call("submitTransaction", { path: { txId }, body: { signedPayload } })).hash;
        },
        receipt: async (hash) => {
          const { transactionHash, status, blockNumber, gasUsed } = await node.waitForTransactionReceipt({ hash: hash as Hex });
          return { hash: transactionHash, status, blockNumber, gasUsed };
        },
      };
    },
  };
}

interface Announced {
  info: { uuid: string; name: string };
  provider: EIP1193Provider;
}

function injectedWallet({ info, provider }: Announced): Choice {
  const account = async (): Promise<Hex> => {
    const [address] = (await provider.request({ method: "eth_requestAccounts" })) as Hex[];
    if (!address) throw new Error("The wallet gives no account.");
    return address;
  };
  return {
    id: info.uuid,
    name: info.name,
    isTest: false,
    signsFor: () => true,
    address: account,
    atomic: async (chainId) => atomicityOf(walletBatches(await account(), (method, params) => provider.request({ method, params } as never)), chainId),
    open: async (action) => {
      const wallet = createWalletClient({ account: await account(), transport: custom(provider) });
      if ((await wallet.getChainId()) !== action.chainId) await wallet.switchChain({ id: action.chainId });
      return viemWallet(wallet as Parameters<typeof viemWallet>[0], nodeOf(action.chainId));
    },
  };
}

/** The test accounts, where a network of the gateway is the devnet. */
export const testWallets = (chainIds: readonly number[]): Choice[] =>
  chainIds.some((id) => DEVNET_CHAINS.has(id)) ? TEST_KEYS.map(testWallet) : [];

/** Calls `found` with each wallet of the browser, and with the Safe of the page that shows this one in a frame. Returns what ends it. */
export function discover(found: (choice: Choice) => void): () => void {
  if (window.parent !== window) void import("./safe_frame.js").then(({ safeOfFrame }) => safeOfFrame()).then((safe) => safe && found(safe));
  const hear = (event: Event) => found(injectedWallet((event as CustomEvent<Announced>).detail));
  window.addEventListener("eip6963:announceProvider", hear);
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  return () => window.removeEventListener("eip6963:announceProvider", hear);
}
