// Starts the console: networks, wallets, and the page.
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Quoteway } from "../../../../clients/typescript/src/index.js";
import { every, useAnswer } from "./answers.js";
import { noting } from "./asked.js";
import { Failure } from "./failure.js";
import { lazily } from "./lazily.js";
import { useOnline } from "./operation.js";
import { Pools } from "./pools.js";
import { Portfolio } from "./portfolio.js";
import { Providers } from "./providers.js";
import { Swap } from "./swap.js";
import { plain } from "./text.js";
import { Transfers, useTransfers } from "./transfers.js";
import { Vaults } from "./vaults.js";
import { discover, testWallets, type Choice } from "./wallets.js";

const PAGES = { swap: "Swap", portfolio: "Portfolio", pools: "Pools", vaults: "Vaults", providers: "Providers", operator: "Operator", reference: "Reference" };
/** Pages that need neither a network nor a wallet. */
const ALONE = new Set(["operator", "reference"]);
const Operator = lazily(async () => (await import("./operator.js")).Operator);
const Reference = lazily(async () => (await import("./reference.js")).Reference);

/** The page that the address names, and what of it. */
function placeOf(hash: string): [string, ...string[]] {
  const [name = "", ...rest] = hash.slice(1).split("/");
  try {
    if (Object.hasOwn(PAGES, name)) return [name, ...rest.map(decodeURIComponent)];
  } catch {
    // It is no address of this page.
  }
  return ["swap"];
}

function Console() {
  const client = useMemo(() => new Quoteway({ baseUrl: location.origin, retries: 1, fetch: noting }), []);
  const { found: networks, failure, load } = useAnswer((signal) => every(client.networks.list({ signal })), []);
  const [named, setNamed] = useState("");
  const [found, setFound] = useState<Choice[]>([]);
  const onlyChainId = found.find((choice) => choice.onlyChainId !== undefined)?.onlyChainId;
  const network = networks?.find(({ id }) => id === named) ?? networks?.find(({ chainId }) => chainId === onlyChainId) ?? networks?.[0] ?? null;
  const [chosen, setChosen] = useState("");
  const [isSending, setSending] = useState(false);
  const [page, setPage] = useState(location.hash);
  useEffect(() => {
    const look = () => setPage(location.hash);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  const [shown, item = "", part = ""] = placeOf(page);
  // These are asked for when somebody looks at them.
  const visited = useRef(new Set<string>());
  visited.current.add(shown);
  // An id of a vault begins with its chain.
  const chainOf = shown === "vaults" ? networks?.find(({ chainId }) => item.startsWith(`${chainId}:`)) : undefined;
  useEffect(() => {
    if (chainOf && !isSending) setNamed(chainOf.id);
  }, [page, chainOf?.id]);
  const isOnline = useOnline();
  const { transfers, add, remove } = useTransfers();
  useEffect(() => discover((choice) => setFound((before) => (before.some(({ id }) => id === choice.id) ? before : [...before, choice]))), []);
  const choices = useMemo(() => [...found, ...testWallets((networks ?? []).map(({ chainId }) => chainId))], [found, networks]);
  const usable = choices.filter((choice) => network !== null && choice.signsFor(network.chainId));
  const wallet = usable.find(({ id }) => id === chosen) ?? usable[0] ?? null;
  return (
    <>
      <header>
        <h1>Quoteway</h1>
        {network && (
          <div class="choices">
            <label>
              Network
              <select value={network.id} disabled={isSending} onChange={(event) => setNamed(event.currentTarget.value)}>
                {networks!.map((each) => (
                  <option key={each.id} value={each.id}>{plain(each.name)}</option>
                ))}
              </select>
            </label>
            <label>
              Wallet
              <select value={wallet?.id ?? ""} disabled={isSending} onChange={(event) => setChosen(event.currentTarget.value)}>
                {usable.length === 0 && <option value="">none found</option>}
                {usable.map((each) => (
                  <option key={each.id} value={each.id}>{plain(each.name)}</option>
                ))}
              </select>
            </label>
          </div>
        )}
        <nav aria-label="Pages">
          {Object.entries(PAGES).map(([name, title]) => <a key={name} href={`#${name}`} aria-current={name === shown ? "page" : undefined}>{title}</a>)}
          <a href="/docs/">Docs</a>
        </nav>
      </header>
      <main>
        {!isOnline && <p class="notice" role="status">The browser is offline.</p>}
        {shown !== "providers" && !ALONE.has(shown) && wallet?.isTest && <p class="notice">The key of this test account is public. It signs on the devnet alone: never send it anything of value.</p>}
        {failure !== null && !ALONE.has(shown) && (
          <>
            <Failure error={failure} />
            <button type="button" class="main" onClick={load}>Try again</button>
          </>
        )}
        {networks === null && failure === null && !ALONE.has(shown) && <p role="status">Asking the gateway for its networks…</p>}
        {networks?.length === 0 && !ALONE.has(shown) && <p role="status">This gateway serves no network. The log of the server says why.</p>}
        {shown === "providers" && <Providers client={client} />}
        {shown === "operator" && <Operator />}
        {shown === "reference" && <Reference />}
        {visited.current.has("portfolio") && networks && networks.length > 0 && (
          <div hidden={shown !== "portfolio"}>
            <Portfolio key={wallet?.id ?? ""} client={client} networks={networks} wallet={wallet} view={shown === "portfolio" ? item : ""} isSending={isSending} onSending={setSending} />
          </div>
        )}
        {network && (
          // They stay where another page is shown, so that what came of an operation is not lost.
          <>
            <div hidden={shown !== "swap"}>
              <Swap key={`${network.id} ${wallet?.id}`} client={client} network={network} wallet={wallet} isSending={isSending} onSending={setSending} networks={networks!} onTransfer={add} />
              {/* Outside, because another network or wallet starts the form anew. */}
              <Transfers client={client} networks={networks!} transfers={transfers} onRemove={remove} />
            </div>
            {visited.current.has("pools") && (
              <div hidden={shown !== "pools"}>
                <Pools key={`${network.id} ${wallet?.id}`} client={client} network={network} wallet={wallet} isSending={isSending} onSending={setSending} />
              </div>
            )}
            {visited.current.has("vaults") && (
              <div hidden={shown !== "vaults"}>
                <Vaults key={`${network.id} ${wallet?.id}`} linked={shown === "vaults" ? item : ""} linkedAction={part} client={client} network={network} wallet={wallet} isSending={isSending} onSending={setSending} />
              </div>
            )}
          </>
        )}
      </main>
    </>
  );
}

render(<Console />, document.getElementById("app")!);
