// An amount of one of a pool's tokens: an operation counts in the one that the person chooses.
import { toUnits, type Schemas } from "../../../../clients/typescript/src/index.js";
import { plain, short } from "./text.js";

type Tokens = Schemas["PoolEntry"]["tokens"];

/** Place of the token in the pool, and the amount as typed. */
export interface Counted {
  side: number;
  amount: string;
}

/** The members of the request. Throws where the amount cannot be read. */
export function countedIn(tokens: Tokens, { side, amount }: Counted): { asset: string; amount: bigint } {
  const { address, decimals } = tokens[side]!;
  return { asset: address, amount: toUnits(amount.trim(), decimals) };
}

const nameOf = ({ symbol, address }: Tokens[number]) => plain(symbol, 16) || short(address);

export function CountedAmount({ tokens, counted, onChange }: { tokens: Tokens; counted: Counted; onChange: (counted: Counted) => void }) {
  return (
    <>
      <label>
        Token that I count
        <select name="side" value={String(counted.side)} onChange={(event) => onChange({ ...counted, side: Number(event.currentTarget.value) })}>
          {tokens.map((each, index) => <option key={each.address} value={String(index)}>{nameOf(each)}</option>)}
        </select>
      </label>
      <label>
        {`Amount of ${nameOf(tokens[counted.side]!)}`}
        <input inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?" title="a decimal number such as 1.5" value={counted.amount} onInput={(event) => onChange({ ...counted, amount: event.currentTarget.value })} />
      </label>
    </>
  );
}
