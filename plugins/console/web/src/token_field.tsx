// The choice of a token: a search, and what marks its results.
import { useEffect, useId, useState } from "preact/hooks";
import { erc20Abi, isAddress, type Hex } from "viem";
import { ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import type { Answer, Quoteway } from "../../../../clients/typescript/src/index.js";
import type { NetworkRow } from "./page.js";
import { isUnusual, plain, short } from "./text.js";
import { nodeOf } from "./wallets.js";

type Row = Answer<"listTokens">["data"][number];

/** A token on one network. `warning` is null where nothing speaks against it. */
export interface Token {
  address: string;
  symbol: string;
  name: string;
  decimals: number;
  warning: string | null;
}

/** What warns of the names of a token. Null where nothing does. */
export const warningOfName = (symbol: string, name: string): string | null => (isUnusual(symbol) || isUnusual(name) ? "unusual letters" : null);

function warningOf(row: Row): string | null {
  if (row.lookAlikeOf !== null) return "looks like another token";
  return warningOfName(row.symbol, row.name) ?? (row.verified ? null : "not compared with the chain");
}

const tokensOf = (rows: Row[], chainId: number): Token[] =>
  rows.flatMap((row) =>
    row.contracts
      .filter((contract) => contract.chainId === chainId)
      .map(({ address, decimals }) => ({ address, decimals, symbol: plain(row.symbol, 16), name: plain(row.name), warning: warningOf(row) })),
  );

export const nativeOf = (network: NetworkRow): Token => ({ ...network.nativeCurrency, symbol: plain(network.nativeCurrency.symbol, 16), name: plain(network.nativeCurrency.name), address: ZERO_ADDRESS, warning: null });

/** A token that no list has, as its contract describes itself. None where there is no token at the address. */
async function unlisted(chainId: number, address: string): Promise<Token[]> {
  const read = (functionName: "symbol" | "name" | "decimals") => nodeOf(chainId).readContract({ address: address as Hex, abi: erc20Abi, functionName });
  // Some old tokens have no text that can be read; without decimals nothing can be counted.
  const [decimals, symbol, name] = await Promise.all([read("decimals"), read("symbol").catch(() => ""), read("name").catch(() => "")]).catch(() => [null]);
  if (typeof decimals !== "number") return [];
  return [{ address, decimals, symbol: plain(String(symbol), 16), name: plain(String(name)), warning: "in no list" }];
}

interface Given {
  label: string;
  client: Quoteway;
  network: NetworkRow;
  value: Token | null;
  onChoose: (token: Token) => void;
}

export function TokenField({ label, client, network, value, onChoose }: Given) {
  const id = useId();
  const [query, setQuery] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [found, setFound] = useState<Token[] | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (!isOpen) return;
    const ending = new AbortController();
    // A person types faster than each letter is worth asking for.
    const timer = setTimeout(async () => {
      try {
        const text = query.trim();
        const page = await client.call("listTokens", { query: { network: network.id, limit: 20, ...(text ? { query: text } : {}) } }, { signal: ending.signal });
        const native = nativeOf(network);
        const isAsked = `${native.symbol} ${native.name}`.toLowerCase().includes(text.toLowerCase());
        const listed = tokensOf(page.data, network.chainId).filter(({ address }) => address !== ZERO_ADDRESS);
        const others = listed.length === 0 && isAddress(text) ? await unlisted(network.chainId, text) : [];
        if (ending.signal.aborted) return;
        setProblem("");
        setFound(isAsked ? [native, ...listed] : [...listed, ...others]);
      } catch (error) {
        if (!ending.signal.aborted) setProblem(plain((error as Error).message, 200));
      }
    }, 150);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [query, isOpen, network.id]);
  const choose = (token: Token) => {
    onChoose(token);
    setOpen(false);
    setQuery("");
    document.getElementById(id)?.focus();
  };
  return (
    <div class="token">
      <span id={`${id}-label`}>{label}</span>
      <button type="button" id={id} aria-labelledby={`${id}-label ${id}`} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {value ? <TokenName token={value} /> : "Choose a token"}
      </button>
      {isOpen && (
        <div class="search" onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
          <label>
            Search by symbol, name or address
            <input type="search" value={query} autoFocus onInput={(event) => setQuery(event.currentTarget.value)} />
          </label>
          {problem && <p role="alert">{problem}</p>}
          {!problem && found === null && <p role="status">Searching…</p>}
          {found?.length === 0 && <p role="status">No token is found. Paste its whole address to use one that is in no list.</p>}
          <ul>
            {found?.map((token) => (
              <li key={token.address}>
                <button type="button" data-token={token.address} onClick={() => choose(token)}>
                  <TokenName token={token} /> <small>{`${token.name} ${short(token.address)}`}</small>
                </button>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** A token's symbol with a letter in place of a logo, and with what warns of it. */
export function TokenName({ token }: { token: Pick<Token, "symbol" | "address" | "warning"> }) {
  return (
    <>
      <span class="letter" aria-hidden="true">{[...token.symbol][0] ?? "?"}</span>
      <bdi>{token.symbol || short(token.address)}</bdi>
      {token.warning && <span class="warning">{token.warning}</span>}
    </>
  );
}
