// The value of an account's tokens over time.
import { useState } from "preact/hooks";
import type { Answer } from "../../../../clients/typescript/src/index.js";
import { Failure, isOff } from "./failure.js";
import { useAnswer } from "./answers.js";
import { Missing } from "./missing.js";
import type { AccountProps } from "./portfolio.js";
import { plain, usd } from "./text.js";
import { TimeChart, TimeTable } from "./time_chart.js";

const INTERVALS = { "1h": ["Hours of a week", 7], "1d": ["Days of a month", 30], "1w": ["Weeks of a year", 364] } as const;
type Interval = keyof typeof INTERVALS;
const DAY_S = 86_400;

export function Value({ client, query, networks, nameOf }: AccountProps) {
  const [network, setNetwork] = useState(networks[0]!.id);
  const [interval, setInterval] = useState<Interval>("1d");
  const asked = useAnswer((signal) => {
    const to = Math.floor(Date.now() / 1000);
    return client.call("getPortfolioHistory", { query: { wallet: query.wallet, network, interval, from: to - INTERVALS[interval][1] * DAY_S, to } }, { signal });
  }, [network, interval]);
  const { found, failure, isAsking, load } = asked;
  return (
    <section aria-label="Value over time">
      <h3>Value over time</h3>
      <div class="choices">
        <label>
          Of the network
          <select value={network} onChange={(event) => setNetwork(event.currentTarget.value)}>
            {networks.map(({ id, name }) => <option key={id} value={id}>{plain(name)}</option>)}
          </select>
        </label>
        <label>
          Time
          <select value={interval} onChange={(event) => setInterval(event.currentTarget.value as Interval)}>
            {Object.entries(INTERVALS).map(([name, [title]]) => <option key={name} value={name}>{title}</option>)}
          </select>
        </label>
      </div>
      <div class="chart-place">
        {failure !== null && (isOff(failure) ? <p role="status">This gateway keeps no index of the network, so the value over time is not known.</p> : <Failure error={failure} />)}
        {found === null && isAsking && <p role="status">Reading the value over time…</p>}
        {found && <Drawing points={found.points} />}
      </div>
      {found && <Missing partial={found.partial} nameOf={nameOf} />}
      {found && (
        <details>
          <summary>How it is computed</summary>
          <p>{plain(found.method, 1500)}</p>
        </details>
      )}
      <button type="button" class="main" disabled={isAsking} onClick={load}>{isAsking ? "Reading…" : "Read again"}</button>
    </section>
  );
}

function Drawing({ points }: { points: Answer<"getPortfolioHistory">["points"] }) {
  if (points.every(({ valueUsd }) => valueUsd === null)) return <p role="status">No value is known in this time.</p>;
  const countOf = (unpriced: readonly string[]) => (unpriced.length === 0 ? "none" : unpriced.length === 1 ? "1 token" : `${unpriced.length} tokens`);
  return (
    <>
      <TimeChart title="Value over time" points={points.map(({ timestamp, valueUsd }) => ({ timestamp, value: valueUsd }))} textOf={usd} isClose />
      <TimeTable summary="As a table" label="Value over time as a table" columns={["Time", "Value", "Without a price"]} rows={points.map(({ timestamp, valueUsd, unpriced }) => [timestamp, usd(valueUsd), countOf(unpriced)])} />
    </>
  );
}
