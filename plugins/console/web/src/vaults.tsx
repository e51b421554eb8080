// The page of vaults: what each pays, deposits into and redemptions from one of them, and what is done with vaults of one's own.
import { useEffect, useState } from "preact/hooks";
import { toUnits, type Answer, type Schemas, type VaultQuote } from "../../../../clients/typescript/src/index.js";
import { every, everyPage, isListRead, useAnswer, useAskingAgain, type Asked } from "./answers.js";
import { Charts } from "./series_charts.js";
import { CopyAs } from "./copy_as.js";
import { Failure } from "./failure.js";
import { FilterForm } from "./filter_form.js";
import { amountOf, checkDecimals } from "./known.js";
import { lazily } from "./lazily.js";
import { Missing } from "./missing.js";
import { Steps, useOperation } from "./operation.js";
import type { PageProps } from "./page.js";
import { PlaceReview } from "./place_review.js";
import { plain, rate, short, usd } from "./text.js";
import { nativeOf, TokenName, warningOfName } from "./token_field.js";

type Vault = Schemas["VaultEntry"];
type Series = Schemas["Series"];
type Providers = Asked<Answer<"listProviders">["data"]>;

const DeployVault = lazily(async () => (await import("./vault_management.js")).DeployVault);
const ManageVault = lazily(async () => (await import("./vault_management.js")).ManageVault);

const SORTS = { "-tvlUsd": "Value held", "-apy": "APY" } as const;

const FIELDS = [
  { name: "asset", label: "Token that is taken", title: "a symbol or an address" },
  { name: "query", label: "Name or protocol" },
] as const;

const EVERYTHING = { asset: "", query: "", sort: "-tvlUsd" as keyof typeof SORTS };

interface Props extends PageProps {
  /** Id of the vault, and the action, that the address of the page names. */
  linked: string;
  linkedAction: string;
}

export function Vaults(props: Props) {
  const { client, network, isSending } = props;
  const [filter, setFilter] = useState(EVERYTHING);
  const { asset, query, sort } = filter;
  const asked = useAnswer(
    (signal) => everyPage((cursor) => client.call("listVaults", { query: { network: network.id, sort, limit: 200, ...(asset && { asset }), ...(query && { query }), ...cursor } }, { signal })),
    [filter],
    true,
  );
  const { found, failure, isAsking, load } = asked;
  const isRead = found === null || isListRead(found.rows, found.partial);
  useAskingAgain(asked, isRead, [filter]);
  const providers = useAnswer((signal) => every(client.providers.list({ signal })), []);
  const [chosen, setChosen] = useState("");
  const { linked, linkedAction } = props;
  useEffect(() => {
    if (linked && !isSending) setChosen(linked.toLowerCase());
  }, [linked]);
  const vault = found?.rows.find(({ id }) => id.toLowerCase() === chosen) ?? null;
  return (
    <>
      <h2>Vaults</h2>
      <FilterForm of="Vaults" button="Show these vaults" fields={FIELDS} sorts={SORTS} isDisabled={isSending} onChoose={setFilter} />
      {failure !== null && <Failure error={failure} />}
      {found === null && isAsking && <p role="status">Asking the gateway for its vaults…</p>}
      {found && <Missing partial={found.partial} nameOf={() => plain(network.name)} />}
      {found?.rows.length === 0 && <p role="status">{!isRead ? "No vault could be read yet." : asset || query ? "No vault of this network is like that." : "There is no vault on this network."}</p>}
      {found && found.rows.length > 0 && <VaultTable rows={found.rows} chosen={chosen} isSending={isSending} onChoose={(id) => setChosen(id.toLowerCase())} />}
      <button type="button" class="main" disabled={isAsking || isSending} onClick={load}>{isAsking ? "Asking…" : "Ask again"}</button>
      {found && chosen !== "" && !vault && <Unlisted key={chosen} page={props} id={chosen} first={chosen === linked.toLowerCase() ? linkedAction : ""} providers={providers} />}
      {vault && <VaultForm key={vault.id} page={props} vault={vault} first={vault.id.toLowerCase() === linked.toLowerCase() ? linkedAction : ""} providers={providers} onChanged={load} />}
      <Deploying page={props} providers={providers} onDone={load} />
      <CopyAs of={["/v2/vaults"]} />
    </>
  );
}

