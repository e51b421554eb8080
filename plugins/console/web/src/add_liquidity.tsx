// Adding liquidity to a pool: the amount of one token, the range where the pool has ticks, then the steps of the operation.
import { useState } from "preact/hooks";
import { ProviderUnavailable, type PoolQuote, type Schemas } from "../../../../clients/typescript/src/index.js";
import { useAnswer } from "./answers.js";
import { CountedAmount, countedIn } from "./counted_amount.js";
import { Failure } from "./failure.js";
import { checkDecimals } from "./known.js";
import { Steps, useOperation } from "./operation.js";
import type { PageProps } from "./page.js";
import { PlaceReview } from "./place_review.js";
import { RangePicker } from "./range_picker.js";
import { SlippageField, USUAL, bpsOf } from "./settings.js";
import { percent, plain, rate } from "./text.js";
import { fullRange, priceText, rangeText, scaleOf, type Ticks } from "./ticks.js";
import { nativeOf } from "./token_field.js";

type Pool = Schemas["PoolEntry"];
/** Both tokens of a pool. */
export type Pair = readonly [Schemas["TokenRef"], Schemas["TokenRef"]];

interface Given {
  page: PageProps;
  pool: Pool;
  /** Gets the hash of each transaction that is in a block. */
  onDone: (hash: string) => void;
}

/** Whether the pool has the wrapped coin, which can be paid and taken as the coin. */
export const wrapsCoin = ({ tokens }: Pool, { wrappedNative }: PageProps["network"]): boolean =>
  wrappedNative !== null && tokens.some(({ address }) => address.toLowerCase() === wrappedNative.toLowerCase());

export function AddLiquidity({ page, pool, onDone }: Given) {
  const { client, network, wallet, isSending } = page;
  const hasTicks = pool.kind !== "v2";
  const lying = useAnswer(async (signal) => (hasTicks ? await client.call("getPoolLiquidity", { path: { poolId: pool.id } }, { signal }) : null), []);
  const [counted, setCounted] = useState({ side: 0, amount: "" });
  const [slippage, setSlippage] = useState(USUAL.percent);
  const [isNative, setNative] = useState(false);
  const [picked, setPicked] = useState<Ticks | null>(null);
  const operation = useOperation<PoolQuote>(page, client.pools.act, ({ report }) => {
    onDone(report.hash);
    lying.load();
  });
  const { forget } = operation;
  const found = lying.found;
  const ticks = found && (picked ?? fullRange(found.tickSpacing));
  const isWrong = ticks !== null && ticks.lower >= ticks.upper;
  const isWaiting = hasTicks && found === null && lying.isAsking;
  const ask = (event: Event) => {
    event.preventDefault();
    operation.ask("Asking for a quote…", async (address) => {
      const range = ticks ? { tickLower: ticks.lower, tickUpper: ticks.upper } : {};
      const quote = await client.pools.quote(pool.id, { action: "add", address, ...countedIn(pool.tokens, counted), slippageBps: bpsOf(slippage), useNative: isNative, ...range });
      for (const each of pool.tokens) checkDecimals(each, quote);
      return quote;
    });
  };
  return (
    <section aria-label="Add liquidity">
      <h3>Add liquidity</h3>
      <form onSubmit={ask}>
        <fieldset disabled={isSending}>
          {isWaiting && <p role="status">Asking for the liquidity of the pool…</p>}
          {lying.failure !== null && (
            <>
              {lying.failure instanceof ProviderUnavailable ? <p class="notice">The gateway cannot tell the ticks of this pool: the position will be of all prices.</p> : <Failure error={lying.failure} />}
              <button type="button" onClick={lying.load}>Ask for the range again</button>
            </>
          )}
          {found && ticks && <RangePicker liquidity={found} tokens={pool.tokens as unknown as Pair} value={ticks} onChange={(next) => { setPicked(next); forget(); }} />}
          <CountedAmount tokens={pool.tokens} counted={counted} onChange={(next) => { setCounted(next); forget(); }} />
          <SlippageField percent={slippage} onChange={(next) => { setSlippage(next); forget(); }} />
          {wrapsCoin(pool, network) && (
            <label class="consent">
              <input type="checkbox" checked={isNative} onChange={(event) => { setNative(event.currentTarget.checked); forget(); }} /> {`Pay ${plain(network.nativeCurrency.symbol, 16)} in place of its wrapped form`}
            </label>
          )}
          <button type="submit" disabled={!wallet || isWrong || isWaiting || operation.busy !== ""}>Get a quote</button>
          {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
        </fieldset>
      </form>
      <Steps operation={operation} native={nativeOf(network)} review={(quote) => <PlaceReview quote={quote} native={nativeOf(network)}><RangeTerms quote={quote} tokens={pool.tokens as unknown as Pair} /></PlaceReview>} />
    </section>
  );
}

/** What a quote says of the position. */
export function RangeTerms({ quote, tokens }: { quote: PoolQuote; tokens: Pair }) {
  const { range, poolState, shareOfPool, slippageBps } = quote;
  const straight = scaleOf(tokens, false);
  const tick = poolState?.tick ?? null;
  const scale = tick !== null && straight.priceOf(tick) < 1 ? scaleOf(tokens, true) : straight;
  return (
    <>
      {range && (
        <>
          <dt>Range</dt>
          <dd data-part="ticks">{`ticks ${range.tickLower} to ${range.tickUpper}, ${rangeText({ lower: range.tickLower, upper: range.tickUpper }, scale)}`}</dd>
        </>
      )}
      {tick !== null && (
        <>
          <dt>Price in the pool</dt>
          <dd>{`${priceText(scale.priceOf(tick))} ${scale.unit}`}</dd>
        </>
      )}
      <dt>Slippage</dt>
      <dd data-part="slippage">{percent(slippageBps)}</dd>
      <dt>Share of the pool</dt>
      <dd>{rate(shareOfPool ?? null)}</dd>
    </>
  );
}
