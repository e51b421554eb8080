// Wallets that carry out several transactions as one (EIP-5792), and those that say so and do not.
import assert from "node:assert/strict";
import test from "node:test";
import { atomicityOf, walletBatches } from "@quoteway/client";
import { lying, watching } from "./lying_gateway.js";

const HASH = `0x${"ab".repeat(32)}`;
const RECEIPT = { transactionHash: HASH, status: "0x1", blockNumber: "0x10", gasUsed: "0x5208", blockHash: HASH, logs: [] };
const refusal = (code) => Object.assign(new Error(`refused with ${code}`), { code });

/** A wallet that batches, and what it was asked for. `answers` are those of methods: values, errors, or functions of the parameters. */
function batching(address, answers = {}) {
  const asked = [];
  const given = {
    wallet_getCapabilities: { "0x7a69": { atomic: { status: "supported" } } },
    wallet_sendCalls: { id: "batch-1" },
    wallet_getCallsStatus: { status: 200, atomic: true, receipts: [RECEIPT] },
    ...answers,
  };
  const request = async (method, params) => {
    asked.push([method, params]);
    const answer = given[method];
    const found = typeof answer === "function" ? answer(params) : answer;
    if (found instanceof Error) throw found;
    return found;
  };
  const sent = [];
  const sendTransaction = async (each) => `0xh${sent.push(each)}`;
  const receipt = async (hash) => ({ hash, status: "success", blockNumber: 1n, gasUsed: 1n });
  return { ...watching(address), sendTransaction, receipt, sent, methods: () => asked.map(([method]) => method), asked, batches: walletBatches(address, request) };
}

async function acted(t, change) {
  const { qw, body } = await lying(t, "swaps", { act: change });
  return { qw, body, action: await qw.swaps.act(await qw.swaps.quote(body)) };
}

test("all transactions of an action go out as one, and once", async (t) => {
  const { qw, body, action } = await acted(t);
  const states = [{ status: 100 }, { status: 200, receipts: [RECEIPT] }];
  const wallet = batching(body.address, { wallet_getCallsStatus: () => states.shift() });
  const ids = [];
  const sent = await qw.send(action, wallet, { asBatch: true, onBatch: (id) => ids.push(id) });
  assert.deepEqual(ids, ["batch-1"]);
  assert.deepEqual(wallet.methods(), ["wallet_getCapabilities", "wallet_sendCalls", "wallet_getCallsStatus", "wallet_getCallsStatus"]);
  const [capabilities, [, [calls]], [, status]] = wallet.asked;
  assert.deepEqual(capabilities[1], [body.address, ["0x7a69"]]);
  assert.deepEqual(status, ["batch-1"]);
  assert.deepEqual(calls, { version: "2.0.0", from: body.address, chainId: "0x7a69", atomicRequired: true, calls: action.transactions.map(({ to, data, value }) => ({ to, data, value })) });
  assert.deepEqual(wallet.sent, []);
  const receipt = { hash: HASH, status: "success", blockNumber: 16n, gasUsed: 21_000n };
  const { txId } = action.steps.at(-1);
  assert.deepEqual(sent, { txId, hash: HASH, batch: "batch-1", transactions: [{ txId, hash: HASH, receipt }] });
});

test("parts of several providers go as one", async (t) => {
  const { qw, body, action } = await acted(t, (action) => (action.parts = []));
  const sent = await qw.send(action, batching(body.address), { asBatch: true });
  assert.equal(sent.batch, "batch-1");
});

const WITHOUT = {
  "says nothing of the chain": { wallet_getCapabilities: { "0x1": { atomic: { status: "supported" } } } },
  "cannot": { wallet_getCapabilities: { "0x7a69": { atomic: { status: "unsupported" } } } },
  "answers with nothing": { wallet_getCapabilities: null },
  "does not know the method": { wallet_getCapabilities: refusal(-32601) },
};

for (const [name, answers] of Object.entries(WITHOUT)) {
  test(`a wallet that ${name} gets the transactions one by one, but no parts`, async (t) => {
    const { qw, body, action } = await acted(t);
    const wallet = batching(body.address, answers);
    const sent = await qw.send(action, wallet, { asBatch: true });
    assert.equal(sent.batch, null);
    assert.equal(wallet.sent.length, action.transactions.length);
    const parts = await acted(t, (action) => (action.parts = []));
    await assert.rejects(parts.qw.send(parts.action, wallet, { asBatch: true }), { name: "WalletError", message: /withoutBatch/ });
    assert.equal(wallet.sent.length, action.transactions.length);
    assert.ok(!wallet.methods().includes("wallet_sendCalls"));
  });
}

