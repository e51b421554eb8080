// Checks that a vault is deployed, managed or rebalanced as it was asked for, and that nothing else is signed. Every byte of the calls is compared, as managed vaults
// (plugins/managedvault) have them: calls of other contracts are refused.
import type { components } from "./api.js";
import { ADDRESS, same, sameNetwork, ZERO_ADDRESS, type Differs } from "./comparing.js";
import { ActionMismatch, QuoteMismatch } from "./errors.js";

type Schemas = components["schemas"];
/** A quote of a new vault, with the request that it was checked against. */
export type Deployment = Schemas["DeployQuote"] & { readonly asked: Schemas["DeployBody"] };
/** What was asked for of a vault. */
export type Managing =
  | { readonly operation: "deploy"; readonly quote: Deployment }
  | { readonly operation: "manage"; readonly vaultId: string; readonly body: Schemas["ManageBody"] }
  | { readonly operation: "rebalance"; readonly vaultId: string; readonly body: Schemas["RebalanceBody"] };
type Checked = Schemas["ManageAction"] & Partial<Pick<Schemas["DeployAction"], (typeof TERMS)[number] | "params">>;
/** An action that deploys, manages or rebalances a vault, with what it was checked against. */
export type Management = Checked & { readonly managing: Managing };

const DEPLOY = "c4ceb789"; // deploy(address asset, address owner, address bot, address strategy, bytes32 salt)
const REBALANCE = "6e49db1c"; // rebalance(address from, address to, uint256 assets, uint256 minTotalAssets)
/** The functions of the actions, and the member of the request that is their argument. */
const CALLS: Readonly<Record<string, readonly [selector: string, argument: "amount" | "bot" | "strategy" | null]>> = {
  harvest: ["4641257d", null],
  pause: ["8456cb59", null],
  unpause: ["3f4ba83a", null],
  setBot: ["6b5caec4", "bot"],
  setCap: ["47786d37", "amount"],
  addStrategy: ["223e5479", "strategy"],
  removeStrategy: ["175188e8", "strategy"],
};
/** A vault has at most eight strategies: money comes from the other seven, and from the vault itself. */
const MOST_MOVES = 8;
const ALL = (1n << 256n) - 1n;
const TERMS = ["factory", "predictedAddress", "salt", "initCodeHash"] as const;

/** Throws a TypeError for a request that cannot be compared: a name says nothing of the account behind it. */
export function checkManaging(managing: { readonly operation: "deploy"; readonly body: Schemas["DeployBody"] } | Exclude<Managing, { operation: "deploy" }>): void {
  const { body } = managing;
  const named = "owner" in body ? { owner: body.owner, asset: body.asset } : { address: body.address };
  const bot = "bot" in body ? body.bot : undefined;
  for (const [member, text] of Object.entries({ ...named, ...(bot === undefined ? {} : { bot }) })) {
    if (!ADDRESS.test(text)) throw new TypeError(`"${member}" must be an address, not ${JSON.stringify(text.slice(0, 50))}.`);
  }
  if (managing.operation === "deploy") return;
  if (!/^\d+:0x[0-9a-fA-F]{40}$/.test(managing.vaultId)) throw new TypeError(`The id of a vault must be its chain and its address, not ${JSON.stringify(managing.vaultId.slice(0, 80))}.`);
  if (managing.operation === "manage" && !Object.hasOwn(CALLS, managing.body.action)) throw new TypeError(`The calls of ${JSON.stringify(managing.body.action)} are not known to this client.`);
}

