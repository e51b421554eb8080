// A gateway that answers with what a real one recorded in the OpenAPI document, changed by a test.
import { readFileSync } from "node:fs";
import { Quoteway } from "@quoteway/client";
import { ok, serving } from "./raw_server.js";

export const { paths } = JSON.parse(readFileSync(new URL("../../../docs/reference/openapi.json", import.meta.url)));
export const OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** Body, quote and action of the document, of "swaps" or "bridges". */
export function recorded(noun) {
  const quoting = paths[`/v2/${noun}/quote`].post;
  const acting = paths[`/v2/${noun}/{quoteId}/action`].post;
  const body = structuredClone(quoting.requestBody.content["application/json"].example);
  return {
    body: { ...body, amount: BigInt(body.amount) },
    quote: structuredClone(quoting.responses[200].content["application/json"].example),
    action: structuredClone(acting.responses[201].content["application/json"].example),
  };
}

/** `await lying(t, "swaps", { ask, quote, act })`: a client of a gateway whose answers these functions change. */
export async function lying(t, noun, { ask, quote, act } = {}) {
  const found = recorded(noun);
  ask?.(found.body);
  quote?.(found.quote);
  act?.(found.action);
  const server = await serving(t, (socket, request) => ok(request.path.endsWith("/action") ? found.action : found.quote)(socket));
  const qw = new Quoteway({ baseUrl: server.url });
  return { qw, server, ...found };
}

/** A wallet that signs and sends nothing, and counts what it is asked for. */
export function watching(address, chainId = 31337) {
  const asked = [];
  const refuse = (what) => async () => {
    asked.push(what);
    throw new Error("the user refuses");
  };
  return { asked, address, chainId: async () => chainId, signTypedData: refuse("signTypedData"), sendTransaction: refuse("sendTransaction"), receipt: refuse("receipt") };
}
