// A metric over time as a picture, with what of it is known, and the same values as a table.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { plain, rate, usd } from "./text.js";

type Series = Schemas["Series"];
type Interval = "1h" | "1d" | "1w";

const SPANS: Readonly<Record<Interval, { title: string; seconds: number }>> = {
  "1h": { title: "Hours, of two days", seconds: 2 * 86_400 },
  "1d": { title: "Days, of a month", seconds: 30 * 86_400 },
  "1w": { title: "Weeks, of half a year", seconds: 182 * 86_400 },
};
const [WIDTH, HEIGHT, TOP, BOTTOM] = [640, 220, 24, 24];
/** How often a series that is still being read is asked for again, and after how long. */
const [TRIES, PAUSE_MS] = [30, 2_000];

const SHOWN: Readonly<Record<string, string>> = { tvl: "Value locked", volume: "Volume", fees: "Fees", apr: "APR", apy: "APY", sharePrice: "Share price" };
/** What is summed over an interval is drawn as bars; what is read at a moment as a line. */
const SUMS = new Set(["volume", "fees"]);
/** A price that grows slowly is a flat line where the picture begins at zero. */
const CLOSE_UP = new Set(["sharePrice"]);

interface Given {
  /** Of what, such as "the pool". */
  of: string;
  metrics: readonly string[];
  ask: (metric: string, query: { interval: Interval; from: number }, signal: AbortSignal) => Promise<Series>;
}

