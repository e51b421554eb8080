// What the positions of an account have gained and lost.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { useAnswer } from "./answers.js";
import { Failure, isOff } from "./failure.js";
import { amountOf } from "./known.js";
import { Missing } from "./missing.js";
import type { AccountProps } from "./portfolio.js";
import { placeOf } from "./positions.js";
import { moment, plain, usd } from "./text.js";

type Gain = Schemas["GainEntry"];

/** Why members of a row are not known. */
const WORDS: Readonly<Record<string, string>> = {
  not_indexed: "the index does not have its events",
  flows_incomplete: "the events in the index do not add up to its liquidity",
  price_unknown: "a token has no known price",
  amount_unknown: "shares came from another account",
  fees_not_logged: "its fees are not in the logs after the first change",
  fees_in_principal: "its fees are in its value, not apart",
  one_token: "it has one token, so there is no impermanent loss",
};

const wordsOf = (code: string): string => (Object.hasOwn(WORDS, code) && WORDS[code]) || plain(code).replaceAll("_", " ");

export function Gains({ client, query, nameOf }: AccountProps) {
  const { found, failure, isAsking, load } = useAnswer((signal) => client.call("getPortfolioPnl", { query }, { signal }), []);
  return (
    <section aria-label="Gains">
      <h3>Gains and losses of positions</h3>
      {failure !== null && (isOff(failure) ? <p role="status">This gateway keeps no index, so gains and losses are not known.</p> : <Failure error={failure} />)}
      {found === null && isAsking && <p role="status">Reading the gains…</p>}
      {found && <Missing partial={found.partial} nameOf={nameOf} />}
      {found?.data.length === 0 && <p role="status">{found.partial.length ? "No position is found." : "The account has no position in a pool or vault."}</p>}
      {found && found.data.length > 0 && <GainTable rows={found.data} />}
      {found && (
        <details>
          <summary>How it is computed</summary>
          <p>{plain(found.method, 3000)}</p>
        </details>
      )}
      <button type="button" class="main" disabled={isAsking} onClick={load}>{isAsking ? "Reading…" : "Read again"}</button>
    </section>
  );
}

function GainTable({ rows }: { rows: readonly Gain[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Gains and losses of the positions">
      <table>
        <thead>
          <tr>{["Position", "Cost", "Value", "Unrealised", "Realised", "Fees", "Impermanent loss"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.poolId ?? row.vaultId} ${row.positionId}`} data-position={row.positionId}>
              <th scope="row">
                {placeOf(row)}{row.poolId && ` number ${plain(row.positionId, 100)}`}
                <small>{`by ${plain(row.provider)}, ${row.openedAt === null ? "it is not known since when" : `since ${moment(row.openedAt)}`}`}</small>
                <Flows row={row} />
                {row.reasons.length > 0 && <small data-part="reasons">{`Not all is known: ${row.reasons.map(wordsOf).join("; ")}.`}</small>}
              </th>
              {[row.costUsd, row.valueUsd, row.unrealisedUsd, row.realisedUsd, row.feesUsd, row.impermanentLossUsd].map((value, index) => <td key={index} class="amount">{usd(value)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Flows({ row }: { row: Gain }) {
  const flows = { Deposited: row.deposited, Withdrawn: row.withdrawn, "Fees paid out": row.collectedFees, "Fees to collect": row.uncollectedFees };
  return (
    <details>
      <summary>Amounts</summary>
      <ul>
        {Object.entries(flows).map(([name, amounts]) => <li key={name}>{`${name}: ${amounts === null ? "not known" : amounts.map(({ amount, token }) => amountOf(amount, token)).join(", ") || "nothing"}`}</li>)}
      </ul>
    </details>
  );
}
