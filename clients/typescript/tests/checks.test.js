// A gateway that answers with something else than was asked: the client refuses before anything is signed.
import assert from "node:assert/strict";
import test from "node:test";
import { Quoteway } from "@quoteway/client";
import { lying, OTHER, paths, recorded, watching } from "./lying_gateway.js";
import { ok, serving } from "./raw_server.js";

const UNLIMITED = "f".repeat(64);
const word = (value) => BigInt(value).toString(16).padStart(64, "0");

const QUOTES = {
  "another sender": (quote) => (quote.request.address = OTHER),
  "another recipient": (quote) => (quote.request.toAddress = quote.outputs[0].account = OTHER),
  "a leg for another recipient": (quote) => (quote.outputs[0].account = OTHER),
  "a leg that another pays": (quote) => (quote.inputs[0].account = OTHER),
  "another amount": (quote) => (quote.request.amount = quote.inputs[0].amount = "2000000000"),
  "a leg of another amount": (quote) => (quote.inputs[0].amount = "2000000000"),
  "a leg with a higher maximum": (quote) => (quote.inputs[0].amountMax = "2000000000"),
  "another token": (quote) => (quote.request.fromToken = OTHER),
  "a leg of another token": (quote) => (quote.inputs[0].token.address = OTHER),
  "one more leg": (quote) => quote.inputs.push({ ...quote.inputs[0], token: { ...quote.inputs[0].token, address: OTHER } }),
  "another token bought": (quote) => (quote.request.toToken = quote.outputs[0].token.address = OTHER),
  "another network": (quote) => (quote.request.fromChain = quote.network = "ethereum"),
  "another network of arrival": (quote) => (quote.outputs[0].token.network = "devnet-l2"),
  "no minimum": (quote) => (quote.outputs[0].amountMin = null),
  "a minimum below the slippage": (quote) => (quote.outputs[0].amountMin = String((BigInt(quote.outputs[0].amount) * 9_949n) / 10_000n)),
  "more slippage": (quote) => (quote.slippageBps = 51),
  "the other side": (quote) => (quote.request.side = "exactOut"),
  "a fee": (quote) => (quote.request.feeBps = 10),
  "nothing at all": (quote) => (quote.inputs = []),
  "another amount shown as received": (quote) => (quote.toAmount = String(BigInt(quote.toAmount) + 1n)),
  "another minimum shown": (quote) => (quote.toAmountMin = quote.toAmount),
  "another amount shown as paid": (quote) => (quote.fromAmount = "999999999"),
  "another maximum shown": (quote) => (quote.fromAmountMax = "999999999"),
  "another token shown as received": (quote) => (quote.toToken.address = OTHER),
  "other decimals shown": (quote) => (quote.fromToken.decimals += 1),
};

test("what a real gateway answered passes", async (t) => {
  for (const noun of ["swaps", "bridges"]) {
    const { qw, body } = await lying(t, noun);
    const action = await qw[noun].act(await qw[noun].quote(body));
    assert.equal(action.quote.asked.body.amount, body.amount);
  }
});

for (const [name, change] of Object.entries(QUOTES)) {
  test(`a quote with ${name} is refused`, async (t) => {
    const { qw, body } = await lying(t, "swaps", { quote: change });
    await assert.rejects(qw.swaps.quote(body), { name: "QuoteMismatch", message: /^The quote is not what was asked: .* Do not sign it\.$/ });
  });
}

test("a quote of a vault that takes more than was asked is refused", async (t) => {
  const { body, quote } = recordedVault();
  const answering = async (found) => {
    const server = await serving(t, ok(found));
    return new Quoteway({ baseUrl: server.url }).vaults.quote(found.request.vaultId, { ...body, amount: BigInt(body.amount) });
  };
  await answering(quote);
  const more = structuredClone(quote);
  more.inputs[0].amount = String(BigInt(body.amount) + 1n);
  await assert.rejects(answering(more), { name: "QuoteMismatch", member: "inputs of the asset" });
});

