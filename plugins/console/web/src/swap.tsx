// The page of a swap, within a network or to another one: amount and tokens, then the steps of the operation.
import { useId, useState } from "preact/hooks";
import { toUnits, type Action, type ActOptions, type BridgeQuote, type Quoteway, type SwapQuote } from "../../../../clients/typescript/src/index.js";
import { CopyAs } from "./copy_as.js";
import { Depth } from "./depth.js";
import { checkDecimals } from "./known.js";
import { Steps, useOperation } from "./operation.js";
import type { NetworkRow, PageProps } from "./page.js";
import { Review } from "./review.js";
import { askedTerms, TermsFields, USUAL, type Terms } from "./settings.js";
import { plain } from "./text.js";
import { nativeOf, TokenField, type Token } from "./token_field.js";
import { transferOf, type Transfer } from "./transfers.js";

type Side = "exactIn" | "exactOut";
type AnyQuote = SwapQuote | BridgeQuote;

interface Given extends PageProps {
  networks: readonly NetworkRow[];
  /** Told of a transfer to another network as soon as its transaction is out. */
  onTransfer: (transfer: Transfer) => void;
}

export function Swap({ networks, onTransfer, ...page }: Given) {
  const { client, network, wallet, isSending } = page;
  const id = useId();
  const native = nativeOf(network);
  const [arrival, setArrival] = useState(network);
  const [from, setFrom] = useState<Token>(native);
  const [to, setTo] = useState<Token | null>(null);
  const [amount, setAmount] = useState("");
  const [chosenSide, setSide] = useState<Side>("exactIn");
  const [terms, setTerms] = useState<Terms>(USUAL);
  const crosses = arrival.chainId !== network.chainId;
  // A transfer to another network has no exact output.
  const side = crosses ? "exactIn" : chosenSide;
  const act = (quote: AnyQuote, options: ActOptions): Promise<Action<AnyQuote>> => (quote.asked.noun === "bridges" ? client.bridges.act(quote as BridgeQuote, options) : client.swaps.act(quote as SwapQuote, options));
  const operation = useOperation<AnyQuote>(page, act, undefined, {
    offerPermits: terms.approvals === "signatures",
    onSent: (sent, quote) => crosses && onTransfer(transferOf(sent, quote)),
  });
  const { forget } = operation;

  const ask = (event: Event) => {
    event.preventDefault();
    if (!to) return;
    operation.ask(crosses ? "Asking every bridge…" : "Asking every provider…", async (address) => {
      const given = toUnits(amount.trim(), (side === "exactIn" ? from : to).decimals);
      const { slippageBps, ...others } = askedTerms(terms, crosses);
      // By chain id: what a name stands for is the gateway's word.
      const body = { fromChain: network.caip2, toChain: arrival.caip2, fromToken: from.address, toToken: to.address, amount: given, address, ...others };
      const isTransfer = crosses && typeof slippageBps === "number" && (await isRoute(client, network, arrival, from, to));
      const found = isTransfer ? await client.bridges.quote({ ...body, slippageBps }) : await client.swaps.quote({ ...body, slippageBps, ...(side === "exactOut" ? { side } : {}) });
      checkDecimals(from, { inputs: found.inputs, outputs: [] });
      checkDecimals(to, { inputs: [], outputs: found.outputs });
      return found;
    });
  };

  return (
    <>
      <h2>Swap</h2>
      <form onSubmit={ask}>
        <fieldset disabled={isSending}>
          <label>
            Amount
            <input name="amount" inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?" title="a decimal number such as 1.5" value={amount} onInput={(event) => { setAmount(event.currentTarget.value); forget(); }} />
          </label>
          <div class="field">
            <label for={`${id}-side`}>Which is exact</label>
            <select id={`${id}-side`} value={side} disabled={crosses} onChange={(event) => { setSide(event.currentTarget.value as Side); forget(); }}>
              <option value="exactIn">I want to pay this much</option>
              <option value="exactOut">I want to receive this much</option>
            </select>
          </div>
          <TokenField label="Pay" client={client} network={network} value={from} onChoose={(token) => { setFrom(token); forget(); }} />
          {networks.length > 1 && (
            <div class="field">
              <label for={`${id}-arrival`}>Arrives on</label>
              <select id={`${id}-arrival`} value={arrival.id} onChange={(event) => { setArrival(networks.find((each) => each.id === event.currentTarget.value)!); setTo(null); forget(); }}>
                {networks.map((each) => <option key={each.id} value={each.id}>{plain(each.name)}</option>)}
              </select>
            </div>
          )}
          <TokenField key={arrival.id} label="Receive" client={client} network={arrival} value={to} onChoose={(token) => { setTo(token); forget(); }} />
          <TermsFields terms={terms} crosses={crosses} onChange={(next) => { setTerms(next); forget(); }} />
          <button type="submit" disabled={!to || !wallet || operation.busy !== ""}>Get a quote</button>
          {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
        </fieldset>
      </form>
      <Steps
        operation={operation}
        native={native}
        review={(quote) => (
          <>
            <Review quote={quote} native={native} wrapped={network.wrappedNative} />
            {!crosses && <Depth key={quote.quoteId} client={client} quote={quote as SwapQuote} />}
          </>
        )}
      />
      <CopyAs of={["/v2/swaps"]} />
    </>
  );
}

/** Whether a bridge takes the one token for the other. Its quotes have terms that those of swaps do not. */
async function isRoute(client: Quoteway, from: NetworkRow, to: NetworkRow, sold: Token, bought: Token): Promise<boolean> {
  for await (const row of client.bridges.routes({ fromChain: from.caip2, toChain: to.caip2, limit: 200 })) {
    if (row.enabled && isSame(row.fromToken, from, sold) && isSame(row.toToken, to, bought)) return true;
  }
  return false;
}

const isSame = (ref: { chainId: number; address: string }, network: NetworkRow, token: Token): boolean => ref.chainId === network.chainId && ref.address.toLowerCase() === token.address.toLowerCase();
