// Ticks of pools with ranges. Prices are for choosing and reading; what is asked for and signed are ticks.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { plain, short } from "./text.js";

export interface Ticks {
  lower: number;
  upper: number;
}

/** TickMath.MAX_TICK of Uniswap v3; v4 has the same. */
const MAX_TICK = 887_272;
const LOG = Math.log(1.0001);

export function fullRange(spacing: number): Ticks {
  const upper = Math.floor(MAX_TICK / spacing) * spacing;
  return { lower: -upper, upper };
}

/** The tick of a position that is nearest to a tick. */
export function usable(tick: number, spacing: number): number {
  const { lower, upper } = fullRange(spacing);
  return Math.min(Math.max(Math.round(tick / spacing) * spacing, lower), upper);
}

/** Prices of the one token in the other, in the direction that is read. */
export interface Scale {
  /** Such as "USDC per WETH". */
  unit: string;
  /** Whether prices fall while ticks rise. */
  isInverted: boolean;
  priceOf: (tick: number) => number;
  tickOf: (price: number) => number;
}

export const nameOf = ({ symbol, address }: Schemas["TokenRef"]): string => plain(symbol, 16) || short(address);

/** A tick counts steps of 0.01 % of the price of the first token in the second, in base units. */
export function scaleOf([first, second]: readonly [Schemas["TokenRef"], Schemas["TokenRef"]], isInverted: boolean): Scale {
  const units = (first.decimals - second.decimals) * Math.LN10;
  const sign = isInverted ? -1 : 1;
  return {
    unit: isInverted ? `${nameOf(first)} per ${nameOf(second)}` : `${nameOf(second)} per ${nameOf(first)}`,
    isInverted,
    priceOf: (tick) => Math.exp(sign * (tick * LOG + units)),
    tickOf: (price) => (sign * Math.log(price) - units) / LOG,
  };
}

export const priceText = (price: number): string =>
  price >= 1e15 || price < 1e-9 ? price.toExponential(3) : price.toLocaleString("en-US", { maximumSignificantDigits: 6 });

/** A range in words, the lower price first. The ends of the full range depend on the pool's spacing, which is at most 32,767. */
export function rangeText(ticks: Ticks, scale: Scale): string {
  if (ticks.lower < 32_767 - MAX_TICK && ticks.upper > MAX_TICK - 32_767) return "all prices";
  const prices = [scale.priceOf(ticks.lower), scale.priceOf(ticks.upper)].sort((one, other) => one - other);
  return `${priceText(prices[0]!)} to ${priceText(prices[1]!)} ${scale.unit}`;
}

/** Neighbouring ticks with the liquidity that lies between them. */
export interface Step {
  from: number;
  to: number;
  liquidity: bigint;
}

/** The steps of liquidity from `from` to `to`, which must be known. */
export function stepsOf({ tick, liquidity, ticks }: Pick<Schemas["PoolLiquidity"], "tick" | "liquidity" | "ticks">, from: number, to: number): Step[] {
  const marks = ticks.map((each) => ({ at: each.tick, net: BigInt(each.liquidityNet) }));
  // What lies at the lowest tick is what lies at the price, less what begins on the way up to it.
  let now = BigInt(liquidity);
  for (const { at, net } of marks) if (at > from && at <= tick) now -= net;
  for (const { at, net } of marks) if (at > tick && at <= from) now += net;
  const found: Step[] = [];
  let start = from;
  for (const { at, net } of marks) {
    if (at <= from) continue;
    if (at >= to) break;
    found.push({ from: start, to: at, liquidity: now });
    [start, now] = [at, now + net];
  }
  found.push({ from: start, to, liquidity: now });
  return found;
}
