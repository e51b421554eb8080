// What the quote of a swap or transfer promises. The amounts are those of its legs, which the action is compared with.
import type { BridgeQuote, Schemas, SwapQuote } from "../../../../clients/typescript/src/index.js";
import { amountOf, knownOf } from "./known.js";
import { Attempts, Issues, Notices } from "./notices.js";
import { RoutePicture } from "./route.js";
import { dateOf, percent, plain } from "./text.js";
import type { Token } from "./token_field.js";

type Leg = Schemas["Leg"];
const isLike = (leg: Leg, other: Leg): boolean => leg.token.chainId === other.token.chainId && leg.token.address === other.token.address && leg.account === other.account;

/** The legs of one token and account as one. A divided order has several. */
function total(legs: readonly Leg[]): Leg {
  const [first] = legs as [Leg];
  const sum = (of: (leg: Leg) => bigint | null) => legs.reduce<bigint | null>((before, leg) => (before === null || of(leg) === null ? null : before + of(leg)!), 0n);
  return { ...first, amount: sum((leg) => leg.amount)!, amountMin: sum((leg) => leg.amountMin), amountMax: legs.some((leg) => leg.amountMax !== null) ? sum((leg) => leg.amountMax ?? leg.amount) : null };
}

/** `wrapped` is the wrapped form of the network's coin. */
export function Review({ quote, native, wrapped }: { quote: SwapQuote | BridgeQuote; native: Token; wrapped: string | null }) {
  const known = knownOf(quote, native);
  const { request } = quote;
  const paid = total(quote.inputs);
  const got = total(quote.outputs.filter((leg) => isLike(leg, quote.outputs[0]!)));
  const left = quote.outputs.filter((leg) => !isLike(leg, got));
  const crosses = got.token.chainId !== quote.chainId;
  const isOther = request.toAddress.toLowerCase() !== request.address.toLowerCase();
  const counted = request.side === "exactOut" ? paid : got;
  return (
    <section aria-label="Quote">
      <h2>Quote</h2>
      <dl>
        <dt>You pay</dt>
        <dd data-part="pay">{amountOf(paid.amount, paid.token) + (paid.amountMax === null || paid.amountMax === paid.amount ? "" : `, at most ${amountOf(paid.amountMax, paid.token)}`)}</dd>
        <dt>You receive</dt>
        <dd data-part="receive">{amountOf(got.amount, got.token)}</dd>
        <dt>At least</dt>
        <dd data-part="minimum">{got.amountMin === null ? "no minimum" : amountOf(got.amountMin, got.token)}</dd>
        {left.length > 0 && (
          <>
            <dt>Left over</dt>
            <dd data-part="left">{left.map((leg) => `${amountOf(leg.amount, leg.token)} on ${plain(leg.token.network)}, to you`).join(", ")}</dd>
          </>
        )}
        {crosses && (
          <>
            <dt>Arrives on</dt>
            <dd data-part="arrives">{`${plain(got.token.network)} (chain ${got.token.chainId})`}</dd>
          </>
        )}
        <dt>Slippage</dt>
        <dd data-part="slippage">{percent(quote.slippageBps)}</dd>
        <dt>Price impact</dt>
        <dd>{percent(quote.priceImpactBps)}</dd>
        <dt>Goes to</dt>
        <dd data-part="recipient"><code>{request.toAddress}</code>{isOther && <span class="warning">not your account</span>}</dd>
        <dt>By</dt>
        <dd>{plain(quote.provider)}</dd>
        {"refund" in quote && <TransferTerms quote={quote} />}
        {"optimality" in quote && (
          <>
            <dt>How good it is</dt>
            <dd>{certificate(quote, (value) => amountOf(value, counted.token))}</dd>
          </>
        )}
      </dl>
      {"parts" in quote && quote.parts && <Parts parts={quote.parts} />}
      <Notices title="Know before you sign" notices={[...quote.acknowledgementNeeded, ...(quote.warnings ?? [])]} />
      <Issues issues={quote.issues} known={known} />
      {quote.route && <RoutePicture chainId={quote.chainId} route={quote.route} known={known} wrapped={wrapped} />}
      <Attempts quote={quote} amount={(value) => amountOf(value, got.token)} {...(request.side === "exactOut" ? { taken: (value: bigint) => amountOf(value, paid.token) } : {})} />
    </section>
  );
}

function TransferTerms({ quote: { estimatedSeconds, fillDeadline, refund } }: { quote: BridgeQuote }) {
  return (
    <>
      <dt>Takes</dt>
      <dd>{estimatedSeconds == null ? "not known" : `about ${estimatedSeconds} seconds`}</dd>
      <dt>If it does not arrive</dt>
      <dd data-part="refund">
        {!refund ? "The bridge names no refund." : <>{`by ${fillDeadline == null ? "a time that is not known" : dateOf(fillDeadline)}: refunded to `}<code>{refund.address}</code>{` on chain ${refund.chainId}. ${plain(refund.onExpiry, 300)}`}</>}
      </dd>
    </>
  );
}

function Parts({ parts }: { parts: readonly Schemas["QuotePart"][] }) {
  return (
    <>
      <h3>In parts, in this order</h3>
      <ol data-part="parts">
        {parts.map((part, index) => (
          <li key={index}>{`${plain(part.provider)}: ${part.inputs.map((leg) => amountOf(leg.amount, leg.token)).join(", ")} for at least ${part.outputs.map((leg) => (leg.amountMin === null ? "no minimum" : amountOf(leg.amountMin, leg.token))).join(", ")}`}</li>
        ))}
      </ol>
    </>
  );
}

function certificate({ optimality, side }: SwapQuote, amount: (value: bigint) => string): string {
  if (optimality === null) return "The provider gives no bound.";
  const { gapBps, bound, pools, block } = optimality;
  if (side === "exactOut") return `At most ${gapBps} basis points above ${amount(bound)}, less than which no trade through ${pools} pools can take at block ${block.number}.`;
  return `At most ${gapBps} basis points below ${amount(bound)}, more than which no trade through ${pools} pools can pay at block ${block.number}.`;
}
