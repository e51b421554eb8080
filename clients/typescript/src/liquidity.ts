// What the bytes of liquidity operations say at Uniswap's contracts: who gets what, of which position and range, and for how much. Calls of other contracts are the gateway's to check.
import type { Allowed } from "./calldata.js";
import type { PoolQuote } from "./client.js";
import { same } from "./comparing.js";
import { ActionMismatch } from "./errors.js";

const MULTICALL = "ac9650d8"; // multicall(bytes[] data)
const MODIFY = "dd46508f"; // modifyLiquidities(bytes unlockData, uint256 deadline)
const ZERO = "0".repeat(40);
/** v4: who called, and the position manager itself, which pays what it holds out later in the same call. */
const STAND_INS = new Set([1n, 2n]);
/** Calls and actions of one operation. */
const MOST_CALLS = 32n;

type Check = (call: Arguments, terms: Terms) => void;

/** What the quote says of the operation. */
interface Terms {
  quote: PoolQuote;
  allowed: Allowed;
}

/** The arguments of a call: 32-byte words, and bytes where an offset says. */
class Arguments {
  constructor(
    readonly member: string,
    readonly digits: string,
  ) {}

  word(index: number): bigint {
    return this.#at(64 * index);
  }

  tick(index: number): number {
    return Number(BigInt.asIntN(24, this.word(index)));
  }

  address(index: number): string {
    return `0x${(this.word(index) & ((1n << 160n) - 1n)).toString(16).padStart(40, "0")}`;
  }

  /** The bytes whose offset is the word at `index`. */
  bytes(index: number): string {
    return this.#bytesAt(this.#offset(64 * index, 0));
  }

  /** The members of a `bytes[]` whose offset is the word at `index`. */
  list(index: number): string[] {
    const start = this.#offset(64 * index, 0);
    const length = this.#at(start);
    if (length > MOST_CALLS) throw new ActionMismatch(this.member, `at most ${MOST_CALLS} calls`, String(length));
    return Array.from({ length: Number(length) }, (_, each) => this.#bytesAt(this.#offset(start + 64 * (each + 1), start + 64)));
  }

  #offset(at: number, from: number): number {
    const offset = this.#at(at);
    if (offset > BigInt(this.digits.length)) throw this.#short();
    return from + 2 * Number(offset);
  }

  #bytesAt(start: number): string {
    const length = this.#at(start);
    if (length > BigInt(this.digits.length)) throw this.#short();
    const found = this.digits.slice(start + 64, start + 64 + 2 * Number(length));
    if (found.length !== 2 * Number(length)) throw this.#short();
    return found;
  }

  #at(start: number): bigint {
    const found = this.digits.slice(start, start + 64);
    if (!/^[0-9a-f]{64}$/i.test(found)) throw this.#short();
    return BigInt(`0x${found}`);
  }

  #short(): ActionMismatch {
    return new ActionMismatch(this.member, "whole arguments", this.digits.slice(0, 80));
  }
}

/** Whoever the request names, and nobody else. */
function paid(index: number): Check {
  return (call, { quote: { request } }) => {
    const account = call.address(index);
    if (![request.address, request.recipient].some((each) => each.toLowerCase() === account)) throw new ActionMismatch(`${call.member}: the recipient`, request.recipient, account);
  };
}

/** The owner of a new position. */
const owner = (index: number): Check => (call, { quote }) => same(ActionMismatch, `${call.member}: the owner of the position`, quote.request.recipient, call.address(index));

/** As `paid`, or a stand-in that v4 has for the sender or for itself. */
const paidV4 = (index: number): Check => (call, terms) => {
  if (!STAND_INS.has(call.word(index))) paid(index)(call, terms);
};

/** At most what the quote takes of the token. */
function pays(token: string, amount: bigint, { member }: Arguments, { allowed }: Terms): void {
  const most = allowed.get(token) ?? 0n;
  if (amount > most) throw new ActionMismatch(`${member}: the amount of ${token}`, `at most ${most}`, String(amount));
}

/** The amounts in two words, of the tokens in two others. */
const takes = (tokens: number, amounts: number): Check => (call, terms) => {
  for (const side of [0, 1]) {
    const coin = terms.quote.request.useNative ? (terms.allowed.get(`0x${ZERO}`) ?? 0n) : 0n;
    const token = call.address(tokens + side);
    // The wrapped coin is paid with the value of the transaction, which has a limit of its own.
    if (terms.allowed.has(token) || coin === 0n) pays(token, call.word(amounts + side), call, terms);
    else if (call.word(amounts + side) > coin) throw new ActionMismatch(`${call.member}: the amount of ${token}`, `at most ${coin}`, String(call.word(amounts + side)));
  }
};

const ranged = (index: number): Check => (call, { quote: { range } }) => {
  if (!range) throw new ActionMismatch(call.member, "no position with a range", "one");
  same(ActionMismatch, `${call.member}: tickLower`, range.tickLower, call.tick(index));
  same(ActionMismatch, `${call.member}: tickUpper`, range.tickUpper, call.tick(index + 1));
};

const ofPosition: Check = (call, { quote }) => {
  if (quote.asked.body.positionId !== undefined) same(ActionMismatch, `${call.member}: the position`, quote.asked.body.positionId, call.word(0));
};

const all = (...checks: Check[]): Check => (call, terms) => checks.forEach((check) => check(call, terms));

/** Shares of a v2 pool that are burned, by their own token. */
const burns = (index: number): Check => (call, terms) => {
  const [shares] = terms.quote.inputs;
  pays(shares?.token.address.toLowerCase() ?? "", call.word(index), call, terms);
};

