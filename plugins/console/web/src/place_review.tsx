// What the quote of a pool or vault promises: all that is paid and received, each with its bound.
import type { ComponentChildren } from "preact";
import type { PoolQuote, Schemas, VaultQuote } from "../../../../clients/typescript/src/index.js";
import { amountOf, knownOf } from "./known.js";
import { Attempts, Issues, Notices } from "./notices.js";
import { plain } from "./text.js";
import type { Token } from "./token_field.js";

const lines = (legs: readonly Schemas["Leg"][], text: (leg: Schemas["Leg"]) => string) => (legs.length ? legs.map((leg, index) => <div key={index}>{text(leg)}</div>) : "nothing");

/** `children` are further terms, as `dt` and `dd`. */
export function PlaceReview({ quote, native, children }: { quote: PoolQuote | VaultQuote; native: Token; children: ComponentChildren }) {
  const known = knownOf(quote, native);
  const [first] = [...quote.outputs, ...quote.inputs];
  return (
    <section aria-label="Quote">
      <h2>Quote</h2>
      <dl>
        <dt>You pay</dt>
        <dd data-part="pay">{lines(quote.inputs, (leg) => amountOf(leg.amount, leg.token) + (leg.amountMax === null ? "" : `, at most ${amountOf(leg.amountMax, leg.token)}`))}</dd>
        <dt>You receive</dt>
        <dd data-part="receive">{lines(quote.outputs, (leg) => amountOf(leg.amount, leg.token))}</dd>
        <dt>At least</dt>
        <dd data-part="minimum">{lines(quote.outputs, (leg) => (leg.amountMin === null ? "no minimum" : amountOf(leg.amountMin, leg.token)))}</dd>
        <dt>Goes to</dt>
        <dd><code>{quote.request.recipient}</code></dd>
        <dt>By</dt>
        <dd>{plain(quote.provider)}</dd>
        {children}
      </dl>
      <Notices title="Know before you sign" notices={[...quote.acknowledgementNeeded, ...(quote.warnings ?? [])]} />
      <Issues issues={quote.issues} known={known} />
      <Attempts quote={quote} amount={(value) => (first ? amountOf(value, first.token) : String(value))} />
    </section>
  );
}
