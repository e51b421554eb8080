// Positions in pools and vaults: what they hold, and what fees wait in them.
import type { ComponentChildren } from "preact";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { amountOf } from "./known.js";
import { plain, short, usd } from "./text.js";

type Position = Schemas["PositionEntry"] & { vaultId?: string | null; provider?: string };

const legs = (found: readonly Schemas["Leg"][], none: string) => (found.length ? found.map(({ amount, token }, index) => <div key={index}>{amountOf(amount, token)}</div>) : none);

/** The sentence of a range. Null for a position without one. */
const rangeOf = ({ range, inRange }: Position): string | null =>
  range && `ticks ${range.tickLower} to ${range.tickUpper}, ${inRange === null ? "" : inRange ? "the price is in it" : "the price is outside: it earns no fees"}`;

interface Given {
  rows: readonly (Schemas["PortfolioPosition"] | Schemas["PositionEntry"])[];
  /** What changes a position, in a column of its own. */
  change?: (row: Position) => ComponentChildren;
}

export function Positions({ rows, change }: Given) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Positions of the account">
      <table>
        <thead>
          <tr>{["Position", "Holds", "Fees to collect", "Value", ...(change ? ["Change"] : [])].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {(rows as readonly Position[]).map((row) => (
            <tr key={`${row.poolId ?? row.vaultId} ${row.positionId}`} data-position={row.positionId}>
              <th scope="row">
                {placeOf(row)} {row.kind === "nft" && <span>{`number ${plain(row.positionId, 100)}`}</span>}
                {row.range && <small>{rangeOf(row)}</small>}
                {row.poolId && !change && <small><a href={`#pools/${row.poolId}`}>Add to it, remove or collect</a></small>}
                {row.vaultId && <small><a href={`#vaults/${encodeURIComponent(row.vaultId)}/redeem`}>Redeem from this vault</a></small>}
                {row.provider && <small>{`by ${plain(row.provider)}`}</small>}
              </th>
              <td>{legs(row.amounts, "not known")}</td>
              <td>{row.poolId ? legs(row.uncollectedFees, "none") : "in the value of the shares"}</td>
              <td class="amount">{usd(row.valueUsd)}</td>
              {change && <td>{change(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The words for the pool or vault of a position. */
export function placeOf({ poolId, vaultId }: { poolId: string | null; vaultId?: string | null }): string {
  const [page, id] = poolId ? ["Pool", poolId] : ["Vault", vaultId ?? ""];
  return `${page} ${id.split(":")[0]}:${short(id.split(":")[1] ?? "")}`;
}
