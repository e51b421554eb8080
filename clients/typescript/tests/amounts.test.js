// Amounts in programs and on the wire.
import assert from "node:assert/strict";
import test from "node:test";
import { fromUnits, Quoteway, toUnits } from "@quoteway/client";
import { ok, serving } from "./raw_server.js";

test("decimal text becomes base units, and base units decimal text", () => {
  const pairs = [
    ["1.5", 18, 1500000000000000000n],
    ["0", 6, 0n],
    ["0.000001", 6, 1n],
    ["1", 0, 1n],
    ["115792089237316195423570985008687907853269984665640564039457.584007913129639935", 18, 2n ** 256n - 1n],
  ];
  for (const [text, decimals, units] of pairs) {
    assert.equal(toUnits(text, decimals), units);
    assert.equal(fromUnits(units, decimals), text);
  }
  assert.equal(toUnits("1.50", 6), 1500000n);
  assert.equal(fromUnits(-1500000n, 6), "-1.5");
});

test("what is not exact is refused", () => {
  for (const wrong of [1.5, 1, 1n, null, undefined, "", "1e18", "-1", "+1", " 1", "1,5", "0x10", "1.", ".5", "1_000", "١"]) {
    assert.throws(() => toUnits(wrong, 18), TypeError, String(wrong));
  }
  assert.throws(() => toUnits("1.0000000", 6), { name: "RangeError", message: "The amount has 7 digits after the point: the token has 6." });
  for (const decimals of [-1, 1.5, 256, "6", NaN]) assert.throws(() => toUnits("1", decimals), RangeError);
  for (const units of [1, "1", null]) assert.throws(() => fromUnits(units, 6), TypeError);
});

test("amounts are digits on the wire, and bigint in answers", async (t) => {
  const huge = 2n ** 256n - 1n;
  const row = { amount: String(huge), token: { address: "0x1", decimals: 18 } };
  const server = await serving(t, ok({ results: [{ quote: { inputs: [{ ...row, amountMin: null }], toAmount: "0", added: "7" } }] }));
  const qw = new Quoteway({ baseUrl: server.url });
  const answer = await qw.call("createSwapQuotes", { body: { quotes: [{ network: "devnet", fromToken: "native", toToken: "usdc", amount: huge, address: "0x1" }] } });
  assert.equal(JSON.parse(server.requests[0].body).quotes[0].amount, String(huge));
  const { quote } = answer.results[0];
  assert.deepEqual([quote.inputs[0].amount, quote.inputs[0].amountMin, quote.toAmount], [huge, null, 0n]);
  assert.equal(quote.added, "7", "a member of a newer gateway stays as it is");
});

test("an amount of a request must be a bigint", async (t) => {
  const server = await serving(t, ok({}));
  const qw = new Quoteway({ baseUrl: server.url });
  for (const amount of [1, 1.5, "1", null, true]) {
    const asked = qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: "usdc", amount, address: "0x1" });
    await assert.rejects(asked, { name: "TypeError", message: /"amount" must be a bigint of base units/ });
  }
  assert.equal(server.requests.length, 0);
});

test("an amount of an answer must be an integer", async (t) => {
  for (const amount of ["1.5", "1e18", "0x10", " 1", 5, ["1"], true, ""]) {
    const server = await serving(t, ok({ data: [{ amount }] }));
    const asked = new Quoteway({ baseUrl: server.url }).portfolio.balances({ wallet: "0x1" });
    await assert.rejects(asked, { name: "TransportError", message: /"amount" of the answer is not an integer/ });
  }
});
