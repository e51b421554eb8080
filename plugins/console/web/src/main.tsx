// Starts the console: networks, wallets, and the page.
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Quoteway, type Answer } from "../../../../clients/typescript/src/index.js";
import { Failure } from "./failure.js";
import { Providers } from "./providers.js";
import { useRows } from "./rows.js";
import { Swap } from "./swap.js";
import { plain } from "./text.js";
import { discover, testWallets, type Choice } from "./wallets.js";

export type NetworkRow = Answer<"listNetworks">["data"][number];

function Console() {
  const client = useMemo(() => new Quoteway({ baseUrl: location.origin, retries: 1 }), []);
  const { rows: networks, failure, load } = useRows(() => client.networks.list());
  const [named, setNamed] = useState("");
  const network = networks?.find(({ id }) => id === named) ?? networks?.[0] ?? null;
  const [found, setFound] = useState<Choice[]>([]);
  const [chosen, setChosen] = useState("");
  const [isSending, setSending] = useState(false);
  const [page, setPage] = useState(location.hash);
  useEffect(() => {
    const look = () => setPage(location.hash);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  const isProviders = page === "#providers";
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
          <a href="#swap" aria-current={isProviders ? undefined : "page"}>Swap</a>
          <a href="#providers" aria-current={isProviders ? "page" : undefined}>Providers</a>
        </nav>
      </header>
      <main>
        {!isProviders && wallet?.isTest && <p class="notice">The key of this test account is public. It signs on the devnet alone: never send it anything of value.</p>}
        {failure !== null && (
          <>
            <Failure error={failure} />
            <button type="button" onClick={load}>Try again</button>
          </>
        )}
        {networks === null && failure === null && <p role="status">Asking the gateway for its networks…</p>}
        {networks?.length === 0 && <p role="status">This gateway serves no network. The log of the server says why.</p>}
        {isProviders && <Providers client={client} />}
        {network && (
          // It stays where another page is shown, so that what came of a swap is not lost.
          <div hidden={isProviders}>
            <Swap key={`${network.id} ${wallet?.id}`} client={client} network={network} wallet={wallet} isSending={isSending} onSending={setSending} />
          </div>
        )}
      </main>
    </>
  );
}

render(<Console />, document.getElementById("app")!);