test("a quote of a pool for another range, position or coin is refused", async (t) => {
  const { requestBody, responses } = paths["/v2/pools/{poolId}/quote"].post;
  const [body, quote] = [requestBody.content["application/json"].example, responses[200].content["application/json"].example];
  const asking = async (more, change) => {
    const found = structuredClone(quote);
    change(found.request);
    const server = await serving(t, ok(found));
    return new Quoteway({ baseUrl: server.url }).pools.quote(quote.request.poolId, { ...body, amount: BigInt(body.amount), ...more });
  };
  const range = { tickLower: -120, tickUpper: 120 };
  await asking({}, () => {});
  await asking(range, (request) => Object.assign(request, range));
  for (const [member, wrong] of [["tickLower", -60], ["tickUpper", null]]) {
    await assert.rejects(asking(range, (request) => Object.assign(request, range, { [member]: wrong })), { name: "QuoteMismatch", member: `request.${member}` });
  }
  await assert.rejects(asking({ positionId: "7" }, (request) => (request.positionId = "8")), { name: "QuoteMismatch", member: "request.positionId" });
  await assert.rejects(asking({}, (request) => (request.useNative = !request.useNative)), { name: "QuoteMismatch", member: "request.useNative" });
});

function recordedVault() {
  const { requestBody, responses } = paths["/v2/vaults/{vaultId}/quote"].post;
  return { body: requestBody.content["application/json"].example, quote: responses[200].content["application/json"].example };
}

test("a quote for another network by chain id is refused", async (t) => {
  for (const network of ["1", "eip155:1"]) {
    const { qw, body } = await lying(t, "swaps", { ask: (body) => (body.network = network) });
    await assert.rejects(qw.swaps.quote(body), { name: "QuoteMismatch", member: "fromChain" });
  }
  const { qw, body } = await lying(t, "swaps", { ask: (body) => (body.network = "eip155:31337") });
  await qw.swaps.quote(body);
});

test("the refund of a transfer goes to the sender, or to whom the request names", async (t) => {
  const named = await lying(t, "bridges", { quote: (quote) => (quote.request.refundAddress = OTHER) });
  await assert.rejects(named.qw.bridges.quote(named.body), { name: "QuoteMismatch", member: "request.refundAddress" });
  const asked = await lying(t, "bridges", { ask: (body) => (body.refundAddress = OTHER), quote: (quote) => (quote.request.refundAddress = quote.refund.address = OTHER) });
  await asked.qw.bridges.quote(asked.body);
});

test("what the quote of a transfer says of its refund is what its request says", async (t) => {
  for (const [member, change] of [["refund.address", (refund) => (refund.address = OTHER)], ["refund.chainId", (refund) => (refund.chainId = 31338)]]) {
    const { qw, body } = await lying(t, "bridges", { quote: (quote) => change(quote.refund) });
    await assert.rejects(qw.bridges.quote(body), { name: "QuoteMismatch", member });
  }
  const unnamed = await lying(t, "bridges", { quote: (quote) => (quote.refund = null) });
  await unnamed.qw.bridges.quote(unnamed.body);
});

test("the transfer that an action says is followed is the one that was quoted", async (t) => {
  const wrong = { originChainId: 1, destinationChainId: 31337, refundAddress: OTHER };
  for (const [member, value] of Object.entries(wrong)) {
    const { qw, body } = await lying(t, "bridges", { act: ({ tracking }) => (tracking[member] = value) });
    await assert.rejects(qw.bridges.act(await qw.bridges.quote(body)), { name: "ActionMismatch", member: `tracking.${member}` });
  }
});

