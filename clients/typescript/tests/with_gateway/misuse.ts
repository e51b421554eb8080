// What the compiler must refuse, and what it must know. Compiled, never run.
import { ApiError, type Answer, Quoteway, type Schemas, toUnits } from "@quoteway/client";

declare const qw: Quoteway;
const body = { network: "devnet", fromToken: "native", toToken: "USDC", address: "0x1" };

// @ts-expect-error: amounts are bigint
void qw.swaps.quote({ ...body, amount: "1" });
// @ts-expect-error: amounts are bigint
void qw.swaps.quote({ ...body, amount: 1 });
// @ts-expect-error: the amount is missing
void qw.swaps.quote(body);
// @ts-expect-error: a number has lost its digits already
toUnits(1.5, 18);
// @ts-expect-error: there is no such operation
void qw.call("listEverything", {});
// @ts-expect-error: the path is missing
void qw.call("getPool", {});
// @ts-expect-error: the query of this operation is required
void qw.call("getSwapPrice", {});
// @ts-expect-error: there is no such filter
void qw.pools.list({ colour: "red" });
// @ts-expect-error: only codes that exist can be acknowledged
void qw.swaps.act(await qw.swaps.quote({ ...body, amount: 1n }), { acknowledge: ["everything"] });
// @ts-expect-error: an action of `call` was checked against no quote
void qw.send(await qw.call("createSwapAction", { path: { quoteId: "" } }), {} as never);
// @ts-expect-error: a quote of a pool has no action of a swap
void qw.swaps.act(await qw.pools.quote("1:0x", { action: "collect", address: "0x1" }));

const quote = await qw.swaps.quote({ ...body, amount: 1n });
export const least: bigint | null = quote.toAmountMin;
export const steps: Schemas["Step"][] = (await qw.swaps.act(quote)).steps;
export const row: Answer<"listPools">["data"][number] | undefined = (await qw.pools.list().next()).value ?? undefined;
export const limit = (error: ApiError): bigint | undefined => error.details.limit;