/** Throws QuoteMismatch where the quote is not for the vault that was asked for, or takes anything. */
export function checkDeployment({ asked, ...quote }: Deployment): void {
  const { request, params } = quote;
  const bot = asked.bot ?? ZERO_ADDRESS;
  same(QuoteMismatch, "kind", "vault", quote.kind);
  sameNetwork(QuoteMismatch, "chainId", asked.network, quote.chainId, quote.network);
  same(QuoteMismatch, "request.strategy", asked.strategy, request.strategy);
  checkParams(QuoteMismatch, "request", asked, bot, request);
  checkParams(QuoteMismatch, "params", asked, bot, params);
  if (ADDRESS.test(asked.strategy)) same(QuoteMismatch, "params.strategy", asked.strategy, params?.strategy);
  for (const member of ["inputs", "outputs"] as const) same(QuoteMismatch, `${member}.length`, 0, quote[member].length);
  same(QuoteMismatch, "approvals.length", 0, quote.approvals?.length ?? 0);
  for (const member of ["factory", "predictedAddress"] as const) if (!ADDRESS.test(String(quote[member]))) throw new QuoteMismatch(member, "an address", String(quote[member]));
  for (const member of ["salt", "initCodeHash"] as const) if (!/^0x[0-9a-f]{64}$/i.test(String(quote[member]))) throw new QuoteMismatch(member, "32 bytes", String(quote[member]));
  if (!ADDRESS.test(String(params?.strategy))) throw new QuoteMismatch("params.strategy", "an address", String(params?.strategy));
}

function checkParams(Mismatch: Differs, member: string, asked: Schemas["DeployBody"], bot: string, found: { asset: string; owner: string; bot: string | null } | undefined): void {
  same(Mismatch, `${member}.asset`, asked.asset, found?.asset);
  same(Mismatch, `${member}.owner`, asked.owner, found?.owner);
  same(Mismatch, `${member}.bot`, bot, found?.bot ?? ZERO_ADDRESS);
}

/** Throws ActionMismatch where a transaction is anything but what was asked of the vault, or of the factory that was quoted. */
export function checkManagement(managing: Managing, action: Checked): void {
  same(ActionMismatch, "kind", "vault", action.kind);
  for (const member of ["inputs", "outputs", "signatures", "permitOffers"] as const) same(ActionMismatch, `${member}.length`, 0, action[member].length);
  same(ActionMismatch, "parts", null, action.parts);
  const { transactions } = action;
  if (transactions.length === 0) throw new ActionMismatch("transactions", "at least one", "none");
  same(ActionMismatch, "steps.length", transactions.length, action.steps.length);
  const { chainId, from, to, accounts } = partiesOf(managing);
  same(ActionMismatch, "chainId", chainId, action.chainId);
  same(ActionMismatch, "from", from, action.from);
  const named = new Set([from, ...accounts].map((each) => each.toLowerCase()));
  for (const { account } of action.recipients) if (!named.has(account.toLowerCase())) throw new ActionMismatch("recipients", [...named].join(" or "), account);
  for (const [index, transaction] of transactions.entries()) {
    const member = `transactions[${index}]`;
    same(ActionMismatch, `${member}.chainId`, chainId, transaction.chainId);
    same(ActionMismatch, `${member}.value`, 0n, BigInt(transaction.value));
    same(ActionMismatch, `${member}.to`, to, transaction.to);
  }
  if (managing.operation === "rebalance") return checkMoves(to, managing.body, transactions.map(({ data }) => data));
  same(ActionMismatch, "transactions.length", 1, transactions.length);
  const [{ data }] = transactions as [Schemas["Transaction"]];
  if (managing.operation === "deploy") checkDeploy(managing.quote, action, data);
  else checkCall(managing.body, data);
}

/** Who signs, what is called, and who may get a role. */
function partiesOf(managing: Managing): { chainId: number; from: string; to: string; accounts: readonly string[] } {
  if (managing.operation === "deploy") {
    const { chainId, asked, factory } = managing.quote;
    return { chainId, from: asked.owner, to: String(factory), accounts: asked.bot ? [asked.bot] : [] };
  }
  const [chain, vault] = managing.vaultId.split(":") as [string, string];
  const { body } = managing;
  return { chainId: Number(chain), from: body.address, to: vault, accounts: "bot" in body && body.bot ? [body.bot] : [] };
}

