// What the quote of a swap promises.
import type { SwapQuote } from "../../../../clients/typescript/src/index.js";
import { knownOf } from "./known.js";
import { Attempts, Issues, Notices } from "./notices.js";
import { RoutePicture } from "./route.js";
import { percent, plain, short, units } from "./text.js";
import type { Token } from "./token_field.js";

export function Review({ quote, native }: { quote: SwapQuote; native: Token }) {
  const known = knownOf(quote, native);
  const { symbol, decimals } = known(quote.toToken.address)!;
  const paid = known(quote.fromToken.address)!;
  const amount = (value: bigint) => `${units(value, decimals)} ${symbol}`;
  return (
    <section aria-label="Quote">
      <h2>Quote</h2>
      <dl>
        <dt>You pay</dt>
        <dd>{`${units(quote.fromAmount, paid.decimals)} ${paid.symbol}`}</dd>
        <dt>You receive</dt>
        <dd data-part="receive">{amount(quote.toAmount)}</dd>
        <dt>At least</dt>
        <dd data-part="minimum">{quote.toAmountMin === null ? "no minimum" : amount(quote.toAmountMin)}</dd>
        <dt>Price impact</dt>
        <dd>{percent(quote.priceImpactBps)}</dd>
        <dt>Goes to</dt>
        <dd><code>{quote.request.toAddress}</code></dd>
        <dt>By</dt>
        <dd>{plain(quote.provider)}</dd>
        <dt>How good it is</dt>
        <dd>{certificate(quote, amount)}</dd>
      </dl>
      <Notices title="Know before you sign" notices={[...quote.acknowledgementNeeded, ...(quote.warnings ?? [])]} />
      <Issues issues={quote.issues} known={known} />
      {quote.route && <RoutePicture route={quote.route} symbolOf={(address) => known(address)?.symbol ?? short(address)} />}
      <Attempts quote={quote} amount={amount} />
    </section>
  );
}

function certificate({ optimality }: SwapQuote, amount: (value: bigint) => string): string {
  if (optimality === null) return "The provider gives no bound.";
  return `At most ${optimality.gapBps} basis points below ${amount(optimality.bound)}, more than which no trade through ${optimality.pools} pools can pay at block ${optimality.block.number}.`;
}
