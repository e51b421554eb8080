// What an account has: its balances, and its positions in pools and vaults.
import type { Answer, Schemas } from "../../../../clients/typescript/src/index.js";
import { everyPage, useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { Missing } from "./missing.js";
import type { AccountProps } from "./portfolio.js";
import { Positions } from "./positions.js";
import { plain, short, units, usd } from "./text.js";
import { TokenName, warningOfName } from "./token_field.js";

type Balances = Answer<"getPortfolioBalances">;
type Balance = Schemas["Balance"];

export function Holdings({ client, query, nameOf }: AccountProps) {
  const balances = useAnswer((signal) => client.portfolio.balances(query, { signal }), []);
  const positions = useAnswer((signal) => everyPage((cursor) => client.call("getPortfolioPositions", { query: { ...query, ...cursor, limit: 200 } }, { signal })), []);
  const isAsking = balances.isAsking || positions.isAsking;
  // What is above comes first, so that nothing that is read moves down.
  const isAbove = balances.found !== null || !balances.isAsking;
  const found = isAbove ? positions.found : null;
  return (
    <>
      <section aria-label="Balances">
        <h3>Balances</h3>
        {balances.failure !== null && <Failure error={balances.failure} />}
        {balances.found === null && balances.isAsking && <p role="status">Reading the balances…</p>}
        {balances.found && <Totals balances={balances.found} nameOf={nameOf} />}
        {balances.found && <BalanceTables rows={balances.found.data} />}
      </section>
      <section aria-label="Positions">
        <h3>Positions</h3>
        {positions.failure !== null && <Failure error={positions.failure} />}
        {found === null && positions.failure === null && <p role="status">Reading the positions…</p>}
        {found && <Missing partial={found.partial} nameOf={nameOf} />}
        {found?.rows.length === 0 && <p role="status">{found.partial.length ? "No position is found." : "The account has no position in a pool or vault."}</p>}
        {found && found.rows.length > 0 && <Positions rows={found.rows} />}
      </section>
      <button type="button" class="main" disabled={isAsking} onClick={() => { balances.load(); positions.load(); }}>{isAsking ? "Reading…" : "Read again"}</button>
    </>
  );
}

function Totals({ balances, nameOf }: { balances: Balances; nameOf: (chainId: number) => string }) {
  return (
    <>
      <dl>
        <dt>Account</dt>
        <dd><code>{plain(balances.wallet, 80)}</code></dd>
        <dt>Total</dt>
        <dd data-part="total">{usd(balances.totalUsd)}</dd>
        <dt>Read at</dt>
        <dd>{balances.asOf.map(({ chainId, block }) => `block ${block} of ${nameOf(chainId)}`).join(", ") || "no block"}</dd>
      </dl>
      {!balances.totalComplete && <p class="notice" data-part="incomplete">The total is not complete: what has no known value, or could not be read, is missing from it.</p>}
      <Missing partial={balances.partial} nameOf={nameOf} />
    </>
  );
}

function BalanceTables({ rows }: { rows: readonly Balance[] }) {
  const spam = rows.filter((row) => row.spam === true);
  const others = rows.filter((row) => row.spam !== true);
  return (
    <>
      {rows.length === 0 && <p role="status">No balance is found.</p>}
      {others.length > 0 && <BalanceTable label="Balances of tokens" rows={others} />}
      {spam.length > 0 && (
        <details>
          <summary>{spam.length === 1 ? "1 token is marked as spam" : `${spam.length} tokens are marked as spam`}</summary>
          <p>Anybody can send such tokens to an account. Follow no link in their names.</p>
          <BalanceTable label="Balances of spam tokens" rows={spam} />
        </details>
      )}
    </>
  );
}

function BalanceTable({ label, rows }: { label: string; rows: readonly Balance[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>{["Token", "Amount", "Value", "Can be sold for"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.chainId} ${row.token.address}`} data-token={row.token.address} data-chain={row.chainId}>
              <th scope="row">
                <TokenName token={{ symbol: plain(row.token.symbol, 16), address: row.token.address, warning: markOf(row) }} />
                <small>{`${plain(row.token.name)} on ${plain(row.network)}${row.token.isNative ? "" : `, ${short(row.token.address)}`}`}</small>
              </th>
              <td class="amount">{units(row.amount, row.token.decimals)}</td>
              <td class="amount">{usd(row.valueUsd)}{row.valueUsd !== null && !row.counted && <small>not in the total</small>}</td>
              <td class="amount">{usd(row.realisableUsd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What warns of a token of an account. Null where nothing does. */
function markOf({ spam, spamReasons, listed, token, warnings }: Balance): string | null {
  if (spam) return `spam: ${spamReasons.map((each) => plain(each).replaceAll("_", " ")).join(", ") || "no reason is given"}`;
  if (!listed && !token.isNative) return "in no list of this gateway";
  if (warnings.length) return warnings.map(({ code }) => plain(code).replaceAll("_", " ")).join(", ");
  return warningOfName(token.symbol ?? "", token.name ?? "");
}
