// What speaks against a quote or an action: issues, warnings, and the answers of the providers.
import type { Quote, Schemas } from "../../../../clients/typescript/src/index.js";
import type { Known } from "./known.js";
import { plain, units } from "./text.js";

function issueText({ code, token, actual, required }: Schemas["Issue"], known: Known): string {
  const ref = token === null ? null : known(token);
  const amount = (value: string | bigint | null | undefined) => (value == null ? "" : ref ? `${units(BigInt(value), ref.decimals)} ${ref.symbol}` : String(value));
  const name = code === "insufficient_balance" ? "The balance is too low" : code === "insufficient_allowance" ? "An approval comes first" : plain(code).replaceAll("_", " ");
  return `${name}${actual == null ? "" : `: it is ${amount(actual)}`}${required == null ? "" : `, needed is ${amount(required)}`}.`;
}

export function Notices({ title, notices }: { title: string; notices: readonly Schemas["Notice"][] }) {
  if (notices.length === 0) return null;
  return (
    <div class="notice">
      <h3>{title}</h3>
      <ul>
        {notices.map(({ code, message }, index) => (
          <li key={index} title={plain(code)}>{plain(message, 300)}</li>
        ))}
      </ul>
    </div>
  );
}

export function Issues({ issues, known }: { issues: readonly Schemas["Issue"][] | null; known: Known }) {
  if (!issues?.length) return null;
  return (
    <ul class="notice">
      {issues.map((issue, index) => (
        <li key={index}>{issueText(issue, known)}</li>
      ))}
    </ul>
  );
}

/** `amount` shows what a provider pays, and `taken` what it takes where the output is exact. */
export function Attempts({ quote, amount, taken }: { quote: Quote; amount: (value: bigint) => string; taken?: (value: bigint) => string }) {
  const attempts = quote.attempts ?? [];
  return (
    <details>
      <summary>All {attempts.length} providers that were asked</summary>
      <ul>
        {attempts.map(({ provider, outcome, amountOut, amountIn, reason }) => {
          const offer = taken ? (amountIn == null ? "" : `, takes ${taken(amountIn)}`) : amountOut === null ? "" : `, ${amount(amountOut)}`;
          return <li key={provider}>{`${plain(provider)}: ${plain(outcome)}${offer}${reason ? ` (${plain(reason)})` : ""}`}</li>;
        })}
      </ul>
    </details>
  );
}
