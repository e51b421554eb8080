// Deploying, managing and rebalancing a vault: what does anything else is refused before anything is signed.
import assert from "node:assert/strict";
import test from "node:test";
import { Quoteway } from "@quoteway/client";
import { OTHER, paths, watching } from "./lying_gateway.js";
import { ok, serving } from "./raw_server.js";

const exampleOf = (path, status) => {
  const { requestBody, responses, parameters } = paths[path].post;
  const body = structuredClone(requestBody.content["application/json"].example);
  if (body.amount !== undefined) body.amount = BigInt(body.amount);
  return { body, answer: responses[status].content["application/json"].example, id: parameters?.find(({ name }) => name === "vaultId")?.example };
};
const QUOTE = exampleOf("/v2/vaults/deploy/quote", 200);
const DEPLOY = exampleOf("/v2/vaults/deploy/action", 201);
const MANAGE = exampleOf("/v2/vaults/{vaultId}/manage/action", 201);
const REBALANCE = exampleOf("/v2/vaults/{vaultId}/rebalance/action", 201);
const word = (value) => BigInt(value).toString(16).padStart(64, "0");
const THIEF = "0x00000000000000000000000000000000000bad00";
const [STEADY, BOLD] = ["0x00000000000000000000000000000000000000a1", "0x00000000000000000000000000000000000000a2"];

/** The recorded quote and action of one deployment. */
function honest() {
  const quote = structuredClone(QUOTE.answer);
  const action = structuredClone(DEPLOY.answer);
  quote.quoteId = action.quoteId;
  return { quote, action };
}

async function clientOf(t, answers) {
  const server = await serving(t, (socket, request) => ok(answers[request.path.endsWith("/quote") ? "quote" : "action"])(socket));
  return { qw: new Quoteway({ baseUrl: server.url }), server };
}

async function sentBy(qw, action) {
  const sent = [];
  const wallet = { ...watching(action.from), sendTransaction: async (each) => `0xh${sent.push(each)}`, receipt: async (hash) => ({ hash, status: "success" }) };
  await qw.send(action, wallet);
  return sent;
}

test("what a real gateway answered for a new vault passes, and is sent", async (t) => {
  const { qw, server } = await clientOf(t, honest());
  const action = await qw.vaults.deploy(await qw.vaults.quoteDeployment(QUOTE.body));
  const { quoteId, ...asked } = JSON.parse(server.requests[1].body);
  assert.deepEqual(asked, QUOTE.body);
  assert.equal(quoteId, DEPLOY.answer.quoteId);
  const [transaction, ...more] = await sentBy(qw, action);
  assert.deepEqual([transaction.to, transaction.data, transaction.value, more], [QUOTE.answer.factory, DEPLOY.answer.transactions[0].data, 0n, []]);
});

const QUOTES = {
  "another owner": ({ request }) => (request.owner = THIEF),
  "another owner in the arguments": ({ params }) => (params.owner = THIEF),
  "another bot": ({ params }) => (params.bot = THIEF),
  "no bot": ({ request }) => (request.bot = null),
  "another token": ({ params }) => (params.asset = THIEF),
  "another strategy": ({ request }) => (request.strategy = "bold-usdc"),
  "another network": (quote) => (quote.chainId = 1),
  "another network's name": (quote) => (quote.network = "ethereum"),
  "another kind": (quote) => (quote.kind = "swap"),
  "something to pay": (quote) => quote.inputs.push({ token: {}, amount: "1", account: OTHER }),
  "an approval": (quote) => (quote.approvals = [{}]),
  "no factory": (quote) => delete quote.factory,
  "no arguments": (quote) => delete quote.params,
  "a salt that is none": (quote) => (quote.salt = "0x00"),
};

for (const [name, change] of Object.entries(QUOTES)) {
  test(`a quote of a new vault with ${name} is refused`, async (t) => {
    const { quote, action } = honest();
    change(quote);
    const { qw } = await clientOf(t, { quote, action });
    const body = name === "another network" ? { ...QUOTE.body, network: "eip155:31337" } : QUOTE.body;
    await assert.rejects(qw.vaults.quoteDeployment(body), { name: "QuoteMismatch", message: /Do not sign it\.$/ });
  });
}

