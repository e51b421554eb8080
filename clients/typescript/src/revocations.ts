// Checks that an action ends the approvals that were asked for, and does nothing else.
import type { components } from "./api.js";
import { PERMIT2 } from "./calldata.js";
import { ADDRESS, same, sameAccount, sameNetwork } from "./comparing.js";
import { ActionMismatch } from "./errors.js";

type Schemas = components["schemas"];

const APPROVE = "095ea7b3"; // approve(address spender, uint256 amount)
const LOCKDOWN = "cc53287f"; // lockdown((address token, address spender)[] approvals)
const ZERO = "0".repeat(64);

/** Throws a TypeError for a request that cannot be compared: a symbol says nothing of the contract that is called. */
export function checkRequest({ approvals }: Schemas["RevokeBody"]): void {
  for (const { token } of approvals) {
    if (!ADDRESS.test(token)) throw new TypeError(`The token of an approval must be an address, not ${JSON.stringify(token.slice(0, 50))}.`);
  }
}

/** Throws ActionMismatch where a transaction is anything but the end of an approval of the request. */
export function checkRevocation(asked: Schemas["RevokeBody"], action: Schemas["Action"]): void {
  same(ActionMismatch, "kind", "revocation", action.kind);
  sameNetwork(ActionMismatch, "chainId", asked.network, action.chainId, action.network);
  sameAccount(ActionMismatch, "from", asked.address, action.from);
  for (const member of ["inputs", "outputs", "signatures", "permitOffers"] as const) same(ActionMismatch, `${member}.length`, 0, action[member].length);
  for (const { account } of action.recipients) same(ActionMismatch, "recipients", action.from, account);
  if (action.transactions.length === 0) throw new ActionMismatch("transactions", "at least one", "none");
  same(ActionMismatch, "steps.length", action.transactions.length, action.steps.length);
  const erc20 = keysOf(asked, "erc20");
  const permit2 = keysOf(asked, "permit2");
  for (const [index, { chainId, to, value, data }] of action.transactions.entries()) {
    const member = `transactions[${index}]`;
    same(ActionMismatch, `${member}.chainId`, action.chainId, chainId);
    same(ActionMismatch, `${member}.value`, 0n, BigInt(value));
    for (const [kept, key] of ended(member, to, data)) {
      const wanted = kept === "erc20" ? erc20 : permit2;
      if (!wanted.has(key)) throw new ActionMismatch(`${member}: the approval that it ends`, [...wanted].join(" or ") || "none", key);
    }
  }
}

const keyOf = (token: string, spender: string): string => `${token} for ${spender}`.toLowerCase();

const keysOf = ({ approvals }: Schemas["RevokeBody"], kept: "erc20" | "permit2"): ReadonlySet<string> =>
  new Set(approvals.filter(({ kind = "erc20" }) => kind === kept).map(({ token, spender }) => keyOf(token, spender)));

/** The approvals that a transaction sets to zero. Every byte of it is read: one that is left over could mean something to a contract. */
function ended(member: string, to: string, data: string): ["erc20" | "permit2", string][] {
  const refused = new ActionMismatch(`${member}.data`, "approve of zero, or lockdown of Permit2", data.slice(0, 140));
  const [, selector, digits = ""] = /^0x([0-9a-f]{8})((?:[0-9a-f]{64})*)$/.exec(data.toLowerCase()) ?? [];
  const words = digits.match(/.{64}/g) ?? [];
  const account = (word: string): string => {
    if (!word.startsWith("0".repeat(24))) throw refused;
    return `0x${word.slice(24)}`;
  };
  if (selector === APPROVE && words.length === 2 && words[1] === ZERO) return [["erc20", keyOf(to, account(words[0]!))]];
  if (selector !== LOCKDOWN || words.length < 4) throw refused;
  same(ActionMismatch, `${member}.to`, PERMIT2, to);
  const [offset, length, ...pairs] = words;
  if (BigInt(`0x${offset}`) !== 32n || BigInt(`0x${length}`) * 2n !== BigInt(pairs.length)) throw refused;
  return Array.from({ length: pairs.length / 2 }, (_, at) => ["permit2", keyOf(account(pairs[2 * at]!), account(pairs[2 * at + 1]!))]);
}
