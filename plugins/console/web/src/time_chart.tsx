// Values over time: a drawing of bars or of a line, with the parts where no value is known, and the same values as a table.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { moment } from "./text.js";

export interface TimePoint {
  /** Unix seconds. */
  timestamp: number;
  /** Null where it is not known. */
  value: number | null;
}

/** The units of the drawing; the page stretches it to its width. */
const WIDTH = 1000;
const HEIGHT = 300;

type Known = TimePoint & { value: number };
const isKnown = (point: TimePoint): point is Known => point.value !== null;

/** Returns the runs of neighbouring points of one kind, as first and last index. */
function runs(points: readonly TimePoint[], wanted: boolean): [number, number][] {
  const found: [number, number][] = [];
  for (const [index, point] of points.entries()) {
    if (isKnown(point) !== wanted) continue;
    const last = found.at(-1);
    if (last && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  }
  return found;
}

interface Drawn {
  title: string;
  points: readonly TimePoint[];
  textOf: (value: number) => string;
  /** Whether each value is the sum of an interval, drawn as a bar, not what was read at a moment, drawn as a point of a line. */
  isSum?: boolean;
  /** Whether the drawing begins at the lowest value, not at zero. */
  isClose?: boolean;
}

export function TimeChart({ title, points, textOf, isSum = false, isClose = false }: Drawn) {
  const known = points.filter(isKnown);
  const values = known.map(({ value }) => value);
  const ends = isClose && values.length > 0 ? values : [0, ...values];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const [start, end] = [points[0]?.timestamp ?? 0, points.at(-1)?.timestamp ?? 0];
  const slot = WIDTH / Math.max(points.length, 1);
  const x = (index: number) => (end === start ? WIDTH / 2 : ((points[index]!.timestamp - start) / (end - start)) * WIDTH);
  // A line that does not change is in the middle.
  const y = (value: number) => (high === low ? HEIGHT / 2 : HEIGHT - ((value - low) / (high - low)) * HEIGHT);
  const missing = points.length - known.length;
  const told = toldOf(known, missing, textOf);
  return (
    <figure class="chart">
      <figcaption data-part="chart-text">{told}</figcaption>
      <div class="bound" aria-hidden="true">{known.length > 0 && textOf(high)}</div>
      <svg viewBox={`-8 -8 ${WIDTH + 16} ${HEIGHT + 16}`} preserveAspectRatio="none" role="img" aria-label={`${title}. ${told}`}>
        {runs(points, false).map(([from, to]) => {
          // Beside a line a gap reaches to its neighbours, whose values are known.
          const [left, right] = isSum ? [from * slot, (to + 1) * slot] : [x(Math.max(from - 1, 0)), x(Math.min(to + 1, points.length - 1))];
          return <rect key={from} class="unknown" data-part="gap" x={left} y={0} width={Math.max(right - left, 2)} height={HEIGHT} />;
        })}
        {isSum ? points.map((point, index) => isKnown(point) && <Bar key={point.timestamp} x={(index + 0.1) * slot} width={slot * 0.8} ends={[y(point.value), y(0)]} text={`${moment(point.timestamp)}: ${textOf(point.value)}`} />) : (
          runs(points, true).map(([from, to]) => {
            // A line to itself is a dot.
            const line = from === to ? [from, from] : Array.from({ length: to - from + 1 }, (_, index) => from + index);
            return <polyline key={from} data-part="line" class={from === to ? "dot" : undefined} points={line.map((index) => `${x(index).toFixed(2)},${y(points[index]!.value!).toFixed(2)}`).join(" ")} />;
          })
        )}
      </svg>
      <div class="bound" aria-hidden="true">{known.length > 0 && textOf(low)}</div>
      <div class="choices" aria-hidden="true"><span>{moment(start)}</span><span>{moment(end)}</span></div>
      {missing > 0 && <p><small>The shaded parts are not known.</small></p>}
    </figure>
  );
}

function toldOf(known: readonly Known[], missing: number, textOf: (value: number) => string): string {
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last) return "No value is known.";
  const values = known.map(({ value }) => value);
  return (
    `From ${textOf(first.value)} at ${moment(first.timestamp)} to ${textOf(last.value)} at ${moment(last.timestamp)}; ` +
    `lowest ${textOf(Math.min(...values))}, highest ${textOf(Math.max(...values))}; ` +
    `${missing === 0 ? "every point is known" : `${missing} of ${known.length + missing} points are not known`}.`
  );
}

function Bar({ x, width, ends: [one, other], text }: { x: number; width: number; ends: [number, number]; text: string }) {
  return (
    <rect class="bar" x={x} y={Math.min(one, other)} width={width} height={Math.max(Math.abs(one - other), 1)}>
      <title>{text}</title>
    </rect>
  );
}

interface Tabled {
  summary: string;
  label: string;
  columns: readonly string[];
  /** The moment of each row in Unix seconds, and its cells. */
  rows: readonly (readonly [number, ...string[]])[];
  children?: ComponentChildren;
}

/** The values as a table that can be opened; the children stand before it. */
export function TimeTable({ summary, label, columns, rows, children }: Tabled) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {children}
      {isOpen && (
        <div class="table values" tabIndex={0} role="region" aria-label={label}>
          <table>
            <thead>
              <tr>{columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
            </thead>
            <tbody>
              {rows.map(([timestamp, ...cells]) => (
                <tr key={timestamp}>
                  <th scope="row">{moment(timestamp)}</th>
                  {cells.map((cell, index) => <td key={index} class="amount">{cell}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