const swapped = (action, from, to) => {
  const [first] = action.transactions;
  assert.ok(first.data.includes(from));
  first.data = first.data.replace(from, to);
};
const bare = (address) => word(address).toLowerCase();
const COMMON = {
  "another sender": (action) => (action.from = THIEF),
  "another chain": (action) => (action.chainId = 1),
  "a transaction of another chain": ({ transactions: [first] }) => (first.chainId = 1),
  "another kind": (action) => (action.kind = "swap"),
  "another contract": ({ transactions: [first] }) => (first.to = THIEF),
  "coins": ({ transactions: [first] }) => (first.value = "0x1"),
  "an approval in its place": ({ transactions: [first] }) => (first.data = `0x095ea7b3${word(THIEF)}${"f".repeat(64)}`),
  "the ownership given away": ({ transactions: [first] }) => (first.data = `0xf2fde38b${word(THIEF)}`),
  "bytes behind the arguments": ({ transactions: [first] }) => (first.data += word(0)),
  "one more call": (action) => {
    action.transactions.push({ ...action.transactions[0], data: `0x6b5caec4${word(THIEF)}` });
    action.steps.push(action.steps[0]);
  },
  "the same call again": (action) => {
    action.transactions.push(action.transactions[0]);
    action.steps.push(action.steps[0]);
  },
  "no transaction": (action) => (action.transactions = action.steps = []),
  "a transaction without a step": (action) => (action.steps = []),
  "another recipient": (action) => action.recipients.push({ network: "devnet", chainId: 31337, account: THIEF }),
  "something to pay": (action) => action.inputs.push({ token: {}, amount: "1", account: OTHER }),
  "a message to sign": (action) => (action.signatures = [{}]),
  "a permit": (action) => (action.permitOffers = [{}]),
};
const OF_ONE = {
  deploy: {
    "another owner": (action) => swapped(action, bare(QUOTE.body.owner), word(THIEF)),
    "another owner in words": ({ params }) => (params.owner = THIEF),
    "another bot": (action) => swapped(action, bare(QUOTE.body.bot), word(THIEF)),
    "another strategy": (action) => swapped(action, bare(QUOTE.answer.params.strategy), word(THIEF)),
    "another salt": (action) => swapped(action, QUOTE.answer.salt.slice(2), word(1)),
    "another quote": (action) => (action.quoteId = "another"),
    "another address of the vault": (action) => (action.predictedAddress = THIEF),
  },
  manage: {
    "another cap": (action) => swapped(action, word(5_000_000_000n), word(1)),
    "another action": ({ transactions: [first] }) => (first.data = "0x8456cb59"),
  },
  rebalance: {
    "no bound of the loss": ({ transactions: [first] }) => (first.data = first.data.slice(0, -64) + word(0)),
    "less than all": ({ transactions: [first] }) => (first.data = first.data.replace("f".repeat(64), word(1))),
    "the vault as its target": (action) => swapped(action, action.transactions[0].data.slice(74, 138), bare(REBALANCE.id.split(":")[1])),
    "a target that is no address": ({ transactions: [first] }) => (first.data = `${first.data.slice(0, 74)}1${first.data.slice(75)}`),
  },
};
const ASKING = {
  deploy: async (qw) => qw.vaults.deploy(await qw.vaults.quoteDeployment(QUOTE.body)),
  manage: (qw) => qw.vaults.manage(MANAGE.id, MANAGE.body),
  rebalance: (qw) => qw.vaults.rebalance(REBALANCE.id, REBALANCE.body),
};
const ANSWERS = {
  deploy: honest,
  manage: () => ({ quote: null, action: structuredClone(MANAGE.answer) }),
  rebalance: () => ({ quote: null, action: structuredClone(REBALANCE.answer) }),
};

for (const [operation, ask] of Object.entries(ASKING)) {
  for (const [name, change] of Object.entries({ ...COMMON, ...OF_ONE[operation] })) {
    test(`${operation} with ${name} is refused, from the gateway and before it is sent`, async (t) => {
      const changed = ANSWERS[operation]();
      change(changed.action);
      const { qw: lied } = await clientOf(t, changed);
      await assert.rejects(ask(lied), { name: "ActionMismatch", message: /Do not sign it\.$/ });

      const { qw } = await clientOf(t, ANSWERS[operation]());
      const action = await ask(qw);
      change(action);
      const wallet = watching(DEPLOY.answer.from);
      await assert.rejects(qw.send(action, wallet), { name: "ActionMismatch" });
      assert.deepEqual(wallet.asked, []);
    });
  }
}

for (const operation of ["manage", "rebalance"]) {
  test(`what a real gateway answered to ${operation} passes, and is sent`, async (t) => {
    const { qw } = await clientOf(t, ANSWERS[operation]());
    const action = await ASKING[operation](qw);
    assert.deepEqual((await sentBy(qw, action)).map(({ data }) => data), action.transactions.map(({ data }) => data));
  });
}