/** A vault that the list does not have, such as one that was deployed a moment ago. */
function Unlisted({ page, id, first, providers }: { page: PageProps; id: string; first: string; providers: Providers }) {
  const { found, failure, isAsking, load } = useAnswer((signal) => page.client.call("getVault", { path: { vaultId: id } }, { signal }), []);
  return (
    <>
      <p role="status">{isAsking && found === null ? "Asking for the vault…" : `The gateway does not list the vault ${plain(id, 80)}.`}</p>
      {failure !== null && <Failure error={failure} />}
      {failure !== null && <button type="button" onClick={load}>Ask for the vault again</button>}
      {found && <VaultForm page={page} vault={found} first={first} providers={providers} onChanged={load} />}
    </>
  );
}

function Deploying({ page, providers, onDone }: { page: PageProps; providers: Providers; onDone: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const { found, failure, load } = providers;
  return (
    <section aria-label="Deploy a vault">
      <h2>Deploy a vault</h2>
      <button type="button" aria-expanded={isOpen} disabled={page.isSending} onClick={() => setOpen(!isOpen)}>A vault of my own</button>
      {isOpen && found === null && failure === null && <p role="status">Asking the gateway what can be deployed…</p>}
      {isOpen && failure !== null && (
        <>
          <Failure error={failure} />
          <button type="button" onClick={load}>Ask for the providers again</button>
        </>
      )}
      {isOpen && found && <DeployVault page={page} providers={found} onDone={onDone} />}
    </section>
  );
}

/** Shown where the provider of the vault takes management actions. */
function Managing({ page, vault, providers, onDone }: { page: PageProps; vault: Vault; providers: Providers; onDone: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const { found, failure, load } = providers;
  if (failure !== null && found === null) {
    return <p role="status">Whether the vault can be managed here is not known. <button type="button" onClick={load}>Ask for the providers again</button></p>;
  }
  // Rows of a vault name its protocol, which is the id of the one provider that manages such vaults.
  const provider = vault.isTransactional ? found?.find(({ id, actions }) => id === vault.protocol && actions.manage.length > 0) : undefined;
  if (!provider) return null;
  return (
    <section aria-label="Manage the vault">
      <h3>Manage the vault</h3>
      <button type="button" aria-expanded={isOpen} disabled={page.isSending} onClick={() => setOpen(!isOpen)}>Settings and rebalancing</button>
      {isOpen && <ManageVault page={page} vault={vault} provider={provider} providers={found!} onDone={onDone} />}
    </section>
  );
}

interface TableProps {
  rows: readonly Vault[];
  chosen: string;
  isSending: boolean;
  onChoose: (id: string) => void;
}

function VaultTable({ rows, chosen, isSending, onChoose }: TableProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Vaults of the network">
      <table>
        <thead>
          <tr>{["Vault", "Takes", "APY", "Holds", "State"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <button type="button" data-vault={row.id} aria-pressed={row.id.toLowerCase() === chosen} disabled={isSending} onClick={() => onChoose(row.id)}>{plain(row.name) || short(row.address)}</button>
                <small>{`${plain(row.protocol)} ${short(row.address)}`}</small>
              </th>
              <td><TokenName token={{ symbol: plain(row.asset.symbol, 16), address: row.asset.address, warning: warningOfName(row.asset.symbol ?? "", row.asset.name ?? "") }} /></td>
              <td class="amount">{rate(row.apy)}</td>
              <td class="amount">{row.totalAssets === null ? "not known" : amountOf(row.totalAssets, row.asset)}<small>{usd(row.tvlUsd)}</small></td>
              <td>{`${row.status}${row.preview ? ", a preview that is not live" : ""}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface FormProps {
  page: PageProps;
  vault: Vault;
  /** The action that is chosen at first, where the vault takes it. */
  first: string;
  providers: Providers;
  /** Told when the vault was changed. */
  onChanged: () => void;
}

function VaultForm({ page, vault, first, providers, onChanged }: FormProps) {
  const { client, network, wallet, isSending } = page;
  const native = nativeOf(network);
  const offered = (["deposit", "redeem"] as const).filter((each) => vault.isTransactional && vault.actions.includes(each));
  const [action, setAction] = useState<"deposit" | "redeem">(offered.find((each) => each === first) ?? offered[0] ?? "deposit");
  const [amount, setAmount] = useState("");
  const [isAll, setAll] = useState(false);
  const operation = useOperation<VaultQuote>(page, client.vaults.act);
  const { forget } = operation;
  const token = action === "deposit" ? vault.asset : vault.share;
  const takesAll = action === "redeem" && isAll;
  const ask = (event: Event) => {
    event.preventDefault();
    operation.ask("Asking for a quote…", async (address) => {
      const given = { address, asset: token.address };
      const typed = () => toUnits(amount.trim(), token.decimals);
      const found = await client.vaults.quote(vault.id, action === "deposit" ? { ...given, action, amount: typed() } : { ...given, action, amount: takesAll ? "max" : typed() });
      for (const each of [vault.asset, vault.share]) checkDecimals(each, found);
      return found;
    });
  };
  return (
    <>
      <section aria-label="Deposit or redeem">
        <h2>{plain(vault.name) || short(vault.address)}</h2>
        <p><code>{vault.address}</code></p>
        {vault.warnings.length > 0 && <ul class="notice">{vault.warnings.map(({ message }, index) => <li key={index}>{plain(message, 300)}</li>)}</ul>}
        <Charts
          of="the vault"
          metrics={["apy", "sharePrice", "tvl"]}
          ask={async (metric, query, signal) => {
            const asked = { path: { vaultId: vault.id }, query };
            if (metric === "tvl") return client.call("getVaultTvl", asked, { signal });
            const yields = await client.call("getVaultApy", asked, { signal });
            return metric === "apy" ? yields : pricesOf(yields, vault);
          }}
        />
        {offered.length === 0 && <p role="status">This gateway takes no deposits into the vault and no redemptions from it.</p>}
        {offered.length > 0 && (
          <form onSubmit={ask}>
            <fieldset disabled={isSending}>
              <label>
                Action
                <select value={action} onChange={(event) => { setAction(event.currentTarget.value as "deposit" | "redeem"); setAll(false); forget(); }}>
                  {offered.map((each) => <option key={each} value={each}>{each === "deposit" ? "Deposit" : "Redeem"}</option>)}
                </select>
              </label>
              {action === "redeem" && (
                <label class="consent">
                  <input type="checkbox" checked={isAll} onChange={(event) => { setAll(event.currentTarget.checked); forget(); }} /> All shares
                </label>
              )}
              {!takesAll && (
                <label>
                  {`Amount of ${plain(token.symbol, 16) || short(token.address)}`}
                  <input inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?" title="a decimal number such as 1.5" value={amount} onInput={(event) => { setAmount(event.currentTarget.value); forget(); }} />
                </label>
              )}
              <button type="submit" disabled={!wallet || operation.busy !== ""}>Get a quote</button>
              {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
            </fieldset>
          </form>
        )}
        <Steps operation={operation} native={native} review={(quote) => <PlaceReview quote={quote} native={native}><Terms quote={quote} /></PlaceReview>} />
      </section>
      <Managing page={page} vault={vault} providers={providers} onDone={onChanged} />
    </>
  );
}

/** The share prices that the yields are computed from, as a series. */
function pricesOf(yields: Series, { asset }: Vault): Series {
  const found = new Map<number, number>();
  for (const { from, to } of yields.endpoints ?? []) for (const each of [from, to]) if (each) found.set(each.timestamp, Number(each.price));
  const points = [...found].sort(([one], [other]) => one - other).map(([timestamp, value]) => ({ timestamp, value }));
  const coverage = points.length ? { from: points[0]!.timestamp, to: points.at(-1)!.timestamp } : null;
  const method = "Whole assets that a whole share was worth at the ends of the last day, week and month, from which the yields are computed.";
  return { ...yields, metric: "sharePrice", unit: asset.symbol ?? short(asset.address), points, coverage, method };
}

function Terms({ quote: { vault, lockSeconds, feesBps } }: { quote: VaultQuote }) {
  const fee = (bps: number | null | undefined) => (bps == null ? "not known" : `${bps} basis points`);
  return (
    <>
      <dt>Share price</dt>
      <dd data-part="price">{vault?.sharePrice == null ? "not known" : `${plain(vault.sharePrice)} ${plain(vault.asset.symbol, 16)}`}</dd>
      <dt>Fees of the vault</dt>
      <dd>{`on a deposit ${fee(feesBps?.entry)}, on a redemption ${fee(feesBps?.exit)}`}</dd>
      <dt>Locked for</dt>
      <dd>{lockSeconds == null ? "not known" : `${lockSeconds} seconds`}</dd>
    </>
  );
}
