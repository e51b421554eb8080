// The page of a swap: amount and tokens, then the steps of the operation.
import { useState } from "preact/hooks";
import { toUnits, type SwapQuote } from "../../../../clients/typescript/src/index.js";
import { CopyAs } from "./copy_as.js";
import { checkDecimals } from "./known.js";
import { Steps, useOperation } from "./operation.js";
import type { PageProps } from "./page.js";
import { Review } from "./review.js";
import { nativeOf, TokenField, type Token } from "./token_field.js";

export function Swap(props: PageProps) {
  const { client, network, wallet, isSending } = props;
  const native = nativeOf(network);
  const [from, setFrom] = useState<Token>(native);
  const [to, setTo] = useState<Token | null>(null);
  const [amount, setAmount] = useState("");
  const operation = useOperation<SwapQuote>(props, client.swaps.act);
  const { forget } = operation;

  const ask = (event: Event) => {
    event.preventDefault();
    if (!to) return;
    operation.ask("Asking every provider…", async (address) => {
      const found = await client.swaps.quote({ network: network.id, fromToken: from.address, toToken: to.address, amount: toUnits(amount.trim(), from.decimals), address });
      for (const token of [from, to]) checkDecimals(token, found);
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
          <TokenField label="Pay" client={client} network={network} value={from} onChoose={(token) => { setFrom(token); forget(); }} />
          <TokenField label="Receive" client={client} network={network} value={to} onChoose={(token) => { setTo(token); forget(); }} />
          <button type="submit" disabled={!to || !wallet || operation.busy !== ""}>Get a quote</button>
          {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
        </fieldset>
      </form>
      <Steps operation={operation} native={native} review={(quote) => <Review quote={quote} native={native} />} />
      <CopyAs of={["/v2/swaps"]} />
    </>
  );
}
