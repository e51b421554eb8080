// Tokens of a quote by their address, and their amounts in whole tokens.
import type { Quote, Schemas } from "../../../../clients/typescript/src/index.js";
import { plain, short, units } from "./text.js";
import type { Token } from "./token_field.js";

/** Symbol and decimals of the tokens of a quote. Others are shown by their address, in base units. */
export type Known = (address: string) => { symbol: string; decimals: number } | null;

type Ref = Pick<Schemas["TokenRef"], "address" | "symbol" | "decimals">;
/** What names tokens: the legs of a quote, or `tokens` where nothing is paid. */
export type Facts = Pick<Quote, "inputs" | "outputs" | "chainId"> & { readonly tokens?: readonly (Ref & { readonly chainId: number })[] };

export function knownOf({ inputs, outputs, chainId, tokens = [] }: Facts, native: Token): Known {
  // Another network may have another token at the same address.
  const here = [...[...inputs, ...outputs].map(({ token }) => token), ...tokens].filter((token) => token.chainId === chainId);
  const refs: Ref[] = here;
  return (address) => {
    const found = [...refs, native].find((each) => each.address.toLowerCase() === address.toLowerCase());
    return found ? { symbol: plain(found.symbol, 16) || short(found.address), decimals: found.decimals } : null;
  };
}

/** An amount of a token in whole tokens, with its symbol. */
export const amountOf = (amount: bigint, { symbol, address, decimals }: Ref): string => `${units(amount, decimals)} ${plain(symbol, 16) || short(address)}`;

/** Throws where a list says other decimals than the quote: the amount as typed would mean another one. */
export function checkDecimals({ address, symbol, decimals }: { address: string; symbol: string | null; decimals: number }, { inputs, outputs }: Pick<Quote, "inputs" | "outputs">): void {
  const quoted = [...inputs, ...outputs].find(({ token }) => token.address.toLowerCase() === address.toLowerCase())?.token.decimals ?? decimals;
  if (decimals !== quoted) throw new Error(`The list of tokens says that ${plain(symbol, 16) || address} has ${decimals} decimals, the quote says ${quoted}. Do not trade it before you know which is right.`);
}
