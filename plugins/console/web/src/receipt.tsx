// What came of an operation, beside what was quoted.
import type { Answer, Schemas } from "../../../../clients/typescript/src/index.js";
import { amountOf, type Facts } from "./known.js";

export function Receipt({ report, quote }: { report: Answer<"submitTransactionHash">; quote: Facts }) {
  const { realized } = report;
  const moved = ({ token, account }: Schemas["Leg"]): bigint | null => {
    const found = realized?.assetChanges.find((each) => each.token.toLowerCase() === token.address.toLowerCase() && each.account.toLowerCase() === account.toLowerCase());
    return found ? BigInt(found.delta) : null;
  };
  const lines = (legs: readonly Schemas["Leg"][], text: (leg: Schemas["Leg"]) => string) => legs.map((leg, index) => <div key={index}>{text(leg)}</div>);
  const paid = quote.inputs.filter((leg) => moved(leg) !== null);
  return (
    <section aria-label="Receipt" data-hash={report.hash}>
      <h2>{report.status === "confirmed" ? "Done" : `State: ${report.status}`}</h2>
      {report.match === "mismatch" && <p class="failure" role="alert">The transaction on the chain is not the one that was built.</p>}
      <dl>
        <dt>Transaction</dt>
        <dd><code>{report.hash}</code></dd>
        {paid.length > 0 && (
          <>
            <dt>Paid</dt>
            <dd data-part="paid">{lines(paid, (leg) => amountOf(-moved(leg)!, leg.token))}</dd>
          </>
        )}
        {quote.outputs.length > 0 && (
          <>
            <dt>Received</dt>
            <dd data-part="received">
              {lines(quote.outputs, (leg) => {
                const got = moved(leg);
                return got === null ? `${amountOf(leg.amount, leg.token)} was quoted; it is not in the logs of the transaction: look at the balance` : amountOf(got, leg.token);
              })}
            </dd>
            <dt>Quoted</dt>
            <dd>{lines(quote.outputs, (leg) => amountOf(leg.amount, leg.token))}</dd>
          </>
        )}
        {quote.inputs.length + quote.outputs.length > 0 && (
          <>
            <dt>Against the quote</dt>
            <dd data-part="against">{realized?.vsQuoteBps == null ? "not known" : `${realized.vsQuoteBps} basis points`}</dd>
          </>
        )}
      </dl>
    </section>
  );
}
