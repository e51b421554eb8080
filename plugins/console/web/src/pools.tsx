// The page of pools: a table with filters, page by page, and the page of one pool.
import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { isListRead, useAnswer, useAskingAgain } from "./answers.js";
import { Failure } from "./failure.js";
import { FilterForm } from "./filter_form.js";
import { Missing } from "./missing.js";
import type { PageProps } from "./page.js";
import { PoolPage } from "./pool_page.js";
import { percent, plain, rate, short, usd } from "./text.js";
import { TokenName, warningOfName } from "./token_field.js";

type Pool = Schemas["PoolEntry"];

const ROWS = 25;
const SORTS = { "-tvlUsd": "Value locked", "-volume24hUsd": "Volume of a day", "-fees24hUsd": "Fees of a day", "-apr": "APR" } as const;

const FIELDS = [
  { name: "token", label: "Token", title: "a symbol or an address" },
  { name: "protocol", label: "Protocol", maxLength: 64, title: "a name such as uniswap-v3" },
  { name: "minTvlUsd", label: "Value locked, at least in dollars", pattern: "[0-9]{1,15}(\\.[0-9]+)?", title: "a decimal number such as 1000" },
] as const;

const EVERYTHING = { protocol: "", token: "", minTvlUsd: "", sort: "-tvlUsd" as keyof typeof SORTS };

/** The pool that the address names. */
const poolOf = (hash: string): string | null => /^#pools\/(.+)$/.exec(hash)?.[1] ?? null;

export function Pools(props: PageProps) {
  const { isSending } = props;
  const [chosen, setChosen] = useState(() => poolOf(location.hash));
  useEffect(() => {
    const look = (event: HashChangeEvent) => {
      if (isSending) return;
      const id = poolOf(location.hash);
      // Who comes back from another page finds the pool that was left, with what came of an operation.
      const wasHere = poolOf(new URL(event.oldURL).hash) !== null;
      if (id !== null || (wasHere && location.hash === "#pools")) setChosen(id);
    };
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, [isSending]);
  return (
    <>
      <div hidden={chosen !== null}>
        <PoolList {...props} />
      </div>
      {chosen !== null && <PoolPage key={chosen} page={props} id={chosen} onLeave={() => setChosen(null)} />}
    </>
  );
}

function PoolList({ client, network, isSending }: PageProps) {
  const [filter, setFilter] = useState(EVERYTHING);
  // The cursors of the pages that were turned to. Empty on the first page.
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const { protocol, token, minTvlUsd, sort } = filter;
  const asked = useAnswer(
    (signal) => {
      const query = { network: network.id, limit: ROWS, sort, ...(protocol && { protocol }), ...(token && { token }), ...(minTvlUsd && { minTvlUsd: Number(minTvlUsd) }), ...(cursor !== undefined && { cursor }) };
      return client.call("listPools", { query }, { signal });
    },
    [filter, cursor],
    true,
  );
  const { found, failure, isAsking, load } = asked;
  const isRead = found === null || isListRead(found.data, found.partial);
  useAskingAgain(asked, isRead, [filter, cursor]);
  const pages = found?.total == null ? null : Math.max(1, Math.ceil(found.total / ROWS));
  const isFiltered = protocol !== "" || token !== "" || minTvlUsd !== "";
  return (
    <>
      <h2>Pools</h2>
      <FilterForm of="Pools" button="Show these pools" fields={FIELDS} sorts={SORTS} onChoose={(next) => { setFilter(next); setCursors([]); }} />
      {failure !== null && <Failure error={failure} />}
      <p role="status">{isAsking ? "Asking the gateway for its pools…" : failure !== null ? (found ? "The rows below are those of the answer before." : "") : isRead ? countOf(found!.total, isFiltered) : "No pool could be read yet."}</p>
      {found && <Missing partial={found.partial} nameOf={() => plain(network.name)} />}
      {found && found.data.length > 0 && <PoolTable rows={found.data} isSending={isSending} isAsking={isAsking} />}
      {found && (
        <div class="pages">
          <button type="button" disabled={cursors.length === 0 || isAsking} onClick={() => setCursors(cursors.slice(0, -1))}>Page before</button>
          <span>{`Page ${cursors.length + 1}${pages === null ? "" : ` of ${pages}`}`}</span>
          <button type="button" disabled={found.nextCursor === null || isAsking} onClick={() => setCursors([...cursors, found.nextCursor!])}>Next page</button>
        </div>
      )}
      <button type="button" class="main" disabled={isAsking} onClick={load}>Ask again</button>
    </>
  );
}

const countOf = (total: number | null, isFiltered: boolean): string => {
  if (total === 0) return isFiltered ? "No pool of this network is like that." : "There is no pool on this network.";
  return total === null ? "" : total === 1 ? "1 pool" : `${total} pools`;
};

function PoolTable({ rows, isSending, isAsking }: { rows: readonly Pool[]; isSending: boolean; isAsking: boolean }) {
  return (
    <div class="table pools" tabIndex={0} role="region" aria-label="Pools of the network" aria-busy={isAsking}>
      <table>
        <thead>
          <tr>{["Pool", "Tokens", "Value locked", "Volume of a day", "Fees of a day", "APR"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <a href={`#pools/${row.id}`} data-pool={row.id} onClick={(event) => isSending && event.preventDefault()}>{plain(row.pair) || short(row.address)}</a>
                <small>{`${plain(row.protocol)}, fee ${percent(row.feeBps)}, ${short(row.address)}`}</small>
                {row.preview && <small>a preview that is not live</small>}
              </th>
              <td>{row.tokens.map((token) => <div key={token.address}><TokenName token={{ symbol: plain(token.symbol, 16), address: token.address, warning: warningOfName(token.symbol ?? "", token.name ?? "") }} /></div>)}</td>
              <td class="amount">{usd(row.tvlUsd)}</td>
              <td class="amount">{usd(row.volume24hUsd)}</td>
              <td class="amount">{usd(row.fees24hUsd)}</td>
              <td class="amount">{rate(row.apr)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
