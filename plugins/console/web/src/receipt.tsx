// What came of an operation, beside what was quoted.
import type { Answer, Quoteway, Schemas, Sent } from "../../../../clients/typescript/src/index.js";
import { amountOf, type Facts } from "./known.js";
import { movedBy } from "./movements.js";
import { againstQuote, plain } from "./text.js";

type HashReport = Answer<"submitTransactionHash">;
/** What the gateway says of a transaction, or what the chain says of a batch, whose bytes are the wallet's own. */
export type Report = Pick<HashReport, "hash" | "status"> & { match: HashReport["match"] | "batch"; realized: Pick<NonNullable<HashReport["realized"]>, "assetChanges" | "vsQuoteBps"> | null };

/** Reads what a batch moved: its transaction is the wallet's own, and the gateway compares single ones. */
export async function batchReport({ hash }: Sent, { chainId, inputs, outputs }: Facts): Promise<Report> {
  const legs = new Map([...inputs, ...outputs].filter(({ token }) => token.chainId === chainId).map((leg) => [`${leg.token.address} ${leg.account}`, leg]));
  const changes = await Promise.all(
    [...legs.values()].map(async ({ token, account }) => {
      const delta = await movedBy(chainId, hash, token.address, account);
      return delta === null ? [] : [{ token: token.address, account, delta }];
    }),
  );
  return { hash, status: "confirmed", match: "batch", realized: { assetChanges: changes.flat(), vsQuoteBps: null } };
}

/** What all transactions of several parts did together: each part is reported for itself. */
export async function partsReport(client: Quoteway, { hash, transactions }: Sent): Promise<Report> {
  const reports = await Promise.all(transactions.map((each) => client.transactions.report(each)));
  const sums = new Map<string, Schemas["AssetChange"]>();
  for (const change of reports.flatMap(({ realized }) => realized?.assetChanges ?? [])) {
    const key = `${change.token} ${change.account}`.toLowerCase();
    sums.set(key, { ...change, delta: change.delta + (sums.get(key)?.delta ?? 0n) });
  }
  const odd = reports.find(({ match }) => match !== "match");
  const unsettled = reports.find(({ status }) => status !== "confirmed");
  return { hash, status: unsettled?.status ?? "confirmed", match: odd?.match ?? "match", realized: { assetChanges: [...sums.values()], vsQuoteBps: null } };
}

export function Receipt({ report, quote }: { report: Report; quote: Facts }) {
  const { realized } = report;
  // Another network may have a token at the same address.
  const here = (leg: Schemas["Leg"]) => leg.token.chainId === quote.chainId;
  const moved = ({ token, account }: Schemas["Leg"]): bigint | null => realized?.assetChanges.find((each) => each.token.toLowerCase() === token.address.toLowerCase() && each.account.toLowerCase() === account.toLowerCase())?.delta ?? null;
  const lines = (legs: readonly Schemas["Leg"][], text: (leg: Schemas["Leg"]) => string) => legs.map((leg, index) => <div key={index}>{text(leg)}</div>);
  const paid = quote.inputs.filter((leg) => moved(leg) !== null);
  const received = quote.outputs.filter(here);
  const elsewhere = quote.outputs.filter((leg) => !here(leg));
  return (
    <section aria-label="Receipt" data-hash={report.hash}>
      <h2>{report.status === "confirmed" ? (elsewhere.length ? "Sent" : "Done") : `State: ${report.status}`}</h2>
      {report.match === "mismatch" && <p class="failure" role="alert">The transaction on the chain is not the one that was built.</p>}
      <dl>
        <dt>{report.match === "batch" ? "Batch" : "Transaction"}</dt>
        <dd><code>{report.hash}</code></dd>
        {paid.length > 0 && (
          <>
            <dt>Paid</dt>
            <dd data-part="paid">{lines(paid, (leg) => amountOf(-moved(leg)!, leg.token))}</dd>
          </>
        )}
        {received.length > 0 && (
          <>
            <dt>Received</dt>
            <dd data-part="received">
              {lines(received, (leg) => {
                const got = moved(leg);
                return got === null ? `${amountOf(leg.amount, leg.token)} was quoted; it is not in the logs of the transaction: look at the balance` : amountOf(got, leg.token);
              })}
            </dd>
            <dt>Quoted</dt>
            <dd>{lines(received, (leg) => amountOf(leg.amount, leg.token))}</dd>
          </>
        )}
        {elsewhere.length > 0 && (
          <>
            <dt>On its way</dt>
            <dd>{lines(elsewhere, (leg) => `${amountOf(leg.amount, leg.token)} to ${plain(leg.token.network)}: see the transfers below`)}</dd>
          </>
        )}
        {elsewhere.length === 0 && quote.inputs.length + quote.outputs.length > 0 && (
          <>
            <dt>Against the quote</dt>
            <dd data-part="against">{against(report, quote, moved)}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

function against({ realized, match }: Report, { outputs }: Facts, moved: (leg: Schemas["Leg"]) => bigint | null): string {
  if (match !== "batch") return realized?.vsQuoteBps == null ? "not known" : `${realized.vsQuoteBps} basis points`;
  // Several legs of one token and account are one movement.
  const [first] = outputs;
  const got = first ? moved(first) : null;
  if (!first || got === null) return "not known";
  const quoted = outputs.filter(({ token, account }) => token.address === first.token.address && account === first.account).reduce((sum, { amount }) => sum + amount, 0n);
  return againstQuote(got, quoted);
}
