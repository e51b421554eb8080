// The end of approvals: what does anything else is refused before anything is signed.
import assert from "node:assert/strict";
import test from "node:test";
import { Quoteway } from "@quoteway/client";
import { OTHER, paths, watching } from "./lying_gateway.js";
import { ok, serving } from "./raw_server.js";

const { requestBody, responses } = paths["/v2/portfolio/approvals/revoke"].post;
const RECORDED = responses[201].content["application/json"].example;
const ADDRESS = RECORDED.from;
const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const [TOKEN, SECOND, SPENDER] = ["0x00000000000000000000000000000000000000a1", "0x00000000000000000000000000000000000000a2", "0x00000000000000000000000000000000000000b1"];
const word = (value) => BigInt(value).toString(16).padStart(64, "0");
const approve = (spender, amount) => `0x095ea7b3${word(spender)}${word(amount)}`;
const lockdown = (...pairs) => `0xcc53287f${word(32)}${word(pairs.length)}${pairs.flat().map(word).join("")}`;

const BODY = {
  address: ADDRESS,
  network: "eip155:31337",
  approvals: [{ token: TOKEN, spender: SPENDER }, { token: SECOND, spender: SPENDER, kind: "permit2" }],
};

/** The recorded action, with a transaction for each approval of the request. */
function honest() {
  const action = structuredClone(RECORDED);
  const [transaction] = action.transactions;
  const [step] = action.steps;
  action.transactions = [
    { ...transaction, to: TOKEN, data: approve(SPENDER, 0), value: "0x0" },
    { ...transaction, to: PERMIT2, data: lockdown([SECOND, SPENDER]), value: "0x0" },
  ];
  action.steps = [step, step];
  return action;
}

async function revoking(t, action, body = BODY) {
  const server = await serving(t, ok(action));
  const qw = new Quoteway({ baseUrl: server.url });
  return { qw, server, revoking: qw.portfolio.revoke(body) };
}

test("the end of an allowance of a token and of one of Permit2 passes, and is sent in order", async (t) => {
  const { qw, revoking: asking, server } = await revoking(t, honest());
  const action = await asking;
  assert.deepEqual(JSON.parse(server.requests[0].body), BODY);
  const sent = [];
  const wallet = { ...watching(ADDRESS), sendTransaction: async (each) => `0xh${sent.push(each)}`, receipt: async (hash) => ({ hash, status: "success" }) };
  await qw.send(action, wallet);
  assert.deepEqual(sent.map(({ to, data, value }) => [to, data, value]), action.transactions.map(({ to, data }) => [to, data, 0n]));
});

test("what a real gateway answered passes", async (t) => {
  const body = structuredClone(requestBody.content["application/json"].example);
  assert.ok(body.approvals.length > 0);
  const { revoking: asking } = await revoking(t, RECORDED, body);
  assert.equal((await asking).kind, "revocation");
});

const CHANGES = {
  "an approval": ({ transactions: [first] }) => (first.data = approve(SPENDER, 1)),
  "an unlimited approval": ({ transactions: [first] }) => (first.data = `${approve(SPENDER, 0).slice(0, -64)}${"f".repeat(64)}`),
  "another spender": ({ transactions: [first] }) => (first.data = approve(OTHER, 0)),
  "another token": ({ transactions: [first] }) => (first.to = OTHER),
  "the token of Permit2's allowance": ({ transactions: [first] }) => (first.to = SECOND),
  "increaseAllowance": ({ transactions: [first] }) => (first.data = first.data.replace("095ea7b3", "39509351")),
  "a transfer": ({ transactions: [first] }) => (first.data = first.data.replace("095ea7b3", "a9059cbb")),
  "bytes behind the arguments": ({ transactions: [first] }) => (first.data += word(0)),
  "half a byte more": ({ transactions: [first] }) => (first.data += "0"),
  "arguments cut short": ({ transactions: [first] }) => (first.data = first.data.slice(0, -64)),
  "bytes before the spender": ({ transactions: [first] }) => (first.data = first.data.replace("095ea7b300", "095ea7b301")),
  "coins": ({ transactions: [first] }) => (first.value = "0x1"),
  "another network": ({ transactions: [first] }) => (first.chainId = 1),
  "a false Permit2": ({ transactions: [, second] }) => (second.to = OTHER),
  "another pair of Permit2": ({ transactions: [, second] }) => (second.data = lockdown([SECOND, OTHER])),
  "a further pair of Permit2": ({ transactions: [, second] }) => (second.data = lockdown([SECOND, SPENDER], [OTHER, SPENDER])),
  "a length that is not that of the list": ({ transactions: [, second] }) => (second.data = second.data.replace(word(1), word(2))),
  "another offset of the list": ({ transactions: [, second] }) => (second.data = second.data.replace(word(32), word(64))),
  "one more transaction": (action) => action.transactions.push(action.transactions[0]),
  "no transaction": (action) => (action.transactions = action.steps = []),
  "another sender": (action) => (action.from = OTHER),
  "another chain": (action) => (action.chainId = 1),
  "another kind": (action) => (action.kind = "swap"),
  "another recipient": (action) => action.recipients.push({ account: OTHER, role: "recipient" }),
  "a message to sign": (action) => (action.signatures = [{}]),
  "a permit": (action) => (action.permitOffers = [{}]),
};

for (const [name, change] of Object.entries(CHANGES)) {
  test(`an end of approvals with ${name} is refused, from the gateway and before it is sent`, async (t) => {
    const changed = honest();
    change(changed);
    const { revoking: asking } = await revoking(t, changed);
    await assert.rejects(asking, { name: "ActionMismatch", message: /Do not sign it\.$/ });

    const { qw, revoking: honestly } = await revoking(t, honest());
    const action = await honestly;
    change(action);
    const wallet = watching(ADDRESS);
    await assert.rejects(qw.send(action, wallet), { name: "ActionMismatch" });
    assert.deepEqual(wallet.asked, []);
  });
}

test("a token that is named by its symbol is not asked for, and a later change of the request does not count", async (t) => {
  const { revoking: asking, server } = await revoking(t, honest(), { ...BODY, approvals: [{ token: "USDC", spender: SPENDER }] });
  await assert.rejects(asking, { name: "TypeError", message: /must be an address/ });
  assert.equal(server.requests.length, 0);
  const body = structuredClone(BODY);
  const { revoking: second } = await revoking(t, honest(), body);
  body.approvals = [];
  assert.equal((await second).asked.approvals.length, 2);
});
