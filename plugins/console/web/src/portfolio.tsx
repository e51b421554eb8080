// The page of an account, in views: what it has, its value over time, its gains, its approvals and its transactions.
import { useRef, useState } from "preact/hooks";
import type { Quoteway } from "../../../../clients/typescript/src/index.js";
import { Activity } from "./activity.js";
import { Approvals } from "./approvals.js";
import { CopyAs } from "./copy_as.js";
import { Failure } from "./failure.js";
import { Gains } from "./gains.js";
import { Holdings } from "./holdings.js";
import type { NetworkRow } from "./page.js";
import { plain } from "./text.js";
import { Value } from "./value.js";
import type { Choice } from "./wallets.js";

const VIEWS = { holdings: ["Holdings", Holdings], value: ["Value over time", Value], gains: ["Gains", Gains], approvals: ["Approvals", Approvals], activity: ["Activity", Activity] } as const;
type ViewName = keyof typeof VIEWS;

interface Props {
  client: Quoteway;
  networks: readonly NetworkRow[];
  wallet: Choice | null;
  /** The view that the address names. */
  view: string;
  isSending: boolean;
  onSending: (isSending: boolean) => void;
}

/** What each view of an account is given. */
export interface AccountProps extends Omit<Props, "view"> {
  /** The account, and the network where one is chosen. */
  query: { wallet: string; network?: string };
  /** The networks that are looked at. */
  networks: readonly NetworkRow[];
  nameOf: (chainId: number) => string;
}

export function Portfolio(props: Props) {
  const { networks, wallet, isSending } = props;
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
        <fieldset disabled={isSending}>
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
      {account !== "" && <Account key={`${account} ${network}`} page={props} account={account} network={network} />}
    </>
  );
}

function Account({ page, account, network }: { page: Props; account: string; network: string }) {
  const { networks, view, ...others } = page;
  const shown: ViewName = Object.hasOwn(VIEWS, view) ? (view as ViewName) : "holdings";
  // A view is asked for when somebody looks at it, and stays: what was sent from it is not lost.
  const visited = useRef(new Set<ViewName>());
  visited.current.add(shown);
  const query = { wallet: account, ...(network ? { network } : {}) };
  const nameOf = (chainId: number) => plain(networks.find((each) => each.chainId === chainId)?.name) || `chain ${chainId}`;
  const asked = networks.filter(({ id }) => !network || id === network);
  return (
    <>
      <nav aria-label="Views of the account">
        {Object.entries(VIEWS).map(([name, [title]]) => <a key={name} href={`#portfolio/${name}`} aria-current={name === shown ? "page" : undefined}>{title}</a>)}
      </nav>
      {[...visited.current].map((name) => {
        const View = VIEWS[name][1];
        return <div key={name} hidden={name !== shown}><View {...others} networks={asked} query={query} nameOf={nameOf} /></div>;
      })}
    </>
  );
}
