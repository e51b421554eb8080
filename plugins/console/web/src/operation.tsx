// The steps of an operation: quote, what is signed, sending, and what came of it. All pages that change something have these.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Action, ActOptions, Answer, Quote, Revocation } from "../../../../clients/typescript/src/index.js";
import { Failure } from "./failure.js";
import type { Facts } from "./known.js";
import type { PageProps } from "./page.js";
import { Receipt } from "./receipt.js";
import { Signing } from "./signing.js";
import type { Token } from "./token_field.js";

/** What is reviewed before anything is built: a quote, or approvals that are to end, with their tokens. */
export type Plan = Pick<Quote, "inputs" | "outputs" | "acknowledgementNeeded"> & Facts;
export type Built = Action | Revocation;

export interface Done<Q extends Plan> {
  report: Answer<"submitTransactionHash">;
  quote: Q;
}

export interface Operation<Q extends Plan> {
  /** What the page waits for, in words; empty where it waits for nothing. */
  busy: string;
  failure: unknown;
  quote: Q | null;
  action: Built | null;
  done: Done<Q> | null;
  consents: boolean;
  setConsents: (consents: boolean) => void;
  /** Drops the quote, and the answer to what is asked: the request is another one. */
  forget: () => void;
  /** Asks the wallet for its account, and for the quote of that account. */
  ask: (what: string, quoteOf: (address: string) => Promise<Q>) => void;
  review: () => void;
  send: () => void;
}

/** `act` is the client's for the quote, or the plan. `onDone` gets each transaction that is in a block. */
export function useOperation<Q extends Plan>({ client, wallet, onSending }: PageProps, act: (quote: Q, options: ActOptions) => Promise<Built>, onDone?: (done: Done<Q>) => void): Operation<Q> {
  const [account, setAccount] = useState("");
  const [busy, setBusy] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const [quote, setQuote] = useState<Q | null>(null);
  const [action, setAction] = useState<Built | null>(null);
  const [consents, setConsents] = useState(false);
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
      const found = await act(quote!, acknowledge.length ? { acknowledge } : {});
      if (isAsked()) setAction(found);
    });

  const send = async () => {
    onSending(true);
    await carryOut("Signing and sending…", async (isAsked) => {
      const sent = await client.send(action!, await wallet!.open(action!, client));
      const report = await client.transactions.report(sent);
      if (!isAsked()) return;
      const found = { report, quote: quote! };
      setDone(found);
      setQuote(null);
      setAction(null);
      onDone?.(found);
    });
    onSending(false);
  };

  return { busy, failure, quote, action, done, consents, setConsents, forget, ask, review, send: () => void send() };
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
          <button type="button" class="main" data-part="send" disabled={busy !== "" || action.simulation.status === "reverted"} onClick={operation.send}>{action.transactions.length > 1 && action.kind !== "revocation" ? "Approve and send" : "Send"}</button>
        </>
      )}
      {done && <Receipt {...done} />}
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
