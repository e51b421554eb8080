// Vaults of one's own: deploying one, changing its settings, and moving its money between its strategies. Who may do so is its contract's to say.
import { Fragment } from "preact";
import { useId, useState } from "preact/hooks";
import { ADDRESS, ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import { ApiError, toUnits, type Answer, type Deployment, type Management, type Schemas } from "../../../../clients/typescript/src/index.js";
import { amountOf } from "./known.js";
import { Notices } from "./notices.js";
import { Steps, useOperation, type Plan } from "./operation.js";
import type { PageProps } from "./page.js";
import { plain, short } from "./text.js";
import { nativeOf, TokenField, type Token } from "./token_field.js";

type Provider = Answer<"listProviders">["data"][number];
type Vault = Schemas["VaultEntry"];

const ADDRESS_PATTERN = "0x[0-9a-fA-F]{40}";
const NEEDS_WALLET = "A wallet is needed: install one that announces itself to pages (EIP-6963).";

/** The strategies that new vaults of a network can have. */
const strategiesOf = (providers: readonly Provider[], chainId: number): string[] => [...new Set(providers.flatMap(({ strategies }) => strategies.filter((each) => each.chainId === chainId).map(({ id }) => id)))];

interface DeployProps {
  page: PageProps;
  providers: readonly Provider[];
  /** Told when a new vault is in a block. */
  onDone: () => void;
}

export function DeployVault({ page, providers, onDone }: DeployProps) {
  const { client, network, wallet, isSending } = page;
  const offered = strategiesOf(providers, network.chainId);
  const [strategy, setStrategy] = useState(offered[0] ?? "");
  const [token, setToken] = useState<Token | null>(null);
  const [bot, setBot] = useState("");
  const operation = useOperation<Deployment>(page, client.vaults.deploy, onDone);
  const { forget, done } = operation;
  const ask = (event: Event) => {
    event.preventDefault();
    const given = bot.trim();
    operation.ask("Asking for a quote…", (owner) => client.vaults.quoteDeployment({ network: `eip155:${network.chainId}`, asset: token!.address, owner, strategy, ...(given ? { bot: given } : {}) }));
  };
  if (offered.length === 0) return <p role="status">No provider of this gateway deploys vaults on this network.</p>;
  return (
    <>
      <p>The account of your wallet will own the vault. Anyone can deposit into it; its owner decides what becomes of the deposits.</p>
      <form onSubmit={ask}>
        <fieldset disabled={isSending}>
          <label class="field">
            Strategy
            <select name="strategy" value={strategy} onChange={(event) => { setStrategy(event.currentTarget.value); forget(); }}>
              {offered.map((id) => <option key={id} value={id}>{plain(id, 80)}</option>)}
            </select>
          </label>
          <TokenField label="Token that the vault takes" client={client} network={network} value={token} onChoose={(next) => { setToken(next); forget(); }} />
          <label>
            Bot, which may rebalance beside the owner (none if empty)
            <input name="bot" autoComplete="off" spellcheck={false} pattern={ADDRESS_PATTERN} title="an address" value={bot} onInput={(event) => { setBot(event.currentTarget.value); forget(); }} />
          </label>
          <button type="submit" disabled={!wallet || token === null || operation.busy !== ""}>Get a quote</button>
          {!wallet && <p role="status">{NEEDS_WALLET}</p>}
        </fieldset>
      </form>
      <Steps operation={operation} native={nativeOf(network)} review={(quote) => <DeploymentReview quote={quote} />} />
      {done && (
        <p role="status" data-part="deployed">
          {"The new vault is at "}
          <a href={`#vaults/${done.quote.chainId}:${done.quote.predictedAddress}`}>{done.quote.predictedAddress}</a>
        </p>
      )}
    </>
  );
}

/** The members are those that the transaction is compared with. */
function DeploymentReview({ quote }: { quote: Deployment }) {
  const { request, params, factory, predictedAddress, acknowledgementNeeded, warnings, provider } = quote;
  const rows: [string, string, string][] = [
    ["asset", "Takes", request.asset],
    ["owner", "Owner", request.owner],
    ["bot", "Bot", request.bot ?? "none"],
    ["strategy", `Strategy ${plain(request.strategy, 80)}`, String(params?.strategy)],
    ["factory", "Deployed by the factory", String(factory)],
    ["predicted", "Address of the new vault", String(predictedAddress)],
  ];
  return (
    <section aria-label="Quote">
      <h2>Quote</h2>
      <p>You pay gas alone. Which contract an id of a strategy stands for, and the addresses of factory and vault, are the gateway's word.</p>
      <dl>
        {rows.map(([part, title, value]) => (
          <Fragment key={part}>
            <dt>{title}</dt>
            <dd data-part={part}><code>{value}</code></dd>
          </Fragment>
        ))}
        <dt>By</dt>
        <dd>{plain(provider)}</dd>
      </dl>
      <Notices title="Know before you sign" notices={[...acknowledgementNeeded, ...(warnings ?? [])]} />
    </section>
  );
}

const ACTIONS = {
  setCap: "Set the most that the vault takes",
  setBot: "Name the bot",
  addStrategy: "Add a strategy",
  removeStrategy: "Remove a strategy",
  harvest: "Invest the idle money",
  pause: "Pause deposits and rebalancing",
  unpause: "End the pause",
  rebalance: "Rebalance: move money into a strategy",
} as const;
type ActionName = keyof typeof ACTIONS;

/** What is asked of a vault, in words, and how. */
interface Request extends Plan {
  readonly account: string;
  readonly rows: readonly (readonly [string, string])[];
  readonly run: () => Promise<Management>;
}

interface ManageProps {
  page: PageProps;
  vault: Vault;
  /** The provider of the vault. */
  provider: Provider;
  /** What an addition or a rebalance can name by an id. */
  providers: readonly Provider[];
  onDone: () => void;
}

export function ManageVault({ page, vault, provider, providers, onDone }: ManageProps) {
  const { client, network, wallet, isSending } = page;
  const list = useId();
  const offered = (Object.keys(ACTIONS) as ActionName[]).filter((each) => each === "rebalance" || provider.actions.manage.includes(each));
  const [action, setAction] = useState<ActionName>(offered[0]!);
  const [amount, setAmount] = useState("");
  const [isAll, setAll] = useState(false);
  const [bot, setBot] = useState("");
  const [strategy, setStrategy] = useState("");
  const [percent, setPercent] = useState("0.5");
  const operation = useOperation<Request>(page, ({ run }) => run(), onDone);
  const { forget, failure } = operation;
  const symbol = plain(vault.asset.symbol, 16) || short(vault.asset.address);
  const takesAmount = action === "setCap" || action === "rebalance";
  const takesStrategy = action === "addStrategy" || action === "removeStrategy" || action === "rebalance";
  const ask = (event: Event) => {
    event.preventDefault();
    operation.ask("Asking the wallet for its account…", async (address) => {
      const rows: [string, string][] = [["Action", ACTIONS[action]]];
      const whole = takesAmount && !isAll ? toUnits(amount.trim(), vault.asset.decimals) : null;
      const named = strategy.trim();
      if (takesAmount) rows.push(["Amount", whole !== null ? `${amountOf(whole, vault.asset)}, ${whole} base units` : action === "setCap" ? "no limit" : "all that can be moved"]);
      if (action === "setBot") rows.push(["Bot", bot.trim() || "none"]);
      if (takesStrategy) rows.push(["Strategy", named || "the first one of the vault"]);
      const slippageBps = action === "rebalance" ? Number(toUnits(percent.trim(), 2)) : 0;
      if (action === "rebalance") rows.push(["May cost at most", `${plain(percent)} % of what the vault holds`]);
      const body = bodyOf(action, address, { amount: whole ?? "max", bot: bot.trim() || ZERO_ADDRESS, strategy: named });
      const run = () =>
        body !== null
          ? client.vaults.manage(vault.id, body)
          : client.vaults.rebalance(vault.id, { address, slippageBps, ...(whole === null ? {} : { amount: whole }), ...(named ? { strategy: named } : {}) });
      return { account: address, rows, run, chainId: vault.chainId, inputs: [], outputs: [], tokens: [vault.asset], acknowledgementNeeded: [] };
    });
  };
  const role = failure instanceof ApiError ? failure.details.requiredRole : null;
  return (
    <>
      <p>The contract of the vault decides who may do this: its owner, and for some of it the bot that the owner names.</p>
      <form onSubmit={ask}>
        <fieldset disabled={isSending}>
          <label class="field">
            What to do
            <select name="management" value={action} onChange={(event) => { setAction(event.currentTarget.value as ActionName); setAll(false); forget(); }}>
              {offered.map((each) => <option key={each} value={each}>{ACTIONS[each]}</option>)}
            </select>
          </label>
          {takesAmount && (
            <label class="consent">
              <input type="checkbox" checked={isAll} onChange={(event) => { setAll(event.currentTarget.checked); forget(); }} /> {action === "setCap" ? "No limit" : "All that can be moved"}
            </label>
          )}
          {takesAmount && !isAll && (
            <label>
              {`Amount of ${symbol}`}
              <input name="amount" inputMode="decimal" autoComplete="off" required pattern="[0-9]+(\.[0-9]+)?" title="a decimal number such as 1.5" value={amount} onInput={(event) => { setAmount(event.currentTarget.value); forget(); }} />
            </label>
          )}
          {action === "setBot" && (
            <label>
              Address of the bot (none if empty)
              <input name="bot" autoComplete="off" spellcheck={false} pattern={ADDRESS_PATTERN} title="an address" value={bot} onInput={(event) => { setBot(event.currentTarget.value); forget(); }} />
            </label>
          )}
          {takesStrategy && (
            <label>
              {`Id or address of the strategy${action === "rebalance" ? " (the first one of the vault if empty)" : ""}`}
              <input name="strategy" list={list} autoComplete="off" spellcheck={false} maxLength={100} required={action !== "rebalance"} value={strategy} onInput={(event) => { setStrategy(event.currentTarget.value); forget(); }} />
            </label>
          )}
          <datalist id={list}>{strategiesOf(providers, vault.chainId).map((id) => <option key={id} value={id} />)}</datalist>
          {action === "rebalance" && (
            <label>
              The most that it may cost, in % of what the vault holds
              <input name="loss" inputMode="decimal" autoComplete="off" required pattern="[0-9]{1,2}(\.[0-9]{1,2})?" title="a percentage such as 0.5" value={percent} onInput={(event) => { setPercent(event.currentTarget.value); forget(); }} />
            </label>
          )}
          <button type="submit" disabled={!wallet || operation.busy !== ""}>Go on</button>
          {!wallet && <p role="status">{NEEDS_WALLET}</p>}
        </fieldset>
      </form>
      <Steps operation={operation} native={nativeOf(network)} review={(request) => <RequestReview request={request} vault={vault} />} />
      {role && (
        <p class="notice" role="status" data-part="role">
          {`The contract of the vault lets only its ${plain(role.name)} do this`}
          {role.holder !== null && <>{": "}<code>{plain(role.holder, 42)}</code></>}
          {". Choose the wallet of that account."}
        </p>
      )}
    </>
  );
}

/** Null for a rebalance, which is an operation of its own. */
function bodyOf(action: ActionName, address: string, { amount, bot, strategy }: { amount: bigint | "max"; bot: string; strategy: string }): Schemas["ManageBody"] | null {
  switch (action) {
    case "setCap":
      return { action, address, amount };
    case "setBot":
      return { action, address, bot };
    case "addStrategy":
    case "removeStrategy":
      return { action, address, strategy };
    case "rebalance":
      return null;
    default:
      return { action, address };
  }
}

function RequestReview({ request: { account, rows }, vault }: { request: Request; vault: Vault }) {
  const strategy = rows.find(([title]) => title === "Strategy")?.[1] ?? "";
  return (
    <section aria-label="What you ask for">
      <h2>What you ask for</h2>
      <dl data-part="asked">
        <dt>Vault</dt>
        <dd><code>{vault.address}</code></dd>
        <dt>As</dt>
        <dd><code>{account}</code></dd>
        {rows.map(([title, text]) => (
          <Fragment key={title}>
            <dt>{title}</dt>
            <dd>{plain(text, 200)}</dd>
          </Fragment>
        ))}
      </dl>
      {strategy !== "" && !ADDRESS.test(strategy) && <p>Which contract that strategy is, is the gateway's word: read its address in the call before you sign.</p>}
    </section>
  );
}
