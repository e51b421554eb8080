// How output and price impact change with the size of a swap, as curves and as a table.
import { useState } from "preact/hooks";
import type { Quoteway, Schemas, SwapQuote } from "../../../../clients/typescript/src/index.js";
import { useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { amountOf } from "./known.js";
import { percent, plain, units } from "./text.js";

const RUNGS = 5;
/** The amount of the quote is the third rung, each ten times the one before. */
const BELOW = 100n;

type DepthAnswer = Schemas["SwapDepth"];
type Rung = DepthAnswer["rungs"][number];

export function Depth({ client, quote }: { client: Quoteway; quote: SwapQuote }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Output and price impact for other amounts</summary>
      {isOpen && <Ladder client={client} quote={quote} />}
    </details>
  );
}

function Ladder({ client, quote }: { client: Quoteway; quote: SwapQuote }) {
  const { found, failure, isAsking, load } = useAnswer((signal) => ask(client, quote, signal), []);
  if (failure !== null) {
    return (
      <>
        <Failure error={failure} />
        <button type="button" class="main" onClick={load}>Try again</button>
      </>
    );
  }
  if (found === null) return <p role="status">{isAsking ? "Asking for prices of other amounts…" : ""}</p>;
  const priced = found.rungs.filter(({ price }) => price !== null);
  const outputs = priced.map(({ price }) => Math.log10(Math.max(1, Number(price!.toAmount))));
  const impacts = priced.map(({ price }) => price!.priceImpactBps);
  const sizes = priced.map(({ price }) => units(price!.fromAmount, found.fromToken.decimals));
  return (
    <>
      <p><small>{`Indications at block ${found.block.number}: they are not simulated and cannot be signed.`}</small></p>
      {priced.length > 1 && (
        <div class="curves">
          <Curve title="Output" note="logarithmic scale" heights={outputs} sizes={sizes} labels={priced.map(({ price }) => amountOf(price!.toAmount, found.toToken))} />
          {impacts.every((bps) => bps !== null) && <Curve title="Price impact" note="linear scale" heights={impacts as number[]} sizes={sizes} labels={impacts.map(percent)} />}
        </div>
      )}
      <div class="table" tabIndex={0} role="region" aria-label="Output and price impact by size">
        <table data-part="depth">
          <thead>
            <tr>{["You pay", "You receive", "Price impact", "By"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>{found.rungs.map((rung) => <RungRow key={String(rung.amount)} rung={rung} depth={found} />)}</tbody>
        </table>
      </div>
    </>
  );
}

function RungRow({ rung: { amount, price, reason }, depth: { fromToken, toToken, side } }: { rung: Rung; depth: DepthAnswer }) {
  const exact = amountOf(amount, side === "exactOut" ? toToken : fromToken);
  if (price === null) {
    const why = <td>{`no price: ${plain(reason).replaceAll("_", " ") || "the reason is not known"}`}</td>;
    return <tr>{side === "exactOut" ? <>{why}<td class="amount">{exact}</td></> : <><td class="amount">{exact}</td>{why}</>}<td /><td /></tr>;
  }
  return (
    <tr>
      <td class="amount">{amountOf(price.fromAmount, fromToken)}</td>
      <td class="amount">{amountOf(price.toAmount, toToken)}</td>
      <td class="amount">{percent(price.priceImpactBps)}</td>
      <td>{plain(price.provider)}</td>
    </tr>
  );
}

/** Throws where the answer is of other tokens or amounts. */
async function ask(client: Quoteway, { asked, request, fromToken, toToken, network }: SwapQuote, signal: AbortSignal): Promise<DepthAnswer> {
  const { amount } = asked.body;
  const first = amount < BELOW ? 1n : amount / BELOW;
  const query = { network, fromToken: fromToken.address, toToken: toToken.address, amount: first, rungs: RUNGS, ...(request.side === "exactOut" ? { side: request.side } : {}) };
  const found = await client.call("getSwapDepth", { query }, { signal });
  const isAsked =
    found.fromToken.address === fromToken.address && found.toToken.address === toToken.address && found.side === request.side &&
    found.rungs.length === RUNGS && found.rungs.every((rung, index) => rung.amount === first * 10n ** BigInt(index));
  if (!isAsked) throw new Error("The gateway answers with prices of something else.");
  return found;
}

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [320, 170, 12, 34, 28];

interface CurveProps {
  title: string;
  note: string;
  /** Heights of the points from left to right; each is ten times the size of the one before. */
  heights: readonly number[];
  sizes: readonly string[];
  labels: readonly string[];
}

function Curve({ title, note, heights, sizes, labels }: CurveProps) {
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  const x = (index: number) => LEFT + (index * (WIDTH - 2 * LEFT)) / (heights.length - 1);
  const y = (value: number) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const last = heights.length - 1;
  const told = labels.map((label, index) => `${label} for ${sizes[index]}`).join("; ");
  return (
    <figure class="curve">
      <figcaption>{title} <small>{note}</small></figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}: ${told}`}>
        <line x1={LEFT} y1={HEIGHT - BOTTOM} x2={WIDTH - LEFT} y2={HEIGHT - BOTTOM} />
        <polyline points={heights.map((value, index) => `${x(index)},${y(value)}`).join(" ")} />
        {heights.map((value, index) => <circle key={index} cx={x(index)} cy={y(value)} r={4} />)}
        <text x={LEFT + 12} y={y(heights[0]!) - 3}>{labels[0]}</text>
        <text x={WIDTH - LEFT} y={y(heights[last]!) - 10} text-anchor="end">{labels[last]}</text>
        <text x={LEFT} y={HEIGHT - 8}>{sizes[0]}</text>
        <text x={WIDTH - LEFT} y={HEIGHT - 8} text-anchor="end">{sizes[last]}</text>
      </svg>
    </figure>
  );
}
