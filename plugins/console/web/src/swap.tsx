// The page of a swap: amount and tokens, quote, action, sending, and what came of it.
import { useEffect, useRef, useState } from "preact/hooks";
import { toUnits, type Action, type Answer, type Quoteway, type SwapQuote } from "../../../../clients/typescript/src/index.js";
import { Failure } from "./failure.js";
import type { NetworkRow } from "./main.js";
import { Review, Signing } from "./review.js";
import { units } from "./text.js";
import { nativeOf, TokenField, type Token } from "./token_field.js";
import type { Choice } from "./wallets.js";

interface Done {
  report: Answer<"submitTransactionHash">;
  quote: SwapQuote;
}

/** Throws where the list of tokens says other decimals than the quote: the amount as typed would mean another one. */
function checkDecimals({ symbol, decimals }: Token, quoted: number) {
  if (decimals !== quoted) throw new Error(`The list of tokens says that ${symbol} has ${decimals} decimals, the quote says ${quoted}. Do not trade it before you know which is right.`);
}

interface Props {
  client: Quoteway;
  network: NetworkRow;
  wallet: Choice | null;
  /** Whether transactions are being sent: until what came of them is known, nothing else can be asked. */
  isSending: boolean;
  onSending: (isSending: boolean) => void;
}

export function Swap({ client, network, wallet, isSending, onSending }: Props) {
  const [from, setFrom] = useState<Token>(nativeOf(network));
  const [to, setTo] = useState<Token | null>(null);
  const [amount, setAmount] = useState("");
  const [account, setAccount] = useState("");
  const [busy, setBusy] = useState("");
  const [failure, setFailure] = useState<unknown>(null);
  const [quote, setQuote] = useState<SwapQuote | null>(null);
  const [action, setAction] = useState<Action<SwapQuote> | null>(null);
  const [consents, setConsents] = useState(false);
  const [done, setDone] = useState<Done | null>(null);
  const [isOnline, setOnline] = useState(navigator.onLine);
  // What is asked now. An answer to an earlier question is not shown.
  const asked = useRef(0);
  useEffect(() => {
    const look = () => setOnline(navigator.onLine);
    addEventListener("online", look);
    addEventListener("offline", look);
    return () => {
      asked.current = -1;
      removeEventListener("online", look);
      removeEventListener("offline", look);
    };
  }, []);

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

  const ask = (event: Event) => {
    event.preventDefault();
    forget();
    if (!to || !wallet) return;
    void carryOut("Asking every provider…", async (isAsked) => {
      const address = account || (await wallet.address());
      const body = { network: network.id, fromToken: from.address, toToken: to.address, amount: toUnits(amount.trim(), from.decimals), address };
      const found = await client.swaps.quote(body);
      if (!isAsked()) return;
      checkDecimals(from, found.fromToken.decimals);
      checkDecimals(to, found.toToken.decimals);
      setAccount(address);
      setQuote(found);
    });
  };

  const review = () =>
    carryOut("Building and simulating the transactions…", async (isAsked) => {
      const acknowledge = quote!.acknowledgementNeeded.map(({ code }) => code) as ("high_price_impact" | "opaque_calldata")[];
      const found = await client.swaps.act(quote!, acknowledge.length ? { acknowledge } : {});
      if (isAsked()) setAction(found);
    });

  const send = async () => {
    onSending(true);
    await carryOut("Signing and sending…", async (isAsked) => {
      const sent = await client.send(action!, await wallet!.open(action!, client));
      const report = await client.transactions.report(sent);
      if (!isAsked()) return;
      setDone({ report, quote: quote! });
      setQuote(null);
      setAction(null);
    });
    onSending(false);
  };

  const needsConsent = quote !== null && quote.acknowledgementNeeded.length > 0;
  return (
    <>
      <h2>Swap</h2>
      {!isOnline && <p class="notice" role="status">The browser is offline.</p>}
      <form onSubmit={ask}>
        <fieldset disabled={isSending}>
          <label>
            Amount
            <input name="amount" inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?" title="a decimal number such as 1.5" value={amount} onInput={(event) => { setAmount(event.currentTarget.value); forget(); }} />
          </label>
          <TokenField label="Pay" client={client} network={network} value={from} onChoose={(token) => { setFrom(token); forget(); }} />
          <TokenField label="Receive" client={client} network={network} value={to} onChoose={(token) => { setTo(token); forget(); }} />
          <button type="submit" disabled={!to || !wallet || busy !== ""}>Get a quote</button>
          {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
        </fieldset>
      </form>
      <p role="status" aria-live="polite">{busy}</p>
      {failure !== null && <Failure error={failure} />}
      {quote && <Review quote={quote} native={nativeOf(network)} />}
      {quote && !action && (
        <>
          {needsConsent && (
            <label class="consent">
              <input type="checkbox" checked={consents} onChange={(event) => setConsents(event.currentTarget.checked)} /> I have read what to know before I sign, and go on
            </label>
          )}
          <button type="button" disabled={busy !== "" || (needsConsent && !consents)} onClick={review}>Show what I sign</button>
        </>
      )}
      {quote && action && (
        <>
          <Signing action={action} quote={quote} native={nativeOf(network)} />
          <button type="button" id="send" disabled={busy !== "" || action.simulation.status === "reverted"} onClick={send}>{action.transactions.length > 1 ? "Approve and send" : "Send"}</button>
        </>
      )}
      {done && <Receipt {...done} account={account} />}
    </>
  );
}

function Receipt({ report, quote, account }: Done & { account: string }) {
  const { realized } = report;
  const got = realized?.assetChanges.find((each) => each.token.toLowerCase() === quote.toToken.address.toLowerCase() && each.account.toLowerCase() === account.toLowerCase());
  const { decimals, symbol } = quote.outputs[0]!.token;
  return (
    <section aria-labelledby="receipt" data-hash={report.hash}>
      <h2 id="receipt">{report.status === "confirmed" ? "Done" : `State: ${report.status}`}</h2>
      {report.match === "mismatch" && <p class="failure" role="alert">The transaction on the chain is not the one that was built.</p>}
      <dl>
        <dt>Transaction</dt>
        <dd><code>{report.hash}</code></dd>
        <dt>Received</dt>
        <dd id="received">{got ? `${units(BigInt(got.delta), decimals)} ${symbol ?? ""}` : "not in the logs of the transaction: look at the balance"}</dd>
        <dt>Quoted</dt>
        <dd>{`${units(quote.toAmount, decimals)} ${symbol ?? ""}`}</dd>
        <dt>Against the quote</dt>
        <dd id="against">{realized?.vsQuoteBps == null ? "not known" : `${realized.vsQuoteBps} basis points`}</dd>
      </dl>
    </section>
  );
}