const ACTIONS = {
  "another network": (action) => (action.chainId = 1),
  "another sender": (action) => (action.from = OTHER),
  "another quote": (action) => (action.quoteId = "another"),
  "another kind": (action) => (action.kind = "vault"),
  "another recipient": (action) => (action.outputs[0].account = OTHER),
  "one more recipient": (action) => action.recipients.push({ network: "devnet", chainId: 31337, account: OTHER }),
  "a lower minimum": (action) => (action.outputs[0].amountMin = String(BigInt(action.outputs[0].amountMin) - 1n)),
  "no minimum": (action) => (action.outputs[0].amountMin = null),
  "no output": (action) => (action.outputs = []),
  "one more output": (action) => action.outputs.push({ ...action.outputs[0], account: OTHER }),
  "a higher amount": (action) => (action.inputs[0].amount = "1000000001"),
  "a lower amount": (action) => (action.inputs[0].amount = "999999999"),
  "another token": (action) => (action.inputs[0].token.address = OTHER),
  "one more token": (action) => action.inputs.push({ ...action.inputs[0], token: { ...action.inputs[0].token, address: OTHER } }),
  "no input": (action) => (action.inputs = []),
  "a transaction for another network": (action) => (action.transactions[1].chainId = 1),
  "coin that is not paid": (action) => (action.transactions[2].value = "0x1"),
  "no transactions": (action) => (action.transactions = action.steps = []),
  "a step too few": (action) => action.steps.pop(),
  "an unlimited approval": ({ transactions: [approval] }) => (approval.data = approval.data.slice(0, -64) + UNLIMITED),
  "an approval that is one too high": ({ transactions: [approval] }) => (approval.data = approval.data.slice(0, -64) + word(1_000_000_001)),
  "an approval of another token": ({ transactions: [approval] }) => (approval.to = OTHER),
  "an approval cut short": ({ transactions: [approval] }) => (approval.data = approval.data.slice(0, -2)),
  "an unlimited approval of Permit2": ({ transactions: [, permit2] }) => (permit2.data = permit2.data.slice(0, 138) + UNLIMITED + permit2.data.slice(202)),
  "a false Permit2": ({ transactions: [, permit2] }) => (permit2.to = OTHER),
  "a plain transfer of another token": ({ transactions: [, , swap] }) => Object.assign(swap, { to: OTHER, data: `0xa9059cbb${word(1)}${word(1)}` }),
  "increaseAllowance": ({ transactions: [approval] }) => (approval.data = approval.data.replace("0x095ea7b3", "0x39509351")),
  "setApprovalForAll": ({ transactions: [, , swap] }) => (swap.data = `0xa22cb465${word(1)}${word(1)}`),
  "transferFrom": ({ transactions: [, , swap] }) => (swap.data = `0x23b872dd${word(1)}${word(1)}${word(1)}`),
  "a permit of another owner": ({ transactions: [approval] }) => (approval.data = `0xd505accf${word(OTHER)}${word(1).repeat(6)}`),
};

for (const [name, change] of Object.entries(ACTIONS)) {
  test(`an action with ${name} is refused, from the gateway and before it is sent`, async (t) => {
    const { qw, body } = await lying(t, "swaps", { act: change });
    const quote = await qw.swaps.quote(body);
    await assert.rejects(qw.swaps.act(quote), { name: "ActionMismatch", message: /Do not sign it\.$/ });

    const honest = await lying(t, "swaps");
    const action = await honest.qw.swaps.act(await honest.qw.swaps.quote(body));
    change(action.outputs ? withText(action) : action);
    const wallet = watching(body.address);
    await assert.rejects(honest.qw.send(restored(action), wallet), { name: "ActionMismatch" });
    assert.deepEqual(wallet.asked, []);
  });
}

/** The changes are written for amounts as text. */
function withText(action) {
  for (const leg of [...action.inputs, ...action.outputs]) for (const name of ["amount", "amountMin"]) leg[name] &&= String(leg[name]);
  return action;
}

function restored(action) {
  for (const leg of [...action.inputs, ...action.outputs]) for (const name of ["amount", "amountMin"]) leg[name] &&= BigInt(leg[name]);
  return action;
}

async function acted(t, change) {
  const { qw, body, server } = await lying(t, "swaps", { act: change });
  return { qw, server, body, action: await qw.swaps.act(await qw.swaps.quote(body)), wallet: watching(body.address) };
}

