// Transfers to other networks that this browser sent, followed until they have arrived or are refunded.
import { useEffect, useState } from "preact/hooks";
import type { BridgeQuote, Quoteway, Schemas, SentTransaction, SwapQuote } from "../../../../clients/typescript/src/index.js";
import { Failure } from "./failure.js";
import { amountOf } from "./known.js";
import { movedBy } from "./movements.js";
import type { NetworkRow } from "./page.js";
import { againstQuote, dateOf, plain, units } from "./text.js";

type Tracked = Schemas["Tracked"];

type StoredToken = Pick<Schemas["TokenRef"], "address" | "symbol" | "decimals">;

/** What is kept of a transfer: amounts as text, so that it can be stored. */
export interface Transfer {
  txId: string;
  hash: string;
  fromChain: number;
  toChain: number;
  /** What is sent, which is what comes back by a refund. */
  sold: StoredToken;
  token: StoredToken;
  account: string;
  amount: string;
  amountMin: string | null;
}

export function transferOf({ txId, hash }: SentTransaction, quote: SwapQuote | BridgeQuote): Transfer {
  const { token, account, amount, amountMin } = quote.outputs[0]!;
  // Of a joined quote the bridge takes another token than the person pays.
  const sold = ("parts" in quote ? quote.parts?.at(-1)?.inputs[0] : undefined) ?? quote.inputs[0]!;
  return {
    ...{ txId, hash, fromChain: quote.chainId, toChain: token.chainId, sold: storedToken(sold.token), token: storedToken(token), account },
    ...{ amount: String(amount), amountMin: amountMin === null ? null : String(amountMin) },
  };
}

const storedToken = ({ address, symbol, decimals }: StoredToken): StoredToken => ({ address, symbol, decimals });

const STORE = "quoteway.transfers";
const MOST = 20;

/** The transfers of this browser, newest first. Where the browser keeps nothing they are lost with the page. */
export function useTransfers(): { transfers: Transfer[]; add: (transfer: Transfer) => void; remove: (hash: string) => void } {
  const [transfers, setTransfers] = useState<Transfer[]>(read);
  const change = (next: (before: Transfer[]) => Transfer[]) =>
    setTransfers((before) => {
      const found = next(before);
      try {
        localStorage.setItem(STORE, JSON.stringify(found));
      } catch {
        // Full, or not allowed.
      }
      return found;
    });
  return {
    transfers,
    add: (transfer) => change((before) => [transfer, ...before.filter(({ hash }) => hash !== transfer.hash)].slice(0, MOST)),
    remove: (hash) => change((before) => before.filter((each) => each.hash !== hash)),
  };
}

function read(): Transfer[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORE) ?? "[]");
    return Array.isArray(found) ? found.filter(isTransfer).slice(0, MOST) : [];
  } catch {
    return [];
  }
}

const isAmount = (value: unknown): boolean => typeof value === "string" && /^\d{1,78}$/.test(value);
const isAddress = (value: unknown): boolean => typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);

function isToken(value: unknown): value is StoredToken {
  const { address, symbol, decimals } = (value ?? {}) as Record<string, unknown>;
  return isAddress(address) && (symbol === null || typeof symbol === "string") && Number.isInteger(decimals) && (decimals as number) >= 0 && (decimals as number) <= 255;
}

/** Another version of the page may have stored something else. */
function isTransfer(value: unknown): value is Transfer {
  const { txId, hash, fromChain, toChain, sold, token, account, amount, amountMin } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof txId === "string" && typeof hash === "string" && /^0x[0-9a-fA-F]{64}$/.test(hash) && [fromChain, toChain].every(Number.isSafeInteger) &&
    isToken(sold) && isToken(token) && isAddress(account) && isAmount(amount) && (amountMin === null || isAmount(amountMin))
  );
}

interface Given {
  client: Quoteway;
  networks: readonly NetworkRow[];
  transfers: readonly Transfer[];
  onRemove: (hash: string) => void;
}

export function Transfers({ client, networks, transfers, onRemove }: Given) {
  if (transfers.length === 0) return null;
  return (
    <section aria-label="Transfers">
      <h2>Transfers to other networks</h2>
      {transfers.map((transfer) => <Followed key={transfer.hash} client={client} networks={networks} transfer={transfer} onRemove={() => onRemove(transfer.hash)} />)}
    </section>
  );
}

const WORDS: Readonly<Record<Tracked["status"], string>> = {
  origin_pending: "Sent. Its transaction is in no block yet.",
  origin_confirmed: "Its transaction is in a block.",
  fill_pending: "On its way: the bridge has the deposit, and has not paid yet.",
  filled: "Arrived.",
  refund_pending: "Not paid in time: the deposit will be refunded. There is nothing to do.",
  refunded: "Refunded.",
  action_required: "You must act.",
  unknown: "The nodes do not know its transaction now. That does not mean that it failed.",
};

interface State {
  tracked: Tracked | null;
  /** What the chain says that the recipient got: of the transfer, or of its refund. Null where it is not known. */
  got: bigint | null | undefined;
  failure: unknown;
}

