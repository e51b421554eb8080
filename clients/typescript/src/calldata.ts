// What the bytes of a transaction give away by themselves: allowances and plain transfers. Calls of routers and bridges are the gateway's to check.
import type { Quote } from "./client.js";
import { mostOf, same } from "./comparing.js";
import { ActionMismatch } from "./errors.js";

/** The most that may be taken of each token, by its address in lower case. */
export type Allowed = ReadonlyMap<string, bigint>;

/** The most that a quote takes of each token. */
export function allowedBy(quote: Quote): Allowed {
  const found = new Map<string, bigint>();
  const add = (legs: Quote["inputs"]) => {
    for (const leg of legs) {
      const token = leg.token.address.toLowerCase();
      found.set(token, (found.get(token) ?? 0n) + mostOf(leg));
    }
  };
  add(quote.inputs);
  // A token between two parts is none of the inputs.
  const parts = "parts" in quote ? (quote.parts ?? []) : [];
  add(parts.flatMap((part) => part.inputs.filter((leg) => !found.has(leg.token.address.toLowerCase()))));
  return found;
}

export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

const APPROVE = "0x095ea7b3"; // approve(address spender, uint256 amount)
const PERMIT2_APPROVE = "0x87517c45"; // approve(address token, address spender, uint160 amount, uint48 expiration)
const PERMIT = "0xd505accf"; // permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
const TRANSFER = "0xa9059cbb"; // transfer(address to, uint256 amount)
/** Functions that no action has: what they give away has no limit, or is not of the sender's request. */
const REFUSED = new Map([
  ["0x39509351", "increaseAllowance"],
  ["0x23b872dd", "transferFrom"],
  ["0x42842e0e", "safeTransferFrom"],
  ["0xb88d4fde", "safeTransferFrom"],
  ["0xa22cb465", "setApprovalForAll"],
]);

/** Throws ActionMismatch where the calldata gives away more of a token than is allowed. */
export function checkCalldata(member: string, from: string, { to, data }: { to: string; data: string }, allowed: Allowed): void {
  const selector = data.slice(0, 10);
  const refused = REFUSED.get(selector);
  if (refused) throw new ActionMismatch(`${member}.data`, "no call of " + refused, refused);
  if (selector === APPROVE || selector === TRANSFER) checkAmount(member, to, word(data, 1), allowed);
  if (selector === PERMIT2_APPROVE) {
    same(ActionMismatch, `${member}.to`, PERMIT2, to);
    checkAmount(member, address(word(data, 0)), word(data, 2), allowed);
  }
  if (selector === PERMIT) {
    same(ActionMismatch, `${member}: the owner of the permit`, from, address(word(data, 0)));
    checkAmount(member, to, word(data, 2), allowed);
  }
}

/** Throws ActionMismatch where an allowance is of a token that is not paid, or for more than is paid. Zero takes an allowance back. */
export function checkAmount(member: string, token: string, amount: bigint, allowed: Allowed): void {
  const most = allowed.get(token.toLowerCase());
  if (amount === 0n || (most !== undefined && amount <= most)) return;
  throw new ActionMismatch(`${member}: the allowance of ${token}`, most === undefined ? "none" : `at most ${most}`, String(amount));
}

function word(data: string, index: number): bigint {
  const start = 10 + 64 * index;
  const digits = data.slice(start, start + 64);
  // Contracts read missing bytes as zeros, or refuse them: neither is what a gateway builds.
  if (digits.length !== 64) throw new ActionMismatch("data", "whole arguments", data.slice(0, 80));
  return BigInt(`0x${digits}`);
}

const address = (value: bigint): string => `0x${(value & ((1n << 160n) - 1n)).toString(16).padStart(40, "0")}`;
