// Terms of a swap or transfer that most people leave as they are: slippage, recipient, and how allowances are given.
import { isAddress } from "viem";
import { useId } from "preact/hooks";
import { ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import { toUnits, type Schemas } from "../../../../clients/typescript/src/index.js";

const MOST_BPS = 5_000;

export interface Terms {
  slippage: "own" | "auto";
  /** As typed; used where `slippage` is "own". */
  percent: string;
  /** As typed; empty for the account that signs. */
  recipient: string;
  approvals: "transactions" | "signatures";
}

export const USUAL: Terms = { slippage: "own", percent: "0.5", recipient: "", approvals: "transactions" };

/** Basis points of a percentage as typed. Throws where it is none. */
export function bpsOf(percent: string): number {
  const wrong = new RangeError("The slippage must be a percentage from 0 to 50 with at most two digits after the point, such as 0.5.");
  try {
    const bps = Number(toUnits(percent.trim(), 2));
    if (bps <= MOST_BPS) return bps;
  } catch {
    throw wrong;
  }
  throw wrong;
}

type Asked = Pick<Schemas["BridgeQuoteBody"], "toAddress" | "approvalMode"> & { slippageBps: number | "auto" };

/** What a request says of the terms. Throws where one cannot be read. A transfer to another network has no automatic slippage. */
export function askedTerms({ slippage, percent, recipient, approvals }: Terms, crosses: boolean): Asked {
  const account = recipient.trim();
  if (account && (!isAddress(account) || account.toLowerCase() === ZERO_ADDRESS)) throw new TypeError("The recipient must be an address: 0x and 40 digits, with its capital letters as they were given.");
  return {
    slippageBps: slippage === "auto" && !crosses ? "auto" : bpsOf(percent),
    ...(account ? { toAddress: account } : {}),
    ...(approvals === "signatures" ? { approvalMode: "permit2-signature" as const } : {}),
  };
}

/** The slippage of an operation that has no other terms, as typed: `bpsOf` reads it. */
export function SlippageField({ percent, onChange }: { percent: string; onChange: (percent: string) => void }) {
  return (
    <label>
      Slippage, in percent
      <input name="slippage" inputMode="decimal" autoComplete="off" required value={percent} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

interface Given {
  terms: Terms;
  crosses: boolean;
  onChange: (terms: Terms) => void;
}

export function TermsFields({ terms, crosses, onChange }: Given) {
  const id = useId();
  const change = (some: Partial<Terms>) => onChange({ ...terms, ...some });
  const isOwn = terms.slippage === "own" || crosses;
  return (
    <details class="terms">
      <summary>{`Settings: slippage ${isOwn ? `${terms.percent} %` : "automatic"}${terms.recipient.trim() ? ", another recipient" : ""}`}</summary>
      <div>
        <label for={`${id}-slippage`}>Slippage</label>
        <select id={`${id}-slippage`} value={isOwn ? "own" : "auto"} onChange={(event) => change({ slippage: event.currentTarget.value as Terms["slippage"] })}>
          <option value="own">At most a percentage</option>
          <option value="auto" disabled={crosses}>Chosen by the gateway, at most 3 %</option>
        </select>
        {isOwn && (
          <label>
            Percent
            <input inputMode="decimal" autoComplete="off" value={terms.percent} onInput={(event) => change({ percent: event.currentTarget.value })} />
          </label>
        )}
        <label>
          Recipient, where it is not you
          <input autoComplete="off" spellcheck={false} placeholder="0x…" value={terms.recipient} onInput={(event) => change({ recipient: event.currentTarget.value })} />
        </label>
        <label for={`${id}-approvals`}>Allowances</label>
        <select id={`${id}-approvals`} value={terms.approvals} onChange={(event) => change({ approvals: event.currentTarget.value as Terms["approvals"] })}>
          <option value="transactions">By transactions</option>
          <option value="signatures">By signed messages, where the token takes them</option>
        </select>
      </div>
    </details>
  );
}