function Followed({ client, networks, transfer, onRemove }: Omit<Given, "transfers" | "onRemove"> & { transfer: Transfer; onRemove: () => void }) {
  const [{ tracked, got, failure }, setState] = useState<State>({ tracked: null, got: undefined, failure: null });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    const tell = (some: Partial<State>) => ending.signal.aborted || setState((before) => ({ ...before, ...some }));
    tell({ failure: null });
    follow(client, transfer, tell, ending.signal).catch((error: unknown) => tell({ failure: error }));
    return () => ending.abort();
  }, [transfer.hash, tries]);
  const nameOf = (chainId: number) => plain(networks.find((each) => each.chainId === chainId)?.name) || `chain ${chainId}`;
  const quoted = BigInt(transfer.amount);
  const hasArrived = tracked?.status === "filled";
  return (
    <article data-transfer={transfer.hash} data-status={tracked?.status ?? ""}>
      <p role="status">{`${amountOf(quoted, transfer.token)} from ${nameOf(transfer.fromChain)} to ${nameOf(transfer.toChain)}: ${tracked ? WORDS[tracked.status] ?? plain(tracked.status) : "asking where it is…"}`}</p>
      {tracked?.status === "action_required" && <p class="notice">{plain(tracked.reason, 300).replaceAll("_", " ")}</p>}
      <dl>
        <dt>Deposit</dt>
        <dd><code>{transfer.hash}</code></dd>
        <dt>Goes to</dt>
        <dd><code>{transfer.account}</code></dd>
        {tracked?.fillDeadline != null && !hasArrived && (
          <>
            <dt>Refunded, if not paid by</dt>
            <dd>{dateOf(tracked.fillDeadline)}</dd>
          </>
        )}
        {hasArrived && got !== undefined && <Arrival transfer={transfer} got={got} hash={tracked.fillHash} />}
        {tracked?.status === "refunded" && tracked.refund && got !== undefined && <Refund transfer={transfer} refund={tracked.refund} got={got} hash={tracked.refundHash} network={networks.find(({ chainId }) => chainId === transfer.fromChain)} />}
      </dl>
      {hasArrived && got != null && transfer.amountMin !== null && got < BigInt(transfer.amountMin) && <p class="failure" role="alert">Less has arrived than the quote promised at least: look at the transaction.</p>}
      {failure !== null && (
        <>
          <Failure error={failure} />
          <button type="button" class="main" onClick={() => setTries(tries + 1)}>Follow it again</button>
        </>
      )}
      <button type="button" onClick={onRemove}>Remove it from this list</button>
    </article>
  );
}

function Arrival({ transfer: { amount, token }, got, hash }: { transfer: Transfer; got: bigint | null; hash: string | null }) {
  const quoted = BigInt(amount);
  return (
    <>
      <dt>Payment</dt>
      <dd><code>{hash}</code></dd>
      <dt>Received</dt>
      <dd data-part="arrived">{got === null ? "not known: look at the balance" : amountOf(got, token)}</dd>
      <dt>Quoted</dt>
      <dd>{amountOf(quoted, token)}</dd>
      <dt>Against the quote</dt>
      <dd data-part="arrival-against">{got === null ? "not known" : againstQuote(got, quoted)}</dd>
    </>
  );
}

function Refund({ transfer: { sold }, refund, got, hash, network }: { transfer: Transfer; refund: Schemas["TrackedRefund"]; got: bigint | null; hash: string | null; network: NetworkRow | undefined }) {
  const isSold = refund.token.toLowerCase() === sold.address.toLowerCase();
  // The coin comes back in its wrapped form.
  const isWrapped = network !== undefined && refund.token.toLowerCase() === network.wrappedNative?.toLowerCase();
  const amount = (value: bigint) => (isSold ? amountOf(value, sold) : isWrapped ? `${units(value, network.nativeCurrency.decimals)} wrapped ${plain(network.nativeCurrency.symbol, 16)}` : `${value} base units of ${refund.token}`);
  return (
    <>
      <dt>Refund</dt>
      <dd><code>{hash}</code></dd>
      <dt>Due</dt>
      <dd data-part="due">{amount(refund.amount)}</dd>
      <dt>Came back</dt>
      <dd data-part="back">{got === null ? "not known: look at the balance" : amount(got)}</dd>
      <dt>To</dt>
      <dd><code>{refund.address}</code></dd>
    </>
  );
}

const LOOK_MS = 2_000;
const MOST_LOOKS = 40;

async function follow(client: Quoteway, transfer: Transfer, tell: (some: Partial<State>) => unknown, signal: AbortSignal): Promise<void> {
  let last: Tracked | null = null;
  for await (const tracked of client.follow(transfer, { signal, pollMs: LOOK_MS })) {
    if (tracked.destinationChainId !== null && tracked.destinationChainId !== transfer.toChain) throw new Error(`The gateway says that it goes to chain ${tracked.destinationChainId}, but chain ${transfer.toChain} was asked for.`);
    tell({ tracked });
    last = tracked;
  }
  // A node can show a payment some moments before it has its block.
  for (let looks = 0; last?.status === "filled" && last.fillHash === null && looks < MOST_LOOKS; looks++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    last = await client.transactions.track(transfer, { signal });
    tell({ tracked: last });
  }
  if (last?.status === "filled") tell({ got: last.fillHash === null ? null : await movedBy(transfer.toChain, last.fillHash, transfer.token.address, transfer.account) });
  if (last?.status === "refunded" && last.refund) {
    const { chainId, token, address } = last.refund;
    tell({ got: last.refundHash === null ? null : await movedBy(chainId, last.refundHash, token, address) });
  }
}
