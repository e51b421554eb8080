// The route of a swap as a flow: tokens from left to right, the pools between them, each with its share. It shows where the amount splits and joins.
import { useEffect, useState } from "preact/hooks";
import { erc20Abi, type Hex } from "viem";
import { ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import type { Known } from "./known.js";
import { percent, plain, short } from "./text.js";
import { nodeOf } from "./wallets.js";

type Leg = Pick<Schemas["RouteLeg"], "protocol" | "pool" | "tokenIn" | "tokenOut" | "shareBps" | "feeBps">;

const [TOKEN, POOL, GAP, ROW, TALL] = [72, 168, 34, 66, 52];
const PITCH = TOKEN + POOL + 2 * GAP;

interface Given {
  chainId: number;
  route: Schemas["Route"];
  known: Known;
  /** Wrapped form of the coin, which counts as the coin. Null where it is not known. */
  wrapped: string | null;
}

export function RoutePicture({ chainId, route, known, wrapped }: Given) {
  const keyOf = (token: string) => (token.toLowerCase() === wrapped?.toLowerCase() ? ZERO_ADDRESS : token.toLowerCase());
  const legs = route.legs?.length ? route.legs : legsOf(route, keyOf);
  const between = [...new Set(legs.flatMap(({ tokenIn, tokenOut }) => [keyOf(tokenIn), keyOf(tokenOut)]))].filter((token) => known(token) === null);
  const read = useSymbols(chainId, between);
  const symbolOf = (token: string) => known(keyOf(token))?.symbol || read.get(keyOf(token)) || short(token);
  if (legs.length === 0) return null;
  const columns = columnsOf(legs, keyOf);
  const tokens = [...columns].map(([key, column]) => ({ key, column, name: symbolOf(key) }));
  // Tokens of a column, and pools after one, are below each other.
  const tokenRows = rowsOf(tokens, ({ column }) => column);
  const poolRows = rowsOf(legs, (leg) => columns.get(keyOf(leg.tokenIn))!);
  const rows = Math.max(...tokenRows.counts.values(), ...poolRows.counts.values());
  const height = rows * ROW;
  const width = Math.max(...columns.values()) * PITCH + TOKEN;
  const middle = (row: number, count: number) => (height / count) * (row + 0.5);
  const tokenY = new Map(tokens.map((token, index) => [token.key, middle(tokenRows.rows[index]!, tokenRows.counts.get(token.column)!)]));
  const told = legs.map((leg) => `${percent(leg.shareBps)} of ${symbolOf(leg.tokenIn)} through ${plain(leg.protocol)} ${short(leg.pool)} to ${symbolOf(leg.tokenOut)}`);
  return (
    <figure class="route" tabIndex={0} role="group" aria-label="Route">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Route: ${told.join("; ")}`}>
        {legs.map((leg, index) => {
          const column = columns.get(keyOf(leg.tokenIn))!;
          const x = column * PITCH + TOKEN + GAP;
          const y = middle(poolRows.rows[index]!, poolRows.counts.get(column)!);
          const end = columns.get(keyOf(leg.tokenOut))! * PITCH;
          return (
            <g key={index} data-pool={leg.pool}>
              <line x1={x - GAP} y1={tokenY.get(keyOf(leg.tokenIn))} x2={x} y2={y} />
              <line x1={x + POOL} y1={y} x2={end} y2={tokenY.get(keyOf(leg.tokenOut))} />
              <rect x={x} y={y - TALL / 2} width={POOL} height={TALL} rx={8} />
              <text x={x + 8} y={y - 5}>{plain(leg.protocol, 18)}</text>
              <text x={x + 8} y={y + 15}>{`${percent(leg.shareBps)}${leg.feeBps === null ? "" : `, fee ${percent(leg.feeBps)}`}`}</text>
            </g>
          );
        })}
        {tokens.map(({ key, column, name }) => (
          <g key={key} class="coin">
            <rect x={column * PITCH} y={tokenY.get(key)! - 16} width={TOKEN} height={32} rx={16} />
            <text x={column * PITCH + TOKEN / 2} y={tokenY.get(key)! + 5} text-anchor="middle">{plain(name, 8)}</text>
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** The pools of the paths, each once, where the provider does not state them. */
function legsOf({ paths }: Schemas["Route"], keyOf: (token: string) => string): Leg[] {
  const pools = new Map<string, Schemas["Hop"]>();
  const spent = new Map<string, bigint>();
  for (const hop of paths.flatMap(({ hops }) => hops)) {
    const key = `${hop.pool} ${keyOf(hop.tokenIn)} ${keyOf(hop.tokenOut)}`;
    const before = pools.get(key);
    pools.set(key, before ? { ...before, amountIn: before.amountIn + hop.amountIn } : hop);
    spent.set(keyOf(hop.tokenIn), (spent.get(keyOf(hop.tokenIn)) ?? 0n) + hop.amountIn);
  }
  return [...pools.values()].map((hop) => {
    const all = spent.get(keyOf(hop.tokenIn))!;
    return { ...hop, shareBps: all === 0n ? 0 : Number((hop.amountIn * 10_000n) / all) };
  });
}

/** How many pools are before each token on its longest way. The pools are in the order of execution. */
function columnsOf(legs: readonly Leg[], keyOf: (token: string) => string): Map<string, number> {
  const found = new Map<string, number>();
  for (const { tokenIn, tokenOut } of legs) {
    const before = found.get(keyOf(tokenIn)) ?? 0;
    found.set(keyOf(tokenIn), before);
    found.set(keyOf(tokenOut), Math.max(found.get(keyOf(tokenOut)) ?? 0, before + 1));
  }
  return found;
}

/** What the contracts of tokens between the first and the last call themselves, once it is read. */
function useSymbols(chainId: number, tokens: readonly string[]): ReadonlyMap<string, string> {
  const [found, setFound] = useState<ReadonlyMap<string, string>>(new Map());
  useEffect(() => {
    let isLeft = false;
    for (const token of tokens) {
      const reading = nodeOf(chainId).readContract({ address: token as Hex, abi: erc20Abi, functionName: "symbol" });
      reading.then((symbol) => isLeft || setFound((before) => new Map(before).set(token, plain(symbol, 8))), () => {});
    }
    return () => void (isLeft = true);
  }, [tokens.join()]);
  return found;
}

/** The row of each item in its column, and how many each column has. */
function rowsOf<Item>(items: readonly Item[], columnOf: (item: Item) => number): { rows: number[]; counts: Map<number, number> } {
  const counts = new Map<number, number>();
  const rows = items.map((item) => {
    const row = counts.get(columnOf(item)) ?? 0;
    counts.set(columnOf(item), row + 1);
    return row;
  });
  return { rows, counts };
}
