// The choice of a price range for a new position, before a picture of how the pool's liquidity lies.
import { useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { fullRange, nameOf, priceText, rangeText, scaleOf, stepsOf, usable, type Scale, type Ticks } from "./ticks.js";

type Liquidity = Schemas["PoolLiquidity"];

/** How far the picture goes to each side, in ticks: to four times the price and a quarter of it. */
const VIEW = 13_863;
const [WIDTH, HEIGHT, FLOOR] = [640, 170, 146];
const [MOST_STEPS, MOST_ROWS] = [1_200, 200];

type Mode = "full" | "1" | "5" | "10" | "25" | "50" | "own";
const MODES: Readonly<Record<Mode, string>> = {
  full: "All prices",
  "1": "1 % to each side of the price",
  "5": "5 % to each side of the price",
  "10": "10 % to each side of the price",
  "25": "25 % to each side of the price",
  "50": "50 % to each side of the price",
  own: "My own range",
};

interface Given {
  liquidity: Liquidity;
  tokens: readonly [Schemas["TokenRef"], Schemas["TokenRef"]];
  value: Ticks;
  onChange: (ticks: Ticks) => void;
}

export function RangePicker({ liquidity, tokens, value, onChange }: Given) {
  const { tick, tickSpacing: spacing } = liquidity;
  const [mode, setMode] = useState<Mode>("full");
  // Prices above one are easier to read.
  const [isInverted, setInverted] = useState(() => scaleOf(tokens, false).priceOf(tick) < 1);
  const scale = scaleOf(tokens, isInverted);
  const choose = (next: Mode) => {
    setMode(next);
    if (next === "full") onChange(fullRange(spacing));
    else if (next !== "own") onChange(around(tick, Number(next) / 100, spacing));
    else if (value.upper - value.lower > 4 * VIEW) onChange(around(tick, 0.5, spacing));
  };
  const isWrong = value.lower >= value.upper;
  return (
    <fieldset class="range">
      <legend>Range of prices</legend>
      <div class="choices">
        <label>
          Range
          <select name="range" value={mode} onChange={(event) => choose(event.currentTarget.value as Mode)}>
            {Object.entries(MODES).map(([each, title]) => <option key={each} value={each}>{title}</option>)}
          </select>
        </label>
        <label>
          Prices in
          <select name="unit" value={isInverted ? "1" : "0"} onChange={(event) => setInverted(event.currentTarget.value === "1")}>
            {[false, true].map((each) => <option key={String(each)} value={each ? "1" : "0"}>{scaleOf(tokens, each).unit}</option>)}
          </select>
        </label>
      </div>
      <Picture liquidity={liquidity} value={value} scale={scale} />
      {mode === "own" && <OwnRange key={String(isInverted)} liquidity={liquidity} value={value} scale={scale} onChange={onChange} />}
      <p data-part="range">{isWrong ? "The lowest price must be below the highest." : `Ticks ${value.lower} to ${value.upper}: ${rangeText(value, scale)}. ${takenBy(value, tick, tokens)}`}</p>
      <p>{`The price now: ${priceText(scale.priceOf(tick))} ${scale.unit}, at tick ${tick}.`}</p>
      <Steps liquidity={liquidity} scale={scale} />
    </fieldset>
  );
}

/** Which tokens a position of the range takes at a tick: below its range the first alone, above it the second. */
function takenBy({ lower, upper }: Ticks, tick: number, tokens: Given["tokens"]): string {
  if (tick < lower) return `The price is outside of it: the position takes ${nameOf(tokens[0])} alone.`;
  if (tick >= upper) return `The price is outside of it: the position takes ${nameOf(tokens[1])} alone.`;
  return "The price is in it: the position takes both tokens.";
}

/** The ticks at a share below and above the price, at least one step to each side. */
export function around(tick: number, share: number, spacing: number): Ticks {
  const down = Math.log(1 - share) / Math.log(1.0001);
  const up = Math.log(1 + share) / Math.log(1.0001);
  const lower = Math.min(usable(tick + down, spacing), usable(Math.floor(tick / spacing) * spacing, spacing));
  const upper = Math.max(usable(tick + up, spacing), usable((Math.floor(tick / spacing) + 1) * spacing, spacing));
  return { lower, upper };
}

/** The ticks of the picture, all of them known. */
const viewOf = ({ tick, known }: Liquidity): Ticks => ({ lower: Math.max(tick - VIEW, known.from), upper: Math.min(tick + VIEW, known.to) });

function OwnRange({ liquidity, value, scale, onChange }: Omit<Given, "tokens"> & { scale: Scale }) {
  const spacing = liquidity.tickSpacing;
  const view = viewOf(liquidity);
  const ends = scale.isInverted ? (["upper", "lower"] as const) : (["lower", "upper"] as const);
  const [typed, setTyped] = useState(ends.map((end) => String(Number(scale.priceOf(value[end]).toPrecision(7)))));
  const slide = { lower: usable(view.lower, spacing), upper: usable(view.upper, spacing) };
  return (
    <div class="own">
      {ends.map((end, index) => {
        const name = index === 0 ? "Lowest price" : "Highest price";
        const put = (tick: number, text: string) => {
          setTyped(typed.map((each, at) => (at === index ? text : each)));
          onChange({ ...value, [end]: usable(tick, spacing) });
        };
        return (
          <div key={end}>
            <label>
              {name}
              <input name={end} inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?(e[+\-]?[0-9]+)?" title="a decimal number such as 1.5" value={typed[index]} onInput={(event) => { const text = event.currentTarget.value; const price = Number(text); if (price > 0 && Number.isFinite(price)) put(scale.tickOf(price), text); else setTyped(typed.map((each, at) => (at === index ? text : each))); }} />
            </label>
            <label>
              {`${name}, by hand or with the arrow keys`}
              <input type="range" name={`slide-${end}`} min={slide.lower} max={slide.upper} step={spacing} value={value[end]} aria-valuetext={`${priceText(scale.priceOf(value[end]))} ${scale.unit}`} onInput={(event) => { const tick = Number(event.currentTarget.value); put(tick, String(Number(scale.priceOf(tick).toPrecision(7)))); }} />
            </label>
          </div>
        );
      })}
    </div>
  );
}

function Picture({ liquidity, value, scale }: { liquidity: Liquidity; value: Ticks; scale: Scale }) {
  const view = viewOf(liquidity);
  const span = view.upper - view.lower || 1;
  const at = (tick: number) => {
    const x = (WIDTH * (Math.min(Math.max(tick, view.lower), view.upper) - view.lower)) / span;
    return scale.isInverted ? WIDTH - x : x;
  };
  const box = (from: number, to: number) => ({ x: Math.min(at(from), at(to)), width: Math.abs(at(to) - at(from)) });
  const steps = stepsOf(liquidity, view.lower, view.upper).slice(0, MOST_STEPS);
  const most = steps.reduce((found, { liquidity: each }) => (each > found ? each : found), 1n);
  const heightOf = (each: bigint) => (Number((each * 10_000n) / most) / 10_000) * (FLOOR - 10);
  const [left, right] = scale.isInverted ? [view.upper, view.lower] : [view.lower, view.upper];
  const told = `Liquidity from ${priceText(scale.priceOf(left))} to ${priceText(scale.priceOf(right))} ${scale.unit}, with the range that is chosen. The values are in the table below.`;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={told}>
        {value.lower < value.upper && <rect class="chosen" {...box(value.lower, value.upper)} y={0} height={FLOOR} />}
        {steps.map(({ from, to, liquidity: each }) => each > 0n && <rect key={from} class="bar" {...box(from, to)} y={FLOOR - heightOf(each)} height={heightOf(each)} />)}
        <line x1={0} y1={FLOOR} x2={WIDTH} y2={FLOOR} />
        <line class="now" x1={at(liquidity.tick)} y1={0} x2={at(liquidity.tick)} y2={FLOOR} />
        <text x={4} y={HEIGHT - 6}>{priceText(scale.priceOf(left))}</text>
        <text class="middle" x={at(liquidity.tick)} y={HEIGHT - 6}>{priceText(scale.priceOf(liquidity.tick))}</text>
        <text class="end" x={WIDTH - 4} y={HEIGHT - 6}>{priceText(scale.priceOf(right))}</text>
      </svg>
      <figcaption>{`Liquidity of the pool at block ${liquidity.block.number}, and the chosen range`}</figcaption>
    </figure>
  );
}

function Steps({ liquidity, scale }: { liquidity: Liquidity; scale: Scale }) {
  const view = viewOf(liquidity);
  const steps = stepsOf(liquidity, view.lower, view.upper);
  const shown = steps.slice(0, MOST_ROWS);
  const ordered = scale.isInverted ? shown.toReversed() : shown;
  return (
    <details>
      <summary>The liquidity as a table</summary>
      {steps.length > shown.length && <p>{`The first ${shown.length} of ${steps.length} steps.`}</p>}
      <div class="table values" tabIndex={0} role="region" aria-label="Liquidity as a table">
        <table>
          <thead>
            <tr>{[`From (${scale.unit})`, "To", "Liquidity"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
          </thead>
          <tbody>
            {ordered.map(({ from, to, liquidity: each }) => {
              const [low, high] = scale.isInverted ? [to, from] : [from, to];
              return (
                <tr key={from}>
                  <th scope="row">{priceText(scale.priceOf(low))}</th>
                  <td class="amount">{priceText(scale.priceOf(high))}</td>
                  <td class="amount">{String(each)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