export function Charts({ of, metrics, ask }: Given) {
  const [metric, setMetric] = useState(metrics[0]!);
  const [interval, choose] = useState<Interval>("1d");
  const tries = useRef(0);
  const { found, failure, isAsking, load } = useAnswer((signal) => {
    const from = Math.floor(Date.now() / 1000) - SPANS[interval].seconds;
    return ask(metric, { interval, from }, signal);
  }, [metric, interval]);
  useEffect(() => void (tries.current = 0), [metric, interval]);
  const isRead = found === null || found.reason !== "provider_timeout";
  useEffect(() => {
    if (isRead || isAsking || failure !== null || tries.current >= TRIES) return;
    const timer = setTimeout(() => {
      tries.current++;
      load();
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [found, isAsking, failure]);
  const title = SHOWN[metric] ?? plain(metric);
  return (
    <section aria-label={`Charts of ${of}`}>
      <h3>Over time</h3>
      <div class="choices">
        <label>
          Chart
          <select name="metric" value={metric} onChange={(event) => setMetric(event.currentTarget.value)}>
            {metrics.map((each) => <option key={each} value={each}>{SHOWN[each] ?? each}</option>)}
          </select>
        </label>
        <label>
          Values of
          <select name="interval" value={interval} onChange={(event) => choose(event.currentTarget.value as Interval)}>
            {Object.entries(SPANS).map(([each, { title: text }]) => <option key={each} value={each}>{text}</option>)}
          </select>
        </label>
      </div>
      {failure !== null && (
        <>
          <Failure error={failure} />
          <button type="button" class="main" onClick={load}>Ask again</button>
        </>
      )}
      <Picture title={title} series={found} isSum={SUMS.has(metric)} isClose={CLOSE_UP.has(metric)} />
      <p role="status" data-part="coverage">{found === null ? (failure === null ? "Asking for the values…" : "") : coverageOf(found, tries.current < TRIES)}</p>
      {found && <Values title={title} series={found} />}
    </section>
  );
}

/** A value of a series in words. */
export function valueOf(value: number | null, unit: string): string {
  if (value === null) return "not known";
  if (unit === "usd") return usd(value);
  if (unit === "fraction") return rate(value);
  return `${value.toLocaleString("en-US", { maximumSignificantDigits: 8 })} ${plain(unit, 16)}`;
}

/** A moment in UTC, to the minute where it is within a day. */
const momentOf = (seconds: number): string => {
  const text = new Date(seconds * 1000).toISOString();
  return seconds % 86_400 === 0 ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
};

function coverageOf({ coverage, points, reason, preview }: Series, goesOn: boolean): string {
  const known = points.filter(({ value }) => value !== null).length;
  const parts = [coverage === null || known === 0 ? "No value of this time is known." : `${known} of ${points.length} values are known, from ${momentOf(coverage.from)} to ${momentOf(coverage.to)} UTC.`];
  if (reason === "provider_timeout") parts.push(goesOn ? "They are being read; the page asks again." : "They are still being read: ask again later.");
  else if (reason !== null) parts.push(`Newer values are missing: ${plain(reason).replaceAll("_", " ")}.`);
  if (preview) parts.push("They are a preview that is not live.");
  return parts.join(" ");
}

interface Drawn {
  title: string;
  series: Series | null;
  isSum: boolean;
  isClose: boolean;
}

function Picture({ title, series, isSum, isClose }: Drawn) {
  const points = series?.points ?? [];
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const ends = isClose && values.length > 0 ? values : [0, ...values];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const slot = WIDTH / Math.max(points.length, 1);
  const yOf = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (high === low ? 1 : (high - value) / (high - low));
  // Moments of a line may be at any distance.
  const [first, last] = [points[0]?.timestamp ?? 0, points.at(-1)?.timestamp ?? 0];
  const middle = (index: number) => slot / 2 + (last === first ? 0 : ((WIDTH - slot) * (points[index]!.timestamp - first)) / (last - first));
  const told = values.length === 0 ? "no known value" : `lowest ${valueOf(Math.min(...values), series!.unit)}, highest ${valueOf(Math.max(...values), series!.unit)}, last ${valueOf(values.at(-1)!, series!.unit)}`;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}: ${series === null ? "not here yet" : told}`}>
        {points.map(({ timestamp, value }, index) =>
          value === null ? (
            <rect key={timestamp} class="unknown" x={index * slot} y={TOP} width={slot} height={HEIGHT - TOP - BOTTOM} />
          ) : isSum ? (
            <rect key={timestamp} class="bar" x={(index + 0.1) * slot} y={yOf(Math.max(value, 0))} width={slot * 0.8} height={Math.max(Math.abs(yOf(value) - yOf(0)), 1)}>
              <title>{`${momentOf(timestamp)}: ${valueOf(value, series!.unit)}`}</title>
            </rect>
          ) : (
            <g key={timestamp}>
              {(points[index - 1]?.value ?? null) !== null && <line class="trend" x1={middle(index - 1)} y1={yOf(points[index - 1]!.value!)} x2={middle(index)} y2={yOf(value)} />}
              <circle class="bar" cx={middle(index)} cy={yOf(value)} r={3}>
                <title>{`${momentOf(timestamp)}: ${valueOf(value, series!.unit)}`}</title>
              </circle>
            </g>
          ),
        )}
        <line x1={0} y1={yOf(Math.max(low, 0))} x2={WIDTH} y2={yOf(Math.max(low, 0))} />
        {series !== null && values.length > 0 && <text x={4} y={16}>{`${isClose ? `from ${valueOf(low, series.unit)} ` : ""}up to ${valueOf(high, series.unit)}`}</text>}
        {points.length > 0 && <text x={4} y={HEIGHT - 6}>{momentOf(points[0]!.timestamp)}</text>}
        {points.length > 1 && <text class="end" x={WIDTH - 4} y={HEIGHT - 6}>{momentOf(points.at(-1)!.timestamp)}</text>}
      </svg>
      <figcaption><span class="unknown-key" aria-hidden="true" /> no value is known</figcaption>
    </figure>
  );
}

function Values({ title, series }: { title: string; series: Series }) {
  return (
    <details>
      <summary>The values as a table, and how they are made</summary>
      <p>{plain(series.method, 1_000)}</p>
      {series.asOfBlock !== null && <p>{`Newest value at block ${series.asOfBlock.number}, from ${plain(series.source)}.`}</p>}
      <div class="table values" tabIndex={0} role="region" aria-label={`${title} as a table`}>
        <table>
          <thead>
            <tr><th scope="col">Time (UTC)</th><th scope="col">{title}</th></tr>
          </thead>
          <tbody>
            {series.points.map(({ timestamp, value }) => (
              <tr key={timestamp}>
                <th scope="row">{momentOf(timestamp)}</th>
                <td class="amount">{valueOf(value, series.unit)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
