// The client: every operation with its types, and the flows quote, act, send, follow.
import type { components, operations } from "./api.js";
import { encode } from "./amounts.js";
import { checkAction, checkQuote } from "./checks.js";
import { TransportError } from "./errors.js";
import { follow, type FollowOptions, type Tracked, type Transfer } from "./following.js";
import { checkDeployment, checkManagement, checkManaging, type Deployment, type Management } from "./management.js";
import { OPERATIONS } from "./operations.js";
import { checkRequest, checkRevocation } from "./revocations.js";
import { send, type SendOptions, type Sent, type Wallet } from "./sending.js";
import { stream, type StreamEvent, type StreamOptions, type Topics } from "./streaming.js";
import { request, type CallOptions, type TransportSettings } from "./transport.js";

export type Schemas = components["schemas"];
export type OperationId = keyof operations;

type Part<Params, Name extends string> = Params extends Record<Name, infer Value> ? { [name in Name]: Value } : Params extends { [name in Name]?: infer Value } ? ([Value] extends [undefined] ? unknown : { [name in Name]?: Value }) : unknown;
type BodyOf<Operation> = Operation extends { requestBody: { content: { "application/json": infer Body } } }
  ? { body: Body }
  : Operation extends { requestBody?: { content: { "application/json": infer Body } } }
    ? { body?: Body }
    : unknown;
/** What an operation takes: `path`, `query` and `body`, as far as it has them. */
export type Input<Id extends OperationId> = Part<operations[Id]["parameters"], "path"> & Part<operations[Id]["parameters"], "query"> & BodyOf<operations[Id]>;
type ContentOf<Responses> = { [Status in keyof Responses]: Responses[Status] extends { content: { "application/json": infer Content } } ? Content : never }[keyof Responses];
/** What an operation answers. */
export type Answer<Id extends OperationId> = ContentOf<operations[Id]["responses"]>;
type QueryOf<Id extends OperationId> = NonNullable<operations[Id]["parameters"] extends { query?: infer Query } ? Query : never>;

type Noun = "swaps" | "bridges" | "pools" | "vaults";
/** What was asked for: where, of which pool or vault, and the body of the request. */
export interface Asked<N extends Noun, Body> {
  readonly noun: N;
  readonly id: string | null;
  readonly body: Body;
}
export type SwapQuote = Schemas["SwapQuote"] & { readonly asked: Asked<"swaps", Schemas["SwapQuoteBody"]> };
export type BridgeQuote = Schemas["BridgeQuote"] & { readonly asked: Asked<"bridges", Schemas["BridgeQuoteBody"]> };
export type PoolQuote = Schemas["PoolQuote"] & { readonly asked: Asked<"pools", Schemas["PoolBody"]> };
export type VaultQuote = Schemas["VaultQuote"] & { readonly asked: Asked<"vaults", Schemas["VaultBody"]> };
export type Quote = SwapQuote | BridgeQuote | PoolQuote | VaultQuote;
/** An action, with the quote that it was checked against and the options it was asked for with. */
export type Action<Q extends Quote = Quote> = (Q extends BridgeQuote ? Schemas["BridgeAction"] : Schemas["Action"]) & { readonly quote: Q; readonly consent: Schemas["ConsentBody"] };

/** An action that ends approvals, with the request that it was checked against. */
export type Revocation = Schemas["Action"] & { readonly asked: Schemas["RevokeBody"] };

export interface Settings {
  /** Address of the gateway, such as "https://quoteway.example". */
  baseUrl: string;
  /** Key of the operator. Left out: none. */
  apiKey?: string | undefined;
  /** Left out: the platform's. */
  fetch?: typeof fetch | undefined;
  /** Limit for a call with all its retries, in milliseconds. Default: 60,000. */
  timeoutMs?: number | undefined;
  /** How often a call that may succeed later is repeated. Default: 4. */
  retries?: number | undefined;
}

export interface ActOptions extends CallOptions, Omit<Schemas["ConsentBody"], "permits"> {}

/** A client of one gateway. */
export class Quoteway {
  readonly #settings: TransportSettings;