test("a batch is for those who ask for it, and for several transactions", async (t) => {
  const { qw, body, action } = await acted(t);
  const wallet = batching(body.address);
  assert.equal((await qw.send(action, wallet)).batch, null);
  assert.deepEqual(wallet.asked, []);
  const single = await acted(t, (action) => {
    action.transactions = action.transactions.slice(-1);
    action.steps = action.steps.slice(-1);
  });
  assert.equal((await single.qw.send(single.action, wallet, { asBatch: true })).batch, null);
  assert.deepEqual(wallet.asked, []);
});

test("a wallet that did not take the batch gets the transactions one by one, but no parts", async (t) => {
  const wrapped = new Error("of a library", { cause: { data: { originalError: { code: 5750 } } } });
  for (const error of [4200, -32601, 5700, 5710, 5740, 5750, 5760].map(refusal).concat(wrapped)) {
    const { qw, body, action } = await acted(t);
    const wallet = batching(body.address, { wallet_sendCalls: error });
    assert.equal((await qw.send(action, wallet, { asBatch: true })).batch, null);
    assert.equal(wallet.sent.length, action.transactions.length);
  }
  const { qw, body, action } = await acted(t, (action) => (action.parts = []));
  const wallet = batching(body.address, { wallet_sendCalls: refusal(5760) });
  await assert.rejects(qw.send(action, wallet, { asBatch: true }), { name: "WalletError", message: /Nothing was sent/ });
  assert.deepEqual(wallet.sent, []);
});

const UNSURE = {
  "the person refuses": [{ wallet_sendCalls: refusal(4001) }, /was not sent, or the wallet lost track/],
  "an error that says nothing": [{ wallet_sendCalls: refusal(-32603) }, /was not sent, or the wallet lost track/],
  "no id": [{ wallet_sendCalls: {} }, /was not sent, or the wallet lost track/],
  "an id that is not known later": [{ wallet_getCallsStatus: refusal(5730) }, /is out as batch-1, but it is not known/],
  "a state that is none": [{ wallet_getCallsStatus: {} }, /is out as batch-1, but it is not known/],
  "a batch that is not carried out": [{ wallet_getCallsStatus: { status: 400 } }, /was not carried out/],
  "a batch that reverts": [{ wallet_getCallsStatus: { status: 500, receipts: [{ ...RECEIPT, status: "0x0" }] } }, /reverted: nothing of it stands/],
  "a batch in part": [{ wallet_getCallsStatus: { status: 600, receipts: [RECEIPT] } }, /in part alone/],
  "a success without a transaction": [{ wallet_getCallsStatus: { status: 200 } }, /names no transaction/],
  "a success with one that reverted": [{ wallet_getCallsStatus: { status: 200, receipts: [{ ...RECEIPT, status: "0x0" }] } }, /a transaction that reverted/],
};

for (const [name, [answers, message]] of Object.entries(UNSURE)) {
  test(`after ${name} nothing more is sent`, async (t) => {
    const { qw, body, action } = await acted(t);
    const wallet = batching(body.address, answers);
    await assert.rejects(qw.send(action, wallet, { asBatch: true }), { name: "SendError", message });
    assert.deepEqual(wallet.sent, []);
    assert.equal(wallet.methods().filter((each) => each === "wallet_sendCalls").length, 1);
  });
}

test("the signal ends the wait for a batch", async (t) => {
  const { qw, body, action } = await acted(t);
  const leaving = new AbortController();
  const wallet = batching(body.address, { wallet_getCallsStatus: () => (leaving.abort(), { status: 100 }) });
  await assert.rejects(qw.send(action, wallet, { asBatch: true, signal: leaving.signal }), { name: "SendError", message: /batch-1/ });
});

test("an action that is not what was quoted goes out in no way", async (t) => {
  const { qw, body, action } = await acted(t);
  action.transactions[0].data = action.transactions[0].data.slice(0, -64) + "f".repeat(64);
  const wallet = batching(body.address);
  await assert.rejects(qw.send(action, wallet, { asBatch: true }), { name: "ActionMismatch" });
  assert.ok(!wallet.methods().includes("wallet_sendCalls"));
  assert.deepEqual(wallet.sent, []);
});

test("what a wallet offers, for every chain and with an upgrade", async () => {
  const of = (found) => atomicityOf(walletBatches("0x", async () => found), 31337);
  assert.equal(await of({ "0x0": { atomic: { status: "supported" } } }), "supported");
  assert.equal(await of({ "0x7a69": { atomic: { status: "ready" } } }), "ready");
  assert.equal(await of({ "0x7a69": { atomicBatch: { supported: true } } }), "unsupported");
  assert.equal(await atomicityOf(undefined, 31337), "unsupported");
  assert.equal(await atomicityOf({ atomic: () => new Promise(() => {}) }, 31337), "unsupported");
});
