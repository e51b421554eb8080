// The transactions in which tokens came to an account or went from it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Schemas } from "../../../../clients/typescript/src/index.js";
import { Failure, isOff } from "./failure.js";
import { amountOf } from "./known.js";
import type { AccountProps } from "./portfolio.js";
import { moment, plain, short, units } from "./text.js";

type Entry = Schemas["ActivityEntry"];
type Page = Answer<"getPortfolioActivity">;

export function Activity(props: AccountProps) {
  const { networks } = props;
  const [network, setNetwork] = useState(networks[0]!.id);
  return (
    <section aria-label="Activity">
      <h3>Activity</h3>
      <label>
        Of the network
        <select value={network} onChange={(event) => setNetwork(event.currentTarget.value)}>
          {networks.map(({ id, name }) => <option key={id} value={id}>{plain(name)}</option>)}
        </select>
      </label>
      <Transactions key={network} page={props} network={network} />
    </section>
  );
}

function Transactions({ page: { client, query, networks }, network }: { page: AccountProps; network: string }) {
  const [pages, setPages] = useState<readonly Page[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const [isAsking, setAsking] = useState(false);
  const ending = useRef(new AbortController());
  const ask = async (before: readonly Page[]) => {
    ending.current.abort();
    const { signal } = (ending.current = new AbortController());
    const cursor = before.at(-1)?.nextCursor;
    setAsking(true);
    setFailure(null);
    try {
      const page = await client.call("getPortfolioActivity", { query: { wallet: query.wallet, network, limit: 25, ...(cursor ? { cursor } : {}) } }, { signal });
      if (!signal.aborted) setPages([...before, page]);
    } catch (error) {
      if (!signal.aborted) setFailure(error);
    }
    if (!signal.aborted) setAsking(false);
  };
  useEffect(() => {
    void ask([]);
    return () => ending.current.abort();
  }, []);
  const last = pages.at(-1);
  const coin = networks.find(({ id }) => id === network)!.nativeCurrency;
  const rows = pages.flatMap(({ data }) => data);
  const unread = pages.flatMap(({ partial }) => partial);
  return (
    <>
      {pages.length === 0 && isAsking && <p role="status">Reading the transactions…</p>}
      {last && rows.length === 0 && unread.length === 0 && <p role="status">The index has no transaction of this account.</p>}
      {last && !last.coverage.complete && <p class="notice">{`The index begins at block ${last.coverage.fromBlock}: older transactions are missing.`}</p>}
      {unread.length > 0 && <p class="notice" data-part="unread">{`${unread.length} transactions could not be read: ${unread.map(({ hash, reason }) => `${short(plain(hash, 80))} (${plain(reason).replaceAll("_", " ")})`).join(", ")}`}</p>}
      <ol class="activity">
        {rows.map((row) => <Row key={row.hash} row={row} coin={coin} />)}
      </ol>
      {failure !== null && (isOff(failure) ? <p role="status">This gateway keeps no index of the network, so its transactions are not known.</p> : <Failure error={failure} />)}
      {last?.nextCursor && <button type="button" class="main" disabled={isAsking} onClick={() => void ask(pages)}>{isAsking ? "Reading…" : "Show older transactions"}</button>}
      <button type="button" class="main" disabled={isAsking} onClick={() => void ask([])}>{isAsking ? "Reading…" : "Read again"}</button>
    </>
  );
}

const WAYS = { in: "received", out: "sent", self: "moved to itself" } as const;

function Row({ row, coin }: { row: Entry; coin: { symbol: string; decimals: number } }) {
  return (
    <li data-hash={row.hash}>
      <p>{plain(row.description, 300)}{row.status === "reverted" && <span class="warning">it reverted</span>}</p>
      <p><small>{`${moment(row.timestamp)}, block ${row.block}, `}<code>{short(row.hash)}</code>{row.feeWei !== null && `, fee ${units(row.feeWei, coin.decimals)} ${plain(coin.symbol, 16)}`}</small></p>
      <ul>
        {row.transfers.map(({ token, tokenAddress, amount, direction, counterparty, hearsay, listed }, index) => (
          <li key={index}>
            {`${WAYS[direction]} ${token ? amountOf(amount, token) : `${amount} base units of ${short(tokenAddress)}`} ${direction === "in" ? "from" : "to"} ${short(counterparty)}`}
            {hearsay ? <span class="warning">the token says so; it is in no list</span> : !listed && <span class="warning">in no list of this gateway</span>}
          </li>
        ))}
        {row.transfersLeftOut > 0 && <li>{`and ${row.transfersLeftOut} more`}</li>}
      </ul>
    </li>
  );
}