const VAULT = MANAGE.id.split(":")[1];
const move = (source, target, amount, least) => `0x6e49db1c${[source, target, amount, least].map(word).join("")}`;
const withCalls = (calls) => ({
  quote: null,
  action: { ...structuredClone(REBALANCE.answer), transactions: calls.map((data) => ({ to: VAULT, data, value: "0x0", chainId: 31337 })), steps: calls.map(() => REBALANCE.answer.steps[0]) },
});

test("an amount is moved exactly, from several places, and to the strategy that is asked for", async (t) => {
  const body = { address: REBALANCE.body.address, amount: 30n, strategy: STEADY };
  const passes = async (calls, asked = body) => (await clientOf(t, withCalls(calls))).qw.vaults.rebalance(MANAGE.id, asked);
  await passes([move(VAULT, STEADY, 10, 90), move(BOLD, STEADY, 20, 90)]);
  const refused = { name: "ActionMismatch" };
  await assert.rejects(passes([move(VAULT, STEADY, 10, 90), move(BOLD, STEADY, 21, 90)]), refused);
  await assert.rejects(passes([move(VAULT, STEADY, 10, 90)]), refused);
  await assert.rejects(passes([move(VAULT, BOLD, 30, 90)]), refused);
  await assert.rejects(passes([move(VAULT, STEADY, 10, 90), move(STEADY, BOLD, 20, 90)]), refused);
  await assert.rejects(passes([move(VAULT, STEADY, 10, 90), move(VAULT, STEADY, 20, 90)]), refused);
  await assert.rejects(passes([move(BOLD, STEADY, 30, 90)], { address: body.address, amount: 30n }), refused);
});

test("the argument of each management action is the one that was asked for", async (t) => {
  const { address } = MANAGE.body;
  const passes = async (body, data) => {
    const action = structuredClone(MANAGE.answer);
    action.transactions[0].data = data;
    return (await clientOf(t, { quote: null, action })).qw.vaults.manage(MANAGE.id, { address, ...body });
  };
  const refused = { name: "ActionMismatch" };
  await passes({ action: "setBot", bot: OTHER }, `0x6b5caec4${word(OTHER)}`);
  await assert.rejects(passes({ action: "setBot", bot: OTHER }, `0x6b5caec4${word(THIEF)}`), refused);
  await passes({ action: "setCap", amount: "max" }, `0x47786d37${"f".repeat(64)}`);
  await assert.rejects(passes({ action: "setCap", amount: "max" }, `0x47786d37${word(1)}`), refused);
  await passes({ action: "addStrategy", strategy: STEADY }, `0x223e5479${word(STEADY)}`);
  await assert.rejects(passes({ action: "addStrategy", strategy: STEADY }, `0x223e5479${word(THIEF)}`), refused);
  await passes({ action: "removeStrategy", strategy: "steady-usdc" }, `0x175188e8${word(STEADY)}`);
  await assert.rejects(passes({ action: "removeStrategy", strategy: "steady-usdc" }, `0x175188e8${"f".repeat(64)}`), refused);
  for (const [action, selector] of [["harvest", "4641257d"], ["pause", "8456cb59"], ["unpause", "3f4ba83a"]]) {
    await passes({ action }, `0x${selector}`);
    await assert.rejects(passes({ action }, `0x${selector}${word(1)}`), refused);
  }
});

test("what cannot be compared is not asked for", async (t) => {
  const { qw, server } = await clientOf(t, honest());
  const refused = { name: "TypeError" };
  await assert.rejects(qw.vaults.quoteDeployment({ ...QUOTE.body, owner: "vitalik.eth" }), refused);
  await assert.rejects(qw.vaults.quoteDeployment({ ...QUOTE.body, asset: "USDC" }), refused);
  await assert.rejects(qw.vaults.manage(MANAGE.id, { ...MANAGE.body, address: "vitalik.eth" }), refused);
  await assert.rejects(qw.vaults.manage(MANAGE.id, { action: "setBot", address: OTHER, bot: "vitalik.eth" }), refused);
  await assert.rejects(qw.vaults.manage(MANAGE.id, { action: "claim", address: OTHER }), refused);
  await assert.rejects(qw.vaults.manage(`devnet:${VAULT}`, MANAGE.body), refused);
  assert.equal(server.requests.length, 0);
});
