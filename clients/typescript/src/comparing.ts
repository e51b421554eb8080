// What the checks compare, and how they say what differs.
import type { components } from "./api.js";

export type Leg = components["schemas"]["Leg"];
/** Makes the error of a member that is not as asked. */
export type Differs = new (member: string, expected: string, actual: string) => Error;

export const ZERO_ADDRESS = `0x${"0".repeat(40)}`;
export const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const NATIVE_NAMES = new Set(["native", ZERO_ADDRESS, `0x${"e".repeat(40)}`]);

/** Throws where two members differ; addresses are compared in any case. */
export function same(Mismatch: Differs, member: string, expected: unknown, actual: unknown): void {
  if (plain(expected) !== plain(actual)) throw new Mismatch(member, String(expected), String(actual));
}

const plain = (value: unknown): string => (typeof value === "string" && ADDRESS.test(value) ? value.toLowerCase() : String(value));

/** Throws where an account of the request is an address and the answer has another one. ENS names are left to the gateway. */
export function sameAccount(Mismatch: Differs, member: string, asked: string, actual: string | null): void {
  if (ADDRESS.test(asked)) same(Mismatch, member, asked, actual);
}

/** Throws where a token of the request is an address or the coin and the answer has another one. Symbols and ids are left to the gateway. */
export function sameToken(Mismatch: Differs, member: string, asked: string, actual: string | null): void {
  if (NATIVE_NAMES.has(asked.toLowerCase())) same(Mismatch, member, ZERO_ADDRESS, actual);
  else if (ADDRESS.test(asked)) same(Mismatch, member, asked, actual);
}

/** Throws where a network of the request, by chain id or name, is not the one of the answer. */
export function sameNetwork(Mismatch: Differs, member: string, asked: string, chainId: number, network: string): void {
  const numbered = /^(?:eip155:)?(\d+)$/.exec(asked);
  if (numbered) same(Mismatch, member, numbered[1], chainId);
  else same(Mismatch, member, asked, network);
}

/** Sums by network, token and account. */
export function totals(legs: readonly Leg[], amountOf: (leg: Leg) => bigint): Map<string, bigint> {
  const found = new Map<string, bigint>();
  for (const leg of legs) {
    const key = keyOf(leg);
    found.set(key, (found.get(key) ?? 0n) + amountOf(leg));
  }
  return found;
}

export const keyOf = (leg: Leg): string => `${leg.token.address} of chain ${leg.token.chainId} for ${leg.account}`.toLowerCase();

/** The most that an input may take. */
export const mostOf = (leg: Leg): bigint => leg.amountMax ?? leg.amount;