const ROUTER: Readonly<Record<string, Check>> = {
  // addLiquidity(tokenA, tokenB, amountADesired, amountBDesired, amountAMin, amountBMin, to, deadline)
  e8e33700: all(takes(0, 2), paid(6)),
  // addLiquidityETH(token, amountTokenDesired, amountTokenMin, amountETHMin, to, deadline)
  f305d719: all((call, terms) => pays(call.address(0), call.word(1), call, terms), paid(4)),
  // removeLiquidity(tokenA, tokenB, liquidity, amountAMin, amountBMin, to, deadline)
  baa2abde: all(burns(2), paid(5)),
  // removeLiquidityETH(token, liquidity, amountTokenMin, amountETHMin, to, deadline)
  "02751cec": all(burns(1), paid(4)),
};

const NOTHING: Check = () => undefined;

/** Of NonfungiblePositionManager. Whatever else its multicall has, such as a transfer of the position, no operation needs. */
const MANAGER: Readonly<Record<string, Check>> = {
  // mint((token0, token1, fee, tickLower, tickUpper, amount0Desired, amount1Desired, amount0Min, amount1Min, recipient, deadline))
  "88316456": all(takes(0, 5), ranged(3), owner(9)),
  // increaseLiquidity((tokenId, amount0Desired, amount1Desired, amount0Min, amount1Min, deadline))
  "219f5d17": ofPosition,
  // decreaseLiquidity((tokenId, liquidity, amount0Min, amount1Min, deadline))
  "0c49ccbe": ofPosition,
  // collect((tokenId, recipient, amount0Max, amount1Max)); the zero address is the manager, which pays out by the next two
  fc6f7865: all(ofPosition, (call, terms) => call.word(1) !== 0n && paid(1)(call, terms)),
  "49404b7c": paid(1), // unwrapWETH9(amountMinimum, recipient)
  df2ab5bb: paid(2), // sweepToken(token, amountMinimum, recipient)
  "12210e8a": NOTHING, // refundETH()
  "42966c68": ofPosition, // burn(tokenId)
};

/** Of v4's PositionManager, by the number of the action. */
const ACTIONS: Readonly<Record<string, Check>> = {
  "01": ofPosition, // DECREASE_LIQUIDITY(tokenId, liquidity, amount0Min, amount1Min, hookData)
  "03": ofPosition, // BURN_POSITION(tokenId, amount0Min, amount1Min, hookData)
  "04": ofPosition, // INCREASE_LIQUIDITY_FROM_DELTAS(tokenId, amount0Max, amount1Max, hookData)
  // MINT_POSITION_FROM_DELTAS((currency0, currency1, fee, tickSpacing, hooks), tickLower, tickUpper, amount0Max, amount1Max, owner, hookData)
  "05": all(takes(0, 7), ranged(5), owner(9)),
  // SETTLE(currency, amount, payerIsUser)
  "0b": (call, terms) => {
    if (call.word(2) === 0n) return;
    if (call.word(1) === 0n) throw new ActionMismatch(`${call.member}: the amount that is settled`, "a number", "all that is owed");
    pays(call.address(0), call.word(1), call, terms);
  },
  "0e": paidV4(1), // TAKE(currency, recipient, amount)
  "11": paidV4(2), // TAKE_PAIR(currency0, currency1, recipient)
  "12": NOTHING, // CLOSE_CURRENCY(currency)
  "14": paidV4(1), // SWEEP(currency, to)
};

/** Throws ActionMismatch where a call of a liquidity operation pays others, or is of another position, range or amount than the quote. */
export function checkLiquidity(member: string, quote: PoolQuote, data: string, allowed: Allowed): void {
  const terms = { quote, allowed };
  const [selector, digits] = [data.slice(2, 10).toLowerCase(), data.slice(10)];
  const call = new Arguments(member, digits);
  if (Object.hasOwn(ROUTER, selector)) ROUTER[selector]!(call, terms);
  else if (Object.hasOwn(MANAGER, selector)) managed(member, [data.slice(2)], terms);
  else if (selector === MULTICALL) managed(member, call.list(0), terms);
  else if (selector === MODIFY) modified(new Arguments(member, call.bytes(0)), terms);
}

function managed(member: string, calls: readonly string[], terms: Terms): void {
  let isHeld = false;
  for (const [index, each] of calls.entries()) {
    const selector = each.slice(0, 8).toLowerCase();
    const call = new Arguments(`${member}.calls[${index}]`, each.slice(8));
    if (!Object.hasOwn(MANAGER, selector)) throw new ActionMismatch(call.member, "a call that liquidity needs", `0x${selector}`);
    MANAGER[selector]!(call, terms);
    if (selector === "fc6f7865") isHeld = call.word(1) === 0n;
    if (selector === "49404b7c" || selector === "df2ab5bb") isHeld = false;
  }
  // Anybody may take what is left with the manager.
  if (isHeld) throw new ActionMismatch(member, `a payment to ${terms.quote.request.recipient}`, "none");
}

function modified(unlock: Arguments, terms: Terms): void {
  const codes = unlock.bytes(0);
  const inputs = unlock.list(1);
  if (codes.length !== 2 * inputs.length) throw new ActionMismatch(unlock.member, `${inputs.length} actions`, String(codes.length / 2));
  for (const [index, each] of inputs.entries()) {
    const code = codes.slice(2 * index, 2 * index + 2).toLowerCase();
    const call = new Arguments(`${unlock.member}.actions[${index}]`, each);
    if (!Object.hasOwn(ACTIONS, code)) throw new ActionMismatch(call.member, "an action that liquidity needs", `0x${code}`);
    ACTIONS[code]!(call, terms);
  }
}