test("the wallet must be that of the quote, on its network, with the money", async (t) => {
  const { qw, action, body } = await acted(t);
  const stranger = watching(OTHER);
  await assert.rejects(qw.send(action, stranger), { name: "WalletError", message: /the wallet is 0x7099/ });
  const elsewhere = watching(body.address, 1);
  await assert.rejects(qw.send(action, elsewhere), { name: "WalletError", message: /for chain 31337, the wallet is on chain 1/ });
  for (const assumption of ["native_balance", `balance:${OTHER}`]) {
    const poor = await acted(t, (action) => action.simulation.assumptions.push(assumption));
    await assert.rejects(poor.qw.send(poor.action, poor.wallet), { name: "WalletError", message: new RegExp(assumption) });
  }
  const parts = await acted(t, (action) => (action.parts = []));
  await assert.rejects(parts.qw.send(parts.action, parts.wallet), { name: "WalletError", message: /withoutBatch/ });
  assert.deepEqual([...stranger.asked, ...elsewhere.asked, ...parts.wallet.asked], []);
});

test("a wallet that refuses is asked once", async (t) => {
  const { qw, action, wallet } = await acted(t);
  await assert.rejects(qw.send(action, wallet), (error) => {
    assert.deepEqual([error.name, error.index, error.sent, error.cause.message], ["SendError", 0, [], "the user refuses"]);
    return true;
  });
  assert.deepEqual(wallet.asked, ["sendTransaction"]);
});

test("after a revert, a lost receipt or the end of a signal nothing more is sent, and the error has what is out", async (t) => {
  const { qw, action, body } = await acted(t);
  const leaving = new AbortController();
  const receipts = {
    "reverted: 0xh1": async () => ({ hash: "0xh1", status: "reverted" }),
    "is out as 0xh1": async () => Promise.reject(new Error("gone")),
    "was not sent: the caller ended it": async () => (leaving.abort(), { hash: "0xh1", status: "success" }),
  };
  for (const [words, receipt] of Object.entries(receipts)) {
    const sent = [];
    const wallet = { ...watching(body.address), receipt, sendTransaction: async (each) => `0xh${sent.push(each)}` };
    const seen = [];
    await assert.rejects(qw.send(action, wallet, { signal: leaving.signal, onSent: (each) => seen.push(each) }), (error) => {
      assert.equal(error.name, "SendError");
      assert.match(error.message, new RegExp(words));
      assert.deepEqual(error.sent, [{ txId: action.steps[0].txId, hash: "0xh1" }]);
      return true;
    });
    assert.equal(sent.length, 1);
    assert.deepEqual(seen.map((each) => each.hash), ["0xh1"]);
    assert.deepEqual(sent[0], { to: action.transactions[0].to, data: action.transactions[0].data, value: 0n, chainId: 31337, gas: BigInt(action.steps[0].gasLimit) });
  }
  await assert.rejects(qw.send(action, watching(body.address), { signal: leaving.signal }), { name: "AbortError" });
});

test("acknowledgements are never given by the client", async (t) => {
  const { qw, body, server } = await lying(t, "swaps", { quote: (quote) => (quote.acknowledgementNeeded = [{ code: "high_price_impact", message: "It costs 9 %." }]) });
  const quote = await qw.swaps.quote(body);
  await qw.swaps.act(quote);
  await qw.swaps.act(quote, { acknowledge: ["high_price_impact"] });
  assert.deepEqual(server.requests.slice(1).map((each) => JSON.parse(each.body)), [{}, { acknowledge: ["high_price_impact"] }]);
});

test("a caller that changes its request later has not asked for that", async (t) => {
  const { qw, body } = await lying(t, "swaps");
  const asking = qw.swaps.quote(body);
  body.toAddress = OTHER;
  assert.equal((await asking).asked.body.toAddress, undefined);
  assert.equal(recorded("swaps").body.amount, body.amount);
});
