// What spenders may take of an account, and the end of it.
import { useRef, useState } from "preact/hooks";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { amountOf } from "./known.js";
import { Missing } from "./missing.js";
import { Steps, useOperation, type Plan } from "./operation.js";
import type { AccountProps } from "./portfolio.js";
import { moment, plain, short } from "./text.js";
import { nativeOf, TokenName, warningOfName } from "./token_field.js";

type Approval = Schemas["AllowanceEntry"];
type Allowances = Schemas["Allowances"];
type Revoking = Plan & { readonly address: string; readonly approvals: readonly Approval[] };

/** The most that one request ends. */
const MOST = 20;

export function Approvals(props: AccountProps) {
  const { client, query, networks, nameOf, isSending } = props;
  // What was sent from here, by network: an answer must be of its block or a later one.
  const sent = useRef(new Map<number, string>());
  const { found, failure, isAsking, load } = useAnswer(async (signal) => {
    const answer = await client.portfolio.approvals(query, { signal });
    const newer = [...sent.current].map(([chainId, hash]) => client.portfolio.approvals({ ...query, network: `eip155:${chainId}`, afterTransaction: hash }, { signal }));
    return (await Promise.all(newer)).reduce(replaced, answer);
  }, []);
  const groups = networks.map((network) => ({ network, rows: found?.data.filter(({ chainId }) => chainId === network.chainId) ?? [] }));
  return (
    <section aria-label="Approvals">
      <h3>Approvals</h3>
      <p>An approval lets a spender take tokens out of the account until it is used up or ended.</p>
      {failure !== null && <Failure error={failure} />}
      {found === null && isAsking && <p role="status">Reading the approvals…</p>}
      {found && <Missing partial={found.partial} nameOf={nameOf} />}
      {found?.data.length === 0 && <p role="status">{found.partial.length ? "No approval is found." : "No spender is known that may take tokens of this account. Approvals older than 10 000 blocks are found for the spenders of this gateway's providers alone."}</p>}
      {found && groups.map(({ network, rows }) => (
        <Group key={network.id} page={props} network={network} owner={found.wallet} rows={rows} onDone={(hash) => { sent.current.set(network.chainId, hash); load(); }} />
      ))}
      <button type="button" class="main" disabled={isAsking || isSending} onClick={load}>{isAsking ? "Reading…" : "Read again"}</button>
    </section>
  );
}

/** The answer with the networks of a later one in their place. */
function replaced(answer: Allowances, later: Allowances): Allowances {
  const chains = new Set(later.asOf.map(({ chainId }) => chainId));
  const keep = ({ chainId }: { chainId: number }) => !chains.has(chainId);
  return { ...answer, data: [...answer.data.filter(keep), ...later.data], asOf: [...answer.asOf.filter(keep), ...later.asOf], partial: [...answer.partial.filter(keep), ...later.partial] };
}

const keyOf = ({ kind, token, spender }: Approval): string => `${kind} ${token.address} ${spender}`;
const nameOfSpender = ({ label, spender }: Approval): string => plain(label) || short(spender);

interface GroupProps {
  page: AccountProps;
  network: AccountProps["networks"][number];
  owner: string;
  rows: readonly Approval[];
  onDone: (hash: string) => void;
}

