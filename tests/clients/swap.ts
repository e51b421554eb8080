// A client whose types openapi-typescript made with its defaults: a quote, its action, and a read of the chain.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

const [url, toToken, address] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url });

// The request of the README: no optional member is needed.
const quoted = await client.POST("/v2/swaps/quote", {
  body: { network: "devnet", fromToken: "native", toToken, amount: "1000000000000000000", address },
});
if (quoted.error) throw new Error(quoted.error.error.message);
const quote = quoted.data;
const minimum: string | null = quote.toAmountMin;
const echoed: number = quote.request.slippageBps;

const built = await client.POST("/v2/swaps/{quoteId}/action", { params: { path: { quoteId: quote.quoteId } } });
if (built.error) throw new Error(built.error.error.message);
const action = built.data;

const call: components["schemas"]["RpcCall"] = { jsonrpc: "2.0", id: 1, method: "eth_chainId" };
const answered = await client.POST("/v2/rpc/{chainId}", { params: { path: { chainId: "31337" } }, body: call });
const answer = answered.data;
if (!answer || Array.isArray(answer) || !("result" in answer)) throw new Error("no result");

const refused = await client.POST("/v2/swaps/quote", {
  body: { network: "devnet", fromToken: "native", toToken, amount: "0", address },
});

// Each action of a pool has members of its own.
type PoolBody = components["schemas"]["PoolBody"];
export const added: PoolBody = { action: "add", address, asset: toToken, amount: "1" };
export const collected: PoolBody = { action: "collect", address };
// @ts-expect-error: adding needs `amount` and `asset`
export const incomplete: PoolBody = { action: "add", address };
// @ts-expect-error: there is no such action
export const unknown: PoolBody = { action: "burn", address };

console.log(
  JSON.stringify({
    quoteId: quote.quoteId,
    toAmount: quote.toAmount,
    toAmountMin: minimum,
    slippageBps: echoed,
    transactions: action.transactions,
    intents: action.steps.map((step) => step.clearSigning.intent),
    simulated: action.simulation.status,
    chainId: answer.result,
    refusal: refused.error?.error.details?.fields?.map((field) => [field.path, field.reason]),
  }),
);