  constructor(settings: Settings) {
    const url = new URL(settings.baseUrl);
    if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      throw new TypeError("baseUrl must be an http or https address without a user, query or fragment.");
    }
    const { timeoutMs = 60_000, retries = 4 } = settings;
    if (!(timeoutMs > 0)) throw new RangeError("timeoutMs must be positive.");
    if (!Number.isInteger(retries) || retries < 0) throw new RangeError("retries must be an integer of at least 0.");
    this.#settings = {
      baseUrl: url.href.replace(/\/$/, ""),
      apiKey: settings.apiKey ?? null,
      // A browser's fetch must be called on its window.
      fetch: settings.fetch ?? ((...given) => globalThis.fetch(...given)),
      timeoutMs,
      retries,
    };
  }

  /** Calls any operation of the OpenAPI document by its operationId. Errors: `request` of transport.ts, and a TypeError for an amount that is no bigint. */
  async call<Id extends OperationId>(id: Id, input: Input<Id>, options?: CallOptions): Promise<Answer<Id>> {
    const [method, template, takes, answers] = OPERATIONS[id];
    const { path = {}, query = {}, body } = input as { path?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = path[name];
      if (typeof value !== "string" || value === "" || value === "." || value === "..") throw new TypeError(`${id} needs "path.${name}", a text.`);
      return encodeURIComponent(value);
    });
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    const asked = {
      method,
      path: filled + (search.size ? `?${search}` : ""),
      body: method === "POST" ? encode(body ?? {}, takes) : null,
      answers,
      // Everything else reads, or builds from what it is given.
      repeatable: id !== "submitTransaction",
    };
    return (await request(this.#settings, asked, options)) as Answer<Id>;
  }

  /** The rows of all pages of a list. */
  async *rows<Id extends ListId>(id: Id, input: Input<Id>, options?: CallOptions): AsyncGenerator<RowOf<Id>, void, undefined> {
    const seen = new Set<string>();
    let query = (input as { query?: Record<string, unknown> }).query;
    for (;;) {
      const page = (await this.call(id, { ...input, query } as Input<Id>, options)) as { data: RowOf<Id>[]; nextCursor?: string | null };
      yield* page.data;
      const cursor = page.nextCursor;
      if (cursor === null || cursor === undefined) return;
      if (seen.has(cursor)) throw new TransportError("The list does not end: a cursor came twice.", null, false);
      seen.add(cursor);
      query = { ...query, cursor };
    }
  }

  readonly swaps = {
    /** Quotes a swap, within a network or to another one. Throws QuoteMismatch where the answer is not what was asked. */
    quote: (body: Schemas["SwapQuoteBody"], options?: CallOptions): Promise<SwapQuote> => this.#quote("swaps", body, this.call("createSwapQuote", { body }, options)),
    act: (quote: SwapQuote, options?: ActOptions): Promise<Action<SwapQuote>> => this.#act(quote, options),
    /** A price without an account. */
    price: (query: QueryOf<"getSwapPrice">, options?: CallOptions) => this.call("getSwapPrice", { query }, options),
  };

  readonly bridges = {
    quote: (body: Schemas["BridgeQuoteBody"], options?: CallOptions): Promise<BridgeQuote> => this.#quote("bridges", body, this.call("createBridgeQuote", { body }, options)),
    act: (quote: BridgeQuote, options?: ActOptions): Promise<Action<BridgeQuote>> => this.#act(quote, options),
    routes: (query: QueryOf<"listBridgeRoutes"> = {}, options?: CallOptions) => this.rows("listBridgeRoutes", { query }, options),
  };

  readonly pools = {
    list: (query: QueryOf<"listPools"> = {}, options?: CallOptions) => this.rows("listPools", { query }, options),
    get: (poolId: string, options?: CallOptions) => this.call("getPool", { path: { poolId } }, options),
    quote: (poolId: string, body: Schemas["PoolBody"], options?: CallOptions): Promise<PoolQuote> => this.#quote("pools", body, this.call("createPoolQuote", { path: { poolId }, body }, options), poolId),
    act: (quote: PoolQuote, options?: ActOptions): Promise<Action<PoolQuote>> => this.#act(quote, options),
    positions: (poolId: string, query: QueryOf<"listPoolPositions">, options?: CallOptions) => this.rows("listPoolPositions", { path: { poolId }, query }, options),
  };

  readonly vaults = {
    list: (query: QueryOf<"listVaults"> = {}, options?: CallOptions) => this.rows("listVaults", { query }, options),
    get: (vaultId: string, options?: CallOptions) => this.call("getVault", { path: { vaultId } }, options),
    quote: (vaultId: string, body: Schemas["VaultBody"], options?: CallOptions): Promise<VaultQuote> => this.#quote("vaults", body, this.call("createVaultQuote", { path: { vaultId }, body }, options), vaultId),
    act: (quote: VaultQuote, options?: ActOptions): Promise<Action<VaultQuote>> => this.#act(quote, options),
    /** Quotes a new vault. Owner, bot and token are named by address. Throws QuoteMismatch where the answer is not what was asked. */
    quoteDeployment: (body: Schemas["DeployBody"], options?: CallOptions): Promise<Deployment> => this.#quoteDeployment(body, options),
    /** The transaction that deploys the vault, for `send`. Throws ActionMismatch where it does anything else. */
    deploy: (quote: Deployment, options?: CallOptions & Pick<Schemas["ConsentBody"], "acknowledge">): Promise<Management> => this.#deploy(quote, options),
    /** The transaction of a management action, for `send`. Accounts are named by address. Throws ActionMismatch where it does anything else. */
    manage: (vaultId: string, body: Schemas["ManageBody"], options?: CallOptions): Promise<Management> => this.#manage(vaultId, body, options),
    /** The transactions that move a vault's money into one of its strategies, for `send`. Throws ActionMismatch where they do anything else. */
    rebalance: (vaultId: string, body: Schemas["RebalanceBody"], options?: CallOptions): Promise<Management> => this.#rebalance(vaultId, body, options),
  };

  readonly tokens = {
    list: (query: QueryOf<"listTokens"> = {}, options?: CallOptions) => this.rows("listTokens", { query }, options),
    get: (id: string, options?: CallOptions) => this.call("getToken", { path: { id } }, options),
  };

  readonly networks = { list: (options?: CallOptions) => this.rows("listNetworks", {}, options) };
  readonly providers = { list: (options?: CallOptions) => this.rows("listProviders", {}, options) };

  readonly transactions = {
    /** What became of a transaction, and whether it is the one that was built. */
    report: (sent: Transfer, options?: CallOptions) => this.call("submitTransactionHash", { path: { txId: sent.txId }, body: { hash: sent.hash } }, options),
    /** State of a transfer to another network, once: `follow` repeats it. */
    track: (sent: Transfer, options?: CallOptions) => this.call("trackTransaction", { path: { txId: sent.txId }, query: { hash: sent.hash } }, options),
  };

  readonly portfolio = {
    balances: (query: QueryOf<"getPortfolioBalances">, options?: CallOptions) => this.call("getPortfolioBalances", { query }, options),
    positions: (query: QueryOf<"getPortfolioPositions">, options?: CallOptions) => this.rows("getPortfolioPositions", { query }, options),
    /** What spenders may take of a wallet. */
    approvals: (query: QueryOf<"getPortfolioApprovals">, options?: CallOptions) => this.call("getPortfolioApprovals", { query }, options),
    /** The transactions that end approvals, for `send`. Tokens are named by address. Throws ActionMismatch where the answer does anything else. */
    revoke: (body: Schemas["RevokeBody"], options?: CallOptions): Promise<Revocation> => this.#revoke(body, options),
  };

  /** Checks an action of `act`, `revoke`, `deploy`, `manage` or `rebalance`, signs what it asks for, and sends its transactions in order: sending.ts says what it checks and throws. */
  send(action: Action | Revocation | Management, wallet: Wallet, options: SendOptions = {}): Promise<Sent> {
    const permitted = ({ quote, consent }: Action, permits: NonNullable<Schemas["ConsentBody"]["permits"]>) => this.#act(quote, { ...consent, offerPermits: false, permits }, options);
    return send(action, wallet, permitted, options);
  }

  /** The states of a transfer to another network as they change, until it has arrived, is refunded, or waits for its sender. */
  follow(sent: Transfer, options: FollowOptions = {}): AsyncGenerator<Tracked, void, undefined> {
    return follow((signal) => this.transactions.track(sent, { signal }), options);
  }

  /** Live answers: new blocks, followed quotes, transactions and transfers, and indexes. Ends after the last event of the last topic. */
  stream(topics: Topics, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return stream(this.#settings, topics, options);
  }

  async #quote<N extends Noun, Body, Q extends object>(noun: N, body: Body, answer: Promise<Q>, id: string | null = null): Promise<Q & { readonly asked: Asked<N, Body> }> {
    // A copy: a caller that changes its object later has not asked for that.
    const asked = { noun, id, body: structuredClone(body) };
    const quote = { ...(await answer), asked };
    checkQuote(quote as unknown as Quote);
    return quote;
  }

  async #revoke(body: Schemas["RevokeBody"], options?: CallOptions): Promise<Revocation> {
    checkRequest(body);
    const asked = structuredClone(body);
    const answer = await this.call("createRevocation", { body: asked }, options);
    checkRevocation(asked, answer);
    return { ...answer, asked };
  }

  async #quoteDeployment(body: Schemas["DeployBody"], options?: CallOptions): Promise<Deployment> {
    checkManaging({ operation: "deploy", body });
    const asked = structuredClone(body);
    const quote = { ...(await this.call("createVaultDeployQuote", { body: asked }, options)), asked };
    checkDeployment(quote);
    return quote;
  }

  async #deploy(given: Deployment, { acknowledge, ...options }: CallOptions & Pick<Schemas["ConsentBody"], "acknowledge"> = {}): Promise<Management> {
    const quote = structuredClone(given);
    const { quoteId, asked } = quote;
    const answer = await this.call("createVaultDeployAction", { body: { ...asked, ...(acknowledge ? { acknowledge } : {}), quoteId } }, options);
    return managed({ operation: "deploy", quote }, answer);
  }

  async #manage(vaultId: string, given: Schemas["ManageBody"], options?: CallOptions): Promise<Management> {
    const managing = { operation: "manage", vaultId, body: structuredClone(given) } as const;
    checkManaging(managing);
    return managed(managing, await this.call("createVaultManageAction", { path: { vaultId }, body: managing.body }, options));
  }

  async #rebalance(vaultId: string, given: Schemas["RebalanceBody"], options?: CallOptions): Promise<Management> {
    const managing = { operation: "rebalance", vaultId, body: structuredClone(given) } as const;
    checkManaging(managing);
    return managed(managing, await this.call("createVaultRebalanceAction", { path: { vaultId }, body: managing.body }, options));
  }

  async #act<Q extends Quote>(quote: Q, consent: Schemas["ConsentBody"] & CallOptions = {}, options?: CallOptions): Promise<Action<Q>> {
    const { signal, timeoutMs, ...body } = consent;
    const limits = options ? { signal: options.signal, timeoutMs: options.timeoutMs } : { signal, timeoutMs };
    const { quoteId, asked } = quote;
    const path = { quoteId };
    let answer: Schemas["Action"];
    if (asked.noun === "swaps") answer = await this.call("createSwapAction", { path, body }, limits);
    else if (asked.noun === "bridges") answer = await this.call("createBridgeAction", { path, body }, limits);
    else if (asked.noun === "pools") answer = await this.call("createPoolAction", { path: { poolId: String(asked.id) }, body: { ...asked.body, ...body, quoteId } }, limits);
    else answer = await this.call("createVaultAction", { path: { vaultId: String(asked.id) }, body: { ...asked.body, ...body, quoteId } }, limits);
    checkAction(quote, answer);
    return { ...answer, quote, consent: body } as Action<Q>;
  }
}

function managed(managing: Management["managing"], answer: Omit<Management, "managing">): Management {
  checkManagement(managing, answer);
  return { ...answer, managing };
}

type ListId = {
  [Id in OperationId]: Answer<Id> extends { data: readonly unknown[]; nextCursor?: string | null } ? Id : never;
}[OperationId];
type RowOf<Id extends OperationId> = Answer<Id> extends { data: readonly (infer Row)[] } ? Row : never;
