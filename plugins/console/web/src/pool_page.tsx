// The page of one pool: what it is, its metrics over time, adding liquidity, and the positions of the wallet.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { AddLiquidity } from "./add_liquidity.js";
import { useAnswer } from "./answers.js";
import { Charts } from "./series_charts.js";
import { Failure } from "./failure.js";
import type { PageProps } from "./page.js";
import { PoolPositions } from "./pool_positions.js";
import { percent, plain, rate, short, usd } from "./text.js";
import { TokenName, warningOfName } from "./token_field.js";

type Pool = Schemas["PoolEntry"];

const SERIES = { tvl: "getPoolTvl", volume: "getPoolVolume", fees: "getPoolFees", apr: "getPoolApr" } as const;

interface Given {
  page: PageProps;
  id: string;
  onLeave: () => void;
}

export function PoolPage({ page, id, onLeave }: Given) {
  const { client, network, isSending } = page;
  const { found, failure, isAsking, load } = useAnswer((signal) => client.pools.get(id, { signal }), []);
  // The last transaction of this page: positions are read at its block or later.
  const [last, setLast] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  // Who opened the pool with the keyboard or a screen reader goes on here.
  useEffect(() => heading.current?.focus(), []);
  const isElsewhere = found !== null && found.chainId !== network.chainId;
  return (
    <>
      <p><a href="#pools" onClick={(event) => (isSending ? event.preventDefault() : onLeave())}>All pools</a></p>
      <h2 tabIndex={-1} ref={heading}>{found ? plain(found.pair) || short(found.address) : "Pool"}</h2>
      {failure !== null && (
        <>
          <Failure error={failure} />
          <button type="button" class="main" onClick={load}>Ask again</button>
        </>
      )}
      {found === null && isAsking && <p role="status">Asking the gateway for the pool…</p>}
      {isElsewhere && <p class="notice">{`This pool is on ${plain(found.network)}: choose that network above.`}</p>}
      {found && <Facts pool={found} />}
      {found && <Charts of="the pool" metrics={Object.keys(SERIES)} ask={(metric, query, signal) => client.call(SERIES[metric as keyof typeof SERIES], { path: { poolId: id }, query }, { signal })} />}
      {found && !isElsewhere && found.actions.includes("add") && <AddLiquidity page={page} pool={found} onDone={setLast} />}
      {found && !isElsewhere && found.actions.length === 0 && <p role="status">This gateway adds no liquidity to the pool and removes none.</p>}
      {found && !isElsewhere && <PoolPositions page={page} pool={found} last={last} onDone={setLast} />}
    </>
  );
}

function Facts({ pool }: { pool: Pool }) {
  return (
    <dl>
      <dt>Id</dt>
      <dd><code>{pool.address}</code></dd>
      <dt>Protocol</dt>
      <dd>{`${plain(pool.protocol)} on ${plain(pool.network)}`}</dd>
      <dt>Tokens</dt>
      <dd>
        {pool.tokens.map((token) => (
          <div key={token.address}>
            <TokenName token={{ symbol: plain(token.symbol, 16), address: token.address, warning: warningOfName(token.symbol ?? "", token.name ?? "") }} /> <small>{token.isNative ? "the coin of the network" : <code>{token.address}</code>}</small>
          </div>
        ))}
      </dd>
      <dt>Fee of a swap</dt>
      <dd>{percent(pool.feeBps)}</dd>
      {pool.hooks !== null && (
        <>
          <dt>Hooks</dt>
          <dd class="warning">A contract of others takes part in each operation: <code>{pool.hooks}</code></dd>
        </>
      )}
      <dt>Value locked</dt>
      <dd data-part="tvl">{usd(pool.tvlUsd)}</dd>
      <dt>In a day</dt>
      <dd>{`volume ${usd(pool.volume24hUsd)}, fees ${usd(pool.fees24hUsd)}`}</dd>
      <dt>APR</dt>
      <dd>{rate(pool.apr)}</dd>
    </dl>
  );
}
