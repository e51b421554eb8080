// Metrics of a pool or vault over time, with what of them is known.
import { useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { useAnswer, useAskingAgain } from "./answers.js";
import { Failure } from "./failure.js";
import { moment, plain, rate, usd } from "./text.js";
import { TimeChart, TimeTable } from "./time_chart.js";

type Series = Schemas["Series"];
type Interval = "1h" | "1d" | "1w";

const SPANS: Readonly<Record<Interval, { title: string; seconds: number }>> = {
  "1h": { title: "Hours, of two days", seconds: 2 * 86_400 },
  "1d": { title: "Days, of a month", seconds: 30 * 86_400 },
  "1w": { title: "Weeks, of half a year", seconds: 182 * 86_400 },
};

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
  const asked = useAnswer((signal) => {
    const from = Math.floor(Date.now() / 1000) - SPANS[interval].seconds;
    return ask(metric, { interval, from }, signal);
  }, [metric, interval]);
  const { found, failure, load } = asked;
  const goesOn = useAskingAgain(asked, found === null || found.reason !== "provider_timeout", [metric, interval]);
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
      <div class="chart-place">{found && <TimeChart title={title} points={found.points} textOf={(value) => valueOf(value, found.unit)} isSum={SUMS.has(metric)} isClose={CLOSE_UP.has(metric)} />}</div>
      <p role="status" data-part="coverage">{found === null ? (failure === null ? "Asking for the values…" : "") : coverageOf(found, goesOn)}</p>
      {found && (
        <TimeTable summary="The values as a table, and how they are made" label={`${title} as a table`} columns={["Time", title]} rows={found.points.map(({ timestamp, value }) => [timestamp, valueOf(value, found.unit)])}>
          <p>{plain(found.method, 1_000)}</p>
          {found.asOfBlock !== null && <p>{`Newest value at block ${found.asOfBlock.number}, from ${plain(found.source)}.`}</p>}
        </TimeTable>
      )}
    </section>
  );
}

/** A value of a series in words. */
function valueOf(value: number | null, unit: string): string {
  if (value === null) return "not known";
  if (unit === "usd") return usd(value);
  if (unit === "fraction") return rate(value);
  return `${value.toLocaleString("en-US", { maximumSignificantDigits: 8 })} ${plain(unit, 16)}`;
}

function coverageOf({ coverage, points, reason, preview }: Series, goesOn: boolean): string {
  const known = points.filter(({ value }) => value !== null).length;
  const parts = [coverage === null || known === 0 ? "No value of this time is known." : `${known} of ${points.length} values are known, from ${moment(coverage.from)} to ${moment(coverage.to)}.`];
  if (reason === "provider_timeout") parts.push(goesOn ? "They are being read; the page asks again." : "They are still being read: ask again later.");
  else if (reason !== null) parts.push(`Newer values are missing: ${plain(reason).replaceAll("_", " ")}.`);
  if (preview) parts.push("They are a preview that is not live.");
  return parts.join(" ");
}
