// Checks that a quote is what was asked, and an action what was quoted, before anything is signed.
import type { components } from "./api.js";
import { allowedBy, checkCalldata } from "./calldata.js";
import type { PoolQuote, Quote } from "./client.js";
import { keyOf, mostOf, same, sameAccount, sameNetwork, sameToken, totals, ZERO_ADDRESS } from "./comparing.js";
import { ActionMismatch, QuoteMismatch } from "./errors.js";
import { checkLiquidity } from "./liquidity.js";

type Schemas = components["schemas"];
/** The members of an action that are compared. */
export type AnyAction = Schemas["Action"];

/** Throws QuoteMismatch where the quote is not for what was asked. */
export function checkQuote(quote: Quote): void {
  const { asked } = quote;
  const { address } = asked.body;
  sameAccount(QuoteMismatch, "request.address", address, quote.request.address);
  for (const [index, leg] of quote.inputs.entries()) {
    same(QuoteMismatch, `inputs[${index}].account`, quote.request.address, leg.account);
    same(QuoteMismatch, `inputs[${index}].token.chainId`, quote.chainId, leg.token.chainId);
  }
  if (asked.noun === "swaps" || asked.noun === "bridges") checkTransfer(quote as Schemas["SwapQuote"], asked.body);
  else checkPlace(quote as Schemas["PoolQuote"] | Schemas["VaultQuote"], asked.id, asked.body);
}

function checkTransfer(quote: Schemas["SwapQuote"], asked: Schemas["SwapQuoteBody"]): void {
  const { request } = quote;
  const fromChain = asked.fromChain ?? asked.network;
  const toChain = asked.toChain ?? asked.network ?? asked.fromChain;
  const [spent, got] = [quote.inputs[0], quote.outputs[0]];
  if (!spent || !got) throw new QuoteMismatch("inputs and outputs", "one each", "none");
  if (fromChain) sameNetwork(QuoteMismatch, "fromChain", fromChain, quote.chainId, request.fromChain);
  if (toChain) sameNetwork(QuoteMismatch, "toChain", toChain, got.token.chainId, got.token.network);
  sameToken(QuoteMismatch, "request.fromToken", asked.fromToken, request.fromToken);
  sameToken(QuoteMismatch, "request.toToken", asked.toToken, request.toToken);
  sameAccount(QuoteMismatch, "request.toAddress", asked.toAddress ?? asked.address, request.toAddress);
  if (request.refundAddress !== null) sameAccount(QuoteMismatch, "request.refundAddress", asked.refundAddress ?? asked.address, request.refundAddress);
  same(QuoteMismatch, "request.amount", asked.amount, request.amount);
  same(QuoteMismatch, "request.side", asked.side ?? "exactIn", request.side);
  same(QuoteMismatch, "request.feeBps", asked.feeBps ?? 0, request.feeBps ?? 0);
  if (asked.feeRecipient) sameAccount(QuoteMismatch, "request.feeRecipient", asked.feeRecipient, request.feeRecipient);
  for (const [index, leg] of quote.inputs.entries()) same(QuoteMismatch, `inputs[${index}].token.address`, request.fromToken, leg.token.address);
  // Further outputs are what a joined quote leaves over, which stays with the sender.
  for (const [index, leg] of quote.outputs.entries()) {
    if (index === 0 || keyOf(leg) === keyOf(got)) {
      same(QuoteMismatch, `outputs[${index}].token.address`, request.toToken, leg.token.address);
      same(QuoteMismatch, `outputs[${index}].account`, request.toAddress, leg.account);
    } else same(QuoteMismatch, `outputs[${index}].account`, request.address, leg.account);
  }
  if ("toAmount" in quote) checkShown(quote, spent, got);
  if ("refund" in quote) checkRefund(quote as unknown as Schemas["BridgeQuote"]);
  checkTerms(quote, asked);
}

/** What is shown beside the legs says the same as they do: the action is compared with the legs alone. */
function checkShown(quote: Schemas["SwapQuote"], spent: Schemas["Leg"], got: Schemas["Leg"]): void {
  for (const [member, leg, shown] of [["fromToken", spent, quote.fromToken], ["toToken", got, quote.toToken]] as const) {
    for (const part of ["address", "chainId", "decimals"] as const) same(QuoteMismatch, `${member}.${part}`, leg.token[part], shown[part]);
  }
  same(QuoteMismatch, "fromAmount", spent.amount, quote.fromAmount);
  same(QuoteMismatch, "fromAmountMax", mostOf(spent), quote.fromAmountMax);
  same(QuoteMismatch, "toAmount", got.amount, quote.toAmount);
  same(QuoteMismatch, "toAmountMin", got.amountMin, quote.toAmountMin);
}