/** The approvals on one network. An action ends those of one network. */
function Group({ page, network, owner, rows, onDone }: GroupProps) {
  const { client, wallet, isSending } = page;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const approvals = rows.filter((row) => chosen.has(keyOf(row)));
  const body = ({ address, approvals }: Revoking) => ({ address, network: `eip155:${network.chainId}`, approvals: approvals.map(({ kind, token, spender }) => ({ kind, token: token.address, spender })) });
  const operation = useOperation<Revoking>({ ...page, network }, (plan) => client.portfolio.revoke(body(plan)), ({ report }) => { setChosen(new Set()); onDone(report.hash); });
  const choose = (row: Approval, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(keyOf(row));
    else next.delete(keyOf(row));
    setChosen(next);
    operation.forget();
  };
  const ask = (event: Event) => {
    event.preventDefault();
    operation.ask("Asking the wallet for its account…", async (address) => {
      if (address.toLowerCase() !== owner.toLowerCase()) throw new Error(`These approvals are of ${owner}, the account of the wallet is ${address}. Only the account itself can end them.`);
      return { address, chainId: network.chainId, approvals, tokens: approvals.map(({ token }) => token), inputs: [], outputs: [], acknowledgementNeeded: [] };
    });
  };
  if (rows.length === 0 && !operation.done && operation.failure === null) return null;
  const canSign = wallet?.signsFor(network.chainId) ?? false;
  return (
    <section aria-label={`Approvals on ${plain(network.name)}`} data-chain={network.chainId}>
      <h3>{plain(network.name)}</h3>
      {rows.length > 0 && (
        <form onSubmit={ask}>
          <fieldset disabled={isSending}>
            <ApprovalTable rows={rows} chosen={chosen} onChoose={choose} label={`Approvals of the account on ${plain(network.name)}`} />
            <button type="submit" disabled={!canSign || approvals.length === 0 || approvals.length > MOST || operation.busy !== ""}>{approvals.length === 1 ? "End this approval" : `End ${approvals.length} approvals`}</button>
            {approvals.length > MOST && <p role="status">{`One action ends at most ${MOST} approvals.`}</p>}
            {!canSign && <p role="status">To end approvals, choose a wallet that signs for this network.</p>}
          </fieldset>
        </form>
      )}
      <Steps operation={operation} native={nativeOf(network)} review={(plan) => <Ending plan={plan} />} />
    </section>
  );
}

interface TableProps {
  label: string;
  rows: readonly Approval[];
  chosen: ReadonlySet<string>;
  onChoose: (row: Approval, isChosen: boolean) => void;
}

function ApprovalTable({ label, rows, chosen, onChoose }: TableProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>{["End", "Token", "Spender", "May take", "Until"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const symbol = plain(row.token.symbol, 16) || short(row.token.address);
            return (
              <tr key={keyOf(row)} data-kind={row.kind} data-token={row.token.address} data-spender={row.spender}>
                <td><input type="checkbox" aria-label={`End the approval of ${symbol} for ${nameOfSpender(row)}`} checked={chosen.has(keyOf(row))} onChange={(event) => onChoose(row, event.currentTarget.checked)} /></td>
                <th scope="row">
                  <TokenName token={{ symbol: plain(row.token.symbol, 16), address: row.token.address, warning: row.listed ? warningOfName(row.token.symbol ?? "", row.token.name ?? "") : "in no list of this gateway" }} />
                  <small>{short(row.token.address)}</small>
                </th>
                <td>{plain(row.label) || "a spender without a name"}<small><code>{row.spender}</code></small>{row.kind === "permit2" && <small>through Permit2</small>}</td>
                <td class="amount">{row.unlimited ? <strong class="warning">no limit</strong> : amountOf(row.amount, row.token)}</td>
                <td>{untilOf(row)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function untilOf({ expiration }: Approval): string {
  if (expiration === null) return "it is ended";
  return expiration * 1000 <= Date.now() ? `${moment(expiration)}, which is over` : moment(expiration);
}

function Ending({ plan: { address, approvals } }: { plan: Revoking }) {
  return (
    <section aria-label="Approvals that end">
      <h2>Approvals that end</h2>
      <ul data-part="ending">
        {approvals.map((row) => <li key={keyOf(row)}>{`${nameOfSpender(row)} may take no ${plain(row.token.symbol, 16) || short(row.token.address)} of ${short(address)} any more`}{row.kind === "permit2" && " through Permit2"}</li>)}
      </ul>
      <p>Nothing else is signed. A permit that was signed and that nobody has sent yet is not ended by this.</p>
    </section>
  );
}
