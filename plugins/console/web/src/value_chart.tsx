// A value over time as a line, with gaps where it is not known, and as a table.
import { useState } from "preact/hooks";
import { moment, usd } from "./text.js";

export interface ValuePoint {
  /** Unix seconds. */
  timestamp: number;
  /** Null where it is not known. */
  valueUsd: number | null;
  /** Addresses of tokens that do not count because they have no price. */
  unpriced: readonly string[];
}

/** The units of the drawing; the page stretches it to its width. */
const WIDTH = 1000;
const HEIGHT = 300;

type Known = ValuePoint & { valueUsd: number };
const isKnown = (point: ValuePoint): point is Known => point.valueUsd !== null;

/** Returns the runs of neighbouring points of one kind, as first and last index. */
function runs(points: readonly ValuePoint[], wanted: boolean): [number, number][] {
  const found: [number, number][] = [];
  for (const [index, point] of points.entries()) {
    if (isKnown(point) !== wanted) continue;
    const last = found.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  }
  return found;
}

export function ValueChart({ points }: { points: readonly ValuePoint[] }) {
  const known = points.filter(isKnown);
  if (known.length === 0) return <p role="status">No value is known in this time.</p>;
  const values = known.map(({ valueUsd }) => valueUsd);
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const [start, end] = [points[0]!.timestamp, points.at(-1)!.timestamp];
  const x = ({ timestamp }: ValuePoint) => (end === start ? WIDTH / 2 : ((timestamp - start) / (end - start)) * WIDTH);
  // A line that does not change is in the middle.
  const y = ({ valueUsd }: Known) => (highest === lowest ? HEIGHT / 2 : HEIGHT - ((valueUsd - lowest) / (highest - lowest)) * HEIGHT);
  const gaps = runs(points, false);
  const missing = points.length - known.length;
  const [first, last] = [known[0]!, known.at(-1)!];
  const text =
    `From ${usd(first.valueUsd)} at ${moment(first.timestamp)} to ${usd(last.valueUsd)} at ${moment(last.timestamp)}; ` +
    `lowest ${usd(lowest)}, highest ${usd(highest)}; ${missing === 0 ? "every point is known" : `${missing} of ${points.length} points are not known`}.`;
  return (
    <figure class="chart">
      <figcaption data-part="chart-text">{text}</figcaption>
      <div class="bound" aria-hidden="true">{usd(highest)}</div>
      <svg viewBox={`-8 -8 ${WIDTH + 16} ${HEIGHT + 16}`} preserveAspectRatio="none" role="img" aria-label={`Value over time. ${text}`}>
        {gaps.map(([from, to]) => {
          // A gap reaches to its neighbours, whose values are known.
          const [left, right] = [x(points[Math.max(from - 1, 0)]!), x(points[Math.min(to + 1, points.length - 1)]!)];
          return <rect key={from} data-part="gap" x={left} y={0} width={Math.max(right - left, 2)} height={HEIGHT} />;
        })}
        {runs(points, true).map(([from, to]) => {
          const run = points.slice(from, to + 1).filter(isKnown);
          // A line to itself is a dot.
          const ends = run.length === 1 ? [run[0]!, run[0]!] : run;
          return <polyline key={from} data-part="line" class={run.length === 1 ? "dot" : undefined} points={ends.map((point) => `${x(point).toFixed(2)},${y(point).toFixed(2)}`).join(" ")} />;
        })}
      </svg>
      <div class="bound" aria-hidden="true">{usd(lowest)}</div>
      <div class="choices" aria-hidden="true"><span>{moment(start)}</span><span>{moment(end)}</span></div>
      {missing > 0 && <p><small>The shaded parts are not known.</small></p>}
      <ValueTable points={points} />
    </figure>
  );
}

function ValueTable({ points }: { points: readonly ValuePoint[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <div class="table" tabIndex={0} role="region" aria-label="Value over time as a table">
          <table>
            <thead>
              <tr>{["Time", "Value", "Without a price"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
            </thead>
            <tbody>
              {points.map(({ timestamp, valueUsd, unpriced }) => (
                <tr key={timestamp}>
                  <th scope="row">{moment(timestamp)}</th>
                  <td class="amount">{usd(valueUsd)}</td>
                  <td>{unpriced.length === 0 ? "none" : unpriced.length === 1 ? "1 token" : `${unpriced.length} tokens`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