function checkDeploy(quote: Deployment, action: Checked, data: string): void {
  const { asked, params } = quote;
  same(ActionMismatch, "quoteId", quote.quoteId, action.quoteId);
  for (const member of TERMS) same(ActionMismatch, member, quote[member]?.toLowerCase(), action[member]?.toLowerCase());
  same(ActionMismatch, "params.strategy", params?.strategy, action.params?.strategy);
  checkParams(ActionMismatch, "params", asked, asked.bot ?? ZERO_ADDRESS, action.params);
  const words = wordsOf("transactions[0].data", DEPLOY, 5, data);
  const expected = { asset: asked.asset, owner: asked.owner, bot: asked.bot ?? ZERO_ADDRESS, strategy: params!.strategy, salt: quote.salt! };
  for (const [index, [name, value]] of Object.entries(expected).entries()) same(ActionMismatch, `transactions[0]: the ${name}`, hexOf(BigInt(value)), hexOf(words[index]!));
}

function checkCall(body: Schemas["ManageBody"], data: string): void {
  const [selector, argument] = CALLS[body.action]!;
  const words = wordsOf("transactions[0].data", selector, argument === null ? 0 : 1, data);
  if (argument === null) return;
  const asked = body[argument];
  if (argument === "amount") same(ActionMismatch, "transactions[0]: the amount", asked === "max" ? ALL : asked, words[0]);
  // Which address an id of a strategy stands for is the gateway's to say.
  else if (argument === "bot" || ADDRESS.test(String(asked))) same(ActionMismatch, `transactions[0]: the ${argument}`, hexOf(BigInt(String(asked))), hexOf(words[0]!));
  else accountOf("transactions[0]: the strategy", words[0]!);
}

/** The vault moves money between itself and its own strategies alone: what is compared is where to, how much, and that a loss has a bound. */
function checkMoves(vault: string, { strategy, amount, slippageBps = 50 }: Schemas["RebalanceBody"], calls: readonly string[]): void {
  if (calls.length > MOST_MOVES) throw new ActionMismatch("transactions", `at most ${MOST_MOVES}`, String(calls.length));
  const moves = calls.map((data, index) => wordsOf(`transactions[${index}].data`, REBALANCE, 4, data));
  const target = strategy !== undefined && ADDRESS.test(strategy) ? BigInt(strategy) : moves[0]![1]!;
  const sources = new Set<bigint>();
  let moved = 0n;
  for (const [index, [source, to, assets, least]] of moves.entries()) {
    const member = `transactions[${index}]`;
    for (const each of [source!, to!]) accountOf(member, each);
    same(ActionMismatch, `${member}: the strategy`, hexOf(target), hexOf(to!));
    if (source === to || to === BigInt(vault)) throw new ActionMismatch(`${member}: the strategy`, "another place than the money is in", accountOf(member, to!));
    if (sources.has(source!)) throw new ActionMismatch(member, "one move from each place", accountOf(member, source!));
    sources.add(source!);
    if (strategy === undefined) same(ActionMismatch, `${member}: the source`, vault, hexOf(source!));
    if (typeof amount !== "bigint") same(ActionMismatch, `${member}: the amount`, ALL, assets);
    else moved += assets!;
    if (slippageBps < 10_000 && least === 0n) throw new ActionMismatch(`${member}: the least that the vault is worth afterwards`, "more than 0", "0");
  }
  if (typeof amount === "bigint") same(ActionMismatch, "the amount of all moves", amount, moved);
}

const hexOf = (value: bigint): string => `0x${value.toString(16).padStart(value >= 1n << 160n ? 64 : 40, "0")}`;

/** The arguments of a call. Every byte of it is read: one that is left over could mean something to a contract. */
function wordsOf(member: string, selector: string, count: number, data: string): bigint[] {
  const found = new RegExp(`^0x${selector}((?:[0-9a-f]{64}){${count}})$`).exec(data.toLowerCase());
  if (!found) throw new ActionMismatch(member, `a call of 0x${selector} with ${count} arguments`, data.slice(0, 140));
  return (found[1]!.match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
}

function accountOf(member: string, value: bigint): string {
  if (value >= 1n << 160n) throw new ActionMismatch(member, "an address", hexOf(value));
  return hexOf(value);
}
