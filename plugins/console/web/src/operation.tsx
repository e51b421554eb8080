// The steps of an operation: quote, what is signed, sending, and what came of it. All pages that change something have these.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { checkMessages, type Action, type ActOptions, type Atomicity, type Management, type Quote, type Revocation, type SentTransaction } from "../../../../clients/typescript/src/index.js";
import { Failure } from "./failure.js";
import type { Facts } from "./known.js";
import type { PageProps } from "./page.js";
import { batchReport, partsReport, Receipt, type Report } from "./receipt.js";
import { Signing } from "./signing.js";
import type { Token } from "./token_field.js";

/** What is reviewed before anything is built: a quote, approvals that are to end with their tokens, or what is asked of a vault. */
export type Plan = Pick<Quote, "inputs" | "outputs" | "chainId" | "acknowledgementNeeded"> & Facts;
export type Built = Action | Revocation | Management;

export interface Done<Q extends Plan> {
  report: Report;
  quote: Q;
}

/** How the transactions of an action go out. */
interface Sending {
  /** What the wallet says of batches. */
  atomicity: Atomicity;
  asBatch: boolean;
  /** Whether the person accepts that the parts of several providers go one by one. */
  takesParts: boolean;
}

const ONE_BY_ONE: Sending = { atomicity: "unsupported", asBatch: false, takesParts: false };

export interface Operation<Q extends Plan> {
  /** What the page waits for, in words; empty where it waits for nothing. */
  busy: string;
  failure: unknown;
  quote: Q | null;
  action: Built | null;
  done: Done<Q> | null;
  consents: boolean;
  setConsents: (consents: boolean) => void;
  sending: Sending;
  setSending: (sending: Sending) => void;
  /** What to know of the wallet before something is sent. */
  note: string;
  /** Drops the quote, and the answer to what is asked: the request is another one. */
  forget: () => void;
  /** Asks the wallet for its account, and for the quote of that account. */
  ask: (what: string, quoteOf: (address: string) => Promise<Q>) => void;
  review: () => void;
  send: () => void;
}

export interface OperationOptions<Q extends Plan> {
  /** Whether permits are signed in the place of approvals, where the token takes them (EIP-2612). */
  offerPermits?: boolean;
  /** Told of the last transaction as soon as it is out. */
  onSent?: (sent: SentTransaction, quote: Q) => void;
}

/** `act` is the client's for the quote, or the plan. `onDone` gets each transaction that is in a block. */
export function useOperation<Q extends Plan>({ client, wallet, onSending }: PageProps, act: (quote: Q, options: ActOptions) => Promise<Built>, onDone?: (done: Done<Q>) => void, options: OperationOptions<Q> = {}): Operation<Q> {
  const [account, setAccount] = useState("");
  const [busy, setBusy] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const [quote, setQuote] = useState<Q | null>(null);
  const [action, setAction] = useState<Built | null>(null);
  const [consents, setConsents] = useState(false);
  const [sending, setSending] = useState<Sending>(ONE_BY_ONE);
  const [done, setDone] = useState<Done<Q> | null>(null);
  // What is asked now. An answer to an earlier question is not shown.
  const asked = useRef(0);
  useEffect(() => () => void (asked.current = -1), []);

  const forget = () => {
    asked.current++;
    setQuote(null);
    setAction(null);
    setDone(null);
    setFailure(null);
    setConsents(false);
    setSending(ONE_BY_ONE);
    setBusy("");
  };

  async function carryOut(what: string, work: (isAsked: () => boolean) => Promise<void>) {
    const mine = asked.current;
    setBusy(what);
    setFailure(null);
    try {
      await work(() => mine === asked.current);
    } catch (error) {
      if (mine === asked.current) {
        setFailure(error);
        setAction(null);
      }
    } finally {
      if (mine === asked.current) setBusy("");
    }
  }

  const ask = (what: string, quoteOf: (address: string) => Promise<Q>) => {
    forget();
    if (!wallet) return;
    void carryOut(what, async (isAsked) => {
      const address = account || (await wallet.address());
      const found = await quoteOf(address);
      if (!isAsked()) return;
      setAccount(address);
      setQuote(found);
    });
  };

  const review = () =>
    void carryOut("Building the transactions and simulating them…", async (isAsked) => {
      const acknowledge = quote!.acknowledgementNeeded.map(({ code }) => code) as ("high_price_impact" | "opaque_calldata")[];
      const found = await act(quote!, { ...(acknowledge.length ? { acknowledge } : {}), ...(options.offerPermits ? { offerPermits: true } : {}) });
      if ("quote" in found) checkMessages(found);
      // Only the wallet of somebody who wants to send several transactions is asked. What has no quote goes one by one.
      const atomicity = "quote" in found && found.transactions.length > 1 ? await wallet!.atomic(found.chainId) : "unsupported";
      if (!isAsked()) return;
      // An upgrade of the account is nothing to do unasked.
      setSending({ atomicity, asBatch: atomicity === "supported", takesParts: false });
      setAction(found);
    });

  const send = async () => {
    onSending(true);
    await carryOut("Signing and sending…", async (isAsked) => {
      const built = action!;
      const last = built.steps.at(-1)!.txId;
      const tell = (sent: SentTransaction) => sent.txId === last && options.onSent?.(sent, quote!);
      const sent = await client.send(built, await wallet!.open(built, client), { asBatch: sending.asBatch, withoutBatch: sending.takesParts && !sending.asBatch, onSent: tell });
      if (sent.batch !== null) tell(sent);
      const inParts = built.parts !== null;
      const report = sent.batch !== null || wallet!.wraps ? await batchReport(sent, quote!) : inParts ? await partsReport(client, sent) : await client.transactions.report(sent);
      if (!isAsked()) return;
      const found = { report, quote: quote! };
      setDone(found);
      setQuote(null);
      setAction(null);
      onDone?.(found);
    });
    onSending(false);
  };

  return { busy, failure, quote, action, done, consents, setConsents, sending, setSending, note: wallet?.note ?? "", forget, ask, review, send: () => void send() };
}