/** A transfer that is not filled is refunded where it came from, to the account of the request. */
function checkRefund({ refund, request, chainId }: Schemas["BridgeQuote"]): void {
  if (!refund) return;
  same(QuoteMismatch, "refund.chainId", chainId, refund.chainId);
  same(QuoteMismatch, "refund.address", request.refundAddress ?? request.address, refund.address);
}

/** The bounds follow from the slippage that was asked for. */
function checkTerms(quote: Schemas["SwapQuote"], asked: Schemas["SwapQuoteBody"]): void {
  const most = asked.slippageBps === "auto" ? 300 : (asked.slippageBps ?? 50);
  if (quote.slippageBps > most) throw new QuoteMismatch("slippageBps", `at most ${most}`, String(quote.slippageBps));
  const [taken, paid] = [sumOf(quote.inputs, mostOf), sumOf(quote.outputs.filter((leg) => keyOf(leg) === keyOf(quote.outputs[0]!)), (leg) => leg.amount)];
  const minimum = minimumOf(quote.outputs, quote.outputs[0]!);
  if (asked.side === "exactOut") {
    const amount = sumOf(quote.inputs, (leg) => leg.amount);
    const ceiling = (amount * BigInt(10_000 + most)) / 10_000n + 1n;
    if (taken > ceiling) throw new QuoteMismatch("inputs[0].amountMax", `at most ${ceiling}`, String(taken));
    if (minimum === null || minimum < asked.amount) throw new QuoteMismatch("outputs[0].amountMin", `at least ${asked.amount}`, String(minimum));
    return;
  }
  same(QuoteMismatch, "inputs[0].amount", asked.amount, taken);
  // Each part of a divided quote rounds its own minimum down.
  const floor = (paid * BigInt(10_000 - most)) / 10_000n - BigInt(quote.parts?.length ?? 0);
  if (minimum === null || minimum < floor) throw new QuoteMismatch("outputs[0].amountMin", `at least ${floor}`, String(minimum));
}

const sumOf = (legs: readonly Schemas["Leg"][], amountOf: (leg: Schemas["Leg"]) => bigint): bigint => legs.reduce((sum, leg) => sum + amountOf(leg), 0n);

function minimumOf(legs: readonly Schemas["Leg"][], like: Schemas["Leg"]): bigint | null {
  let sum = 0n;
  for (const leg of legs) {
    if (keyOf(leg) !== keyOf(like)) continue;
    if (leg.amountMin === null) return null;
    sum += leg.amountMin;
  }
  return sum;
}

function checkPlace(quote: Schemas["PoolQuote"] | Schemas["VaultQuote"], id: string | null, asked: Schemas["PoolBody"] | Schemas["VaultBody"]): void {
  const { request } = quote;
  const [member, named] = "poolId" in request ? ["request.poolId", request.poolId] : ["request.vaultId", request.vaultId];
  same(QuoteMismatch, member, String(id).toLowerCase(), named.toLowerCase());
  sameNetwork(QuoteMismatch, "chainId", String(id).split(":")[0]!, quote.chainId, quote.network);
  same(QuoteMismatch, "request.action", asked.action, request.action);
  sameAccount(QuoteMismatch, "request.recipient", asked.recipient ?? asked.address, request.recipient);
  if (asked.asset) sameToken(QuoteMismatch, "request.asset", asked.asset, request.asset);
  if (asked.amount !== undefined) same(QuoteMismatch, "request.amount", asked.amount, request.amount ?? "max");
  if ("poolId" in request) checkRange(request, asked as Schemas["PoolBody"]);
  else if ("strategy" in asked && asked.strategy) same(QuoteMismatch, "request.strategy", asked.strategy, request.strategy);
  const taken = sumOf(quote.inputs.filter((leg) => leg.token.address.toLowerCase() === request.asset?.toLowerCase()), mostOf);
  if (typeof asked.amount === "bigint" && taken > asked.amount) throw new QuoteMismatch("inputs of the asset", `at most ${asked.amount}`, String(taken));
  if (quote.slippageBps > (asked.slippageBps ?? 50)) throw new QuoteMismatch("slippageBps", `at most ${asked.slippageBps ?? 50}`, String(quote.slippageBps));
  const payees = new Set([request.address, request.recipient].map((each) => each.toLowerCase()));
  for (const [index, leg] of quote.outputs.entries()) {
    if (!payees.has(leg.account.toLowerCase())) throw new QuoteMismatch(`outputs[${index}].account`, request.recipient, leg.account);
  }
}

