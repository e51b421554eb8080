// The page of an account: its balances, and its positions in pools and vaults.
import { useState } from "preact/hooks";
import type { Answer, Quoteway, Schemas } from "../../../../clients/typescript/src/index.js";
import { everyPage, useAnswer } from "./answers.js";
import { CopyAs } from "./copy_as.js";
import { Failure } from "./failure.js";
import { Missing } from "./missing.js";
import type { NetworkRow } from "./page.js";
import { Positions } from "./positions.js";
import { plain, short, units, usd } from "./text.js";
import { TokenName, warningOfName } from "./token_field.js";
import type { Choice } from "./wallets.js";

type Balances = Answer<"getPortfolioBalances">;
type Balance = Schemas["Balance"];

interface Props {
  client: Quoteway;
  networks: readonly NetworkRow[];
  wallet: Choice | null;
}

export function Portfolio({ client, networks, wallet }: Props) {
  const [typed, setTyped] = useState("");
  const [account, setAccount] = useState("");
  const [network, setNetwork] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const show = (event: Event) => {
    event.preventDefault();
    setProblem(null);
    setAccount(typed.trim());
  };
  const useWallet = async () => {
    setProblem(null);
    try {
      const address = await wallet!.address();
      setTyped(address);
      setAccount(address);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <>
      <h2>Portfolio</h2>
      <form onSubmit={show}>
        <fieldset>
          <label>
            Account
            <input name="account" autoComplete="off" spellcheck={false} required title="an address that starts with 0x, or an ENS name" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
          <label>
            Networks
            <select value={network} onChange={(event) => setNetwork(event.currentTarget.value)}>
              <option value="">All</option>
              {networks.map(({ id, name }) => <option key={id} value={id}>{plain(name)}</option>)}
            </select>
          </label>
          <button type="submit">Show this account</button>
          {wallet && <button type="button" class="main" onClick={useWallet}>Show the account of my wallet</button>}
        </fieldset>
      </form>
      {problem !== null && <Failure error={problem} />}
      {account === "" && problem === null && <p role="status">Type an address, or show the account of your wallet.</p>}
      {account !== "" && <CopyAs of={["/v2/portfolio"]} />}
      {account !== "" && <Account key={`${account} ${network}`} client={client} networks={networks} account={account} network={network} />}
    </>
  );
}

function Account({ client, networks, account, network }: { client: Quoteway; networks: readonly NetworkRow[]; account: string; network: string }) {
  const query = { wallet: account, ...(network ? { network } : {}) };
  const balances = useAnswer((signal) => client.portfolio.balances(query, { signal }), []);
  const positions = useAnswer((signal) => everyPage((cursor) => client.call("getPortfolioPositions", { query: { ...query, ...cursor, limit: 200 } }, { signal })), []);
  const nameOf = (chainId: number) => plain(networks.find((each) => each.chainId === chainId)?.name) || `chain ${chainId}`;
  const isAsking = balances.isAsking || positions.isAsking;
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
        {positions.found === null && positions.isAsking && <p role="status">Reading the positions…</p>}
        {positions.found && <Missing partial={positions.found.partial} nameOf={nameOf} />}
        {positions.found?.rows.length === 0 && <p role="status">{positions.found.partial.length ? "No position is found." : "The account has no position in a pool or vault."}</p>}
        {positions.found && positions.found.rows.length > 0 && <Positions rows={positions.found.rows} />}
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