interface Given<Q extends Plan> {
  operation: Operation<Q>;
  native: Token;
  /** Shows what the quote promises. */
  review: (quote: Q) => ComponentChildren;
}

/** What follows the form of a request. */
export function Steps<Q extends Plan>({ operation, native, review }: Given<Q>) {
  const { busy, failure, quote, action, done, consents } = operation;
  const needsConsent = quote !== null && quote.acknowledgementNeeded.length > 0;
  return (
    <>
      <p role="status" aria-live="polite">{busy}</p>
      {failure !== null && <Failure error={failure} />}
      {quote && review(quote)}
      {quote && !action && (
        <div>
          {needsConsent && (
            <label class="consent">
              <input type="checkbox" checked={consents} onChange={(event) => operation.setConsents(event.currentTarget.checked)} /> I have read what to know before I sign, and go on
            </label>
          )}
          <button type="button" class="main" disabled={busy !== "" || (needsConsent && !consents)} onClick={operation.review}>Show what I sign</button>
        </div>
      )}
      {quote && action && (
        <>
          <Signing action={action} quote={quote} native={native} />
          <Send operation={operation} action={action} />
        </>
      )}
      {done && <Receipt {...done} />}
    </>
  );
}

function Send<Q extends Plan>({ operation, action }: { operation: Operation<Q>; action: Built }) {
  const { busy, sending, setSending, note } = operation;
  const { atomicity, asBatch, takesParts } = sending;
  const isBroken = action.parts !== null && !asBatch;
  const signs = action.permitOffers.length + action.signatures.length > 0;
  const title = asBatch ? "Send all as one" : signs ? "Sign and send" : action.transactions.length > 1 && "quote" in action ? "Approve and send" : "Send";
  return (
    <>
      {note !== "" && <p class="notice">{note}</p>}
      {atomicity !== "unsupported" && (
        <label class="consent">
          <input type="checkbox" disabled={busy !== ""} checked={asBatch} onChange={(event) => setSending({ ...sending, asBatch: event.currentTarget.checked })} />
          {` All transactions as one, all or nothing${atomicity === "ready" ? ": your wallet will first ask you to upgrade the account" : ""}`}
        </label>
      )}
      {isBroken && (
        <label class="consent">
          <input type="checkbox" disabled={busy !== ""} checked={takesParts} onChange={(event) => setSending({ ...sending, takesParts: event.currentTarget.checked })} />
          {" Send the parts one by one. If a later one fails, the earlier ones stand, and I have the tokens between them"}
        </label>
      )}
      <button type="button" class="main" data-part="send" disabled={busy !== "" || action.simulation.status === "reverted" || (isBroken && !takesParts)} onClick={operation.send}>{title}</button>
    </>
  );
}

/** Whether the browser has a connection, as far as it knows. */
export function useOnline(): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);
  return isOnline;
}