/** What the liquidity is of: a range, a position, and the coin or its wrapped form. */
function checkRange(request: Schemas["PoolEcho"], asked: Schemas["PoolBody"]): void {
  for (const member of ["tickLower", "tickUpper", "positionId"] as const) {
    if (asked[member] !== undefined) same(QuoteMismatch, `request.${member}`, asked[member], request[member]);
  }
  same(QuoteMismatch, "request.useNative", asked.useNative ?? false, request.useNative);
}

/** Throws ActionMismatch where the action is not what was quoted, or its transactions give away more than its inputs. */
export function checkAction(quote: Quote, action: AnyAction): void {
  same(ActionMismatch, "quoteId", quote.quoteId, action.quoteId);
  same(ActionMismatch, "kind", quote.kind, action.kind);
  same(ActionMismatch, "chainId", quote.chainId, action.chainId);
  same(ActionMismatch, "from", quote.request.address, action.from);
  checkInputs(quote, action);
  checkOutputs(quote, action);
  const allowed = accountsOf(quote);
  for (const { account } of action.recipients) {
    if (!allowed.has(account.toLowerCase())) throw new ActionMismatch("recipients", [...allowed].join(" or "), account);
  }
  if (action.transactions.length === 0) throw new ActionMismatch("transactions", "at least one", "none");
  same(ActionMismatch, "steps.length", action.transactions.length, action.steps.length);
  if ("tracking" in action) checkTracking(quote, action as Schemas["BridgeAction"]);
  checkTransactions(quote, action);
}

/** The transfer that is followed is the one that was quoted. */
function checkTracking(quote: Quote, { tracking }: Schemas["BridgeAction"]): void {
  if (!tracking) return;
  same(ActionMismatch, "tracking.originChainId", quote.chainId, tracking.originChainId);
  same(ActionMismatch, "tracking.destinationChainId", quote.outputs[0]?.token.chainId, tracking.destinationChainId);
  const refunded = "refundAddress" in quote.request ? (quote.request.refundAddress ?? quote.request.address) : quote.request.address;
  if (tracking.refundAddress) same(ActionMismatch, "tracking.refundAddress", refunded, tracking.refundAddress);
}

function checkInputs(quote: Quote, action: AnyAction): void {
  const quoted = totals(quote.inputs, mostOf);
  for (const [what, amount] of totals(action.inputs, mostOf)) {
    const most = quoted.get(what);
    if (most === undefined) throw new ActionMismatch("inputs", [...quoted.keys()].join(" and ") || "nothing", what);
    if (amount > most) throw new ActionMismatch(`inputs (${what})`, `at most ${most}`, String(amount));
    // The amount of an exact input is the request itself.
    if (isExactInput(quote)) same(ActionMismatch, `inputs (${what})`, most, amount);
  }
  if (action.inputs.length === 0 && quote.inputs.length) throw new ActionMismatch("inputs", [...quoted.keys()].join(" and "), "nothing");
}

const isExactInput = ({ asked }: Quote): boolean => asked.noun === "bridges" || (asked.noun === "swaps" && asked.body.side !== "exactOut");

function checkOutputs(quote: Quote, action: AnyAction): void {
  const known = new Set(quote.outputs.map(keyOf));
  for (const leg of action.outputs) if (!known.has(keyOf(leg))) throw new ActionMismatch("outputs", [...known].join(" and ") || "nothing", keyOf(leg));
  for (const leg of quote.outputs) {
    const [least, now] = [minimumOf(quote.outputs, leg), action.outputs.some((each) => keyOf(each) === keyOf(leg)) ? minimumOf(action.outputs, leg) : null];
    if (least !== null && (now === null || now < least)) throw new ActionMismatch(`outputs (${keyOf(leg)}).amountMin`, `at least ${least}`, String(now));
  }
}

/** Who may get something: those that the request names. */
function accountsOf(quote: Quote): Set<string> {
  const { request } = quote;
  const named = "toAddress" in request ? [request.toAddress, request.refundAddress, request.feeRecipient] : [request.recipient];
  return new Set([request.address, ...named].flatMap((each) => (each ? [each.toLowerCase()] : [])));
}

function checkTransactions(quote: Quote, action: AnyAction): void {
  const allowed = allowedBy(quote);
  let value = 0n;
  for (const [index, transaction] of action.transactions.entries()) {
    const member = `transactions[${index}]`;
    same(ActionMismatch, `${member}.chainId`, quote.chainId, transaction.chainId);
    value += BigInt(transaction.value);
    checkCalldata(member, action.from, transaction, allowed);
    if (quote.asked.noun === "pools") checkLiquidity(member, quote as PoolQuote, transaction.data, allowed);
  }
  const most = allowed.get(ZERO_ADDRESS) ?? 0n;
  if (value > most) throw new ActionMismatch("the value of all transactions", `at most ${most} wei`, `${value} wei`);
}
