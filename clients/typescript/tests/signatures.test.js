// Messages to sign: only a Permit2 allowance or a permit for exactly what is paid reaches the wallet.
import assert from "node:assert/strict";
import test from "node:test";
import { checkMessages } from "@quoteway/client";
import { lying, OTHER, watching } from "./lying_gateway.js";

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const fields = (text) => text.split(",").map((each) => ({ type: each.split(" ")[0], name: each.split(" ")[1] }));

function withPermit2(action) {
  const [, , swap] = action.transactions;
  action.signatures = [
    {
      kind: "permit2",
      typedData: {
        types: {
          EIP712Domain: fields("string name,uint256 chainId,address verifyingContract"),
          PermitSingle: fields("PermitDetails details,address spender,uint256 sigDeadline"),
          PermitDetails: fields("address token,uint160 amount,uint48 expiration,uint48 nonce"),
        },
        primaryType: "PermitSingle",
        domain: { name: "Permit2", chainId: 31337, verifyingContract: PERMIT2 },
        message: {
          details: { token: action.inputs[0].token.address, amount: action.inputs[0].amount, expiration: "1795772341", nonce: "0" },
          spender: swap.to,
          sigDeadline: "1795772341",
        },
      },
      appliesTo: { transaction: 2, offset: 4, length: 65 },
    },
  ];
}

function withPermit(action) {
  const { approval } = action.steps[0];
  const values = { spender: approval.spender, value: approval.required, nonce: "0", deadline: 1795772341 };
  action.permitOffers = [
    {
      permit: { token: approval.token, ...values },
      typedData: {
        types: {
          EIP712Domain: fields("string name,string version,uint256 chainId,address verifyingContract"),
          Permit: fields("address owner,address spender,uint256 value,uint256 nonce,uint256 deadline"),
        },
        primaryType: "Permit",
        domain: { name: "USD Coin", version: "2", chainId: 31337, verifyingContract: approval.token },
        message: { owner: action.from, ...values, deadline: "1795772341" },
      },
    },
  ];
}

const typed = (change) => (action) => change((action.signatures[0] ?? action.permitOffers[0]).typedData);
const BOTH = {
  "another primary type": typed((data) => (data.primaryType = "OrderComponents")),
  "one more type": typed((data) => (data.types.Order = fields("address maker"))),
  "another network": typed((data) => (data.domain.chainId = 1)),
  "another contract": typed((data) => (data.domain.verifyingContract = OTHER)),
  "another spender": typed((data) => (data.message.spender = OTHER)),
  "no message": typed((data) => delete data.message),
  "no types": typed((data) => (data.types = null)),
};
const CASES = {
  "a Permit2 signature": [
    withPermit2,
    {
      ...BOTH,
      "another meaning of a type": typed((data) => (data.types.PermitDetails = fields("address token,uint160 nonce,uint48 expiration,uint48 amount"))),
      "another domain": typed((data) => (data.domain.name = "Permit3")),
      "another token": typed((data) => (data.message.details.token = OTHER)),
      "a higher amount": typed((data) => (data.message.details.amount = "1000000001")),
      "an allowance without end": typed((data) => (data.message.details.expiration = String(2 ** 48 - 1))),
      "a signature without end": typed((data) => (data.message.sigDeadline = String(2 ** 48 - 1))),
      "an amount that is none": typed((data) => (data.message.details.amount = 1e9)),
      "no transaction": (action) => (action.signatures[0].appliesTo.transaction = 7),
    },
  ],
  "a permit": [
    withPermit,
    {
      ...BOTH,
      "another meaning of a type": typed((data) => (data.types.Permit = fields("address owner,address spender,uint256 nonce,uint256 value,uint256 deadline"))),
      "another owner": typed((data) => (data.message.owner = OTHER)),
      "a higher amount": (action) => (action.permitOffers[0].permit.value = action.permitOffers[0].typedData.message.value = "1000000001"),
      "another nonce": typed((data) => (data.message.nonce = "1")),
      "another deadline": typed((data) => (data.message.deadline = "1795772342")),
      "no end": (action) => (action.permitOffers[0].typedData.message.deadline = String((action.permitOffers[0].permit.deadline = 2 ** 48 - 1))),
      "two amounts": typed((data) => (data.message.value = "999999999")),
      "another spender than the approval": (action) => (action.permitOffers[0].permit.spender = action.permitOffers[0].typedData.message.spender = OTHER),
      "another token": (action) => (action.permitOffers[0].permit.token = action.permitOffers[0].typedData.domain.verifyingContract = OTHER),
    },
  ],
};

for (const [kind, [make, changes]] of Object.entries(CASES)) {
  for (const [name, change] of [["nothing wrong", () => {}], ...Object.entries(changes)]) {
    test(`${kind} with ${name}`, async (t) => {
      const { qw, body } = await lying(t, "swaps", { act: (action) => (make(action), change(action)) });
      const action = await qw.swaps.act(await qw.swaps.quote(body));
      const wallet = watching(body.address);
      const honest = name === "nothing wrong";
      await assert.rejects(qw.send(action, wallet), honest ? /the user refuses/ : { name: "ActionMismatch" });
      assert.deepEqual(wallet.asked, honest ? ["signTypedData"] : []);
      const look = () => checkMessages(action);
      if (honest) look();
      else assert.throws(look, { name: "ActionMismatch" });
    });
  }
}

test("a signature goes where the gateway says, and nowhere else", async (t) => {
  for (const [appliesTo, fits] of [
    [{ transaction: 2, offset: 4, length: 65 }, true],
    [{ transaction: 2, offset: 0, length: 65 }, false],
    [{ transaction: 2, offset: 1_000_000, length: 65 }, false],
    [{ transaction: 2, offset: 4, length: 64 }, false],
  ]) {
    const { qw, body, action } = await lying(t, "swaps", { act: (action) => (withPermit2(action), Object.assign(action.signatures[0].appliesTo, appliesTo)) });
    const sent = [];
    const signTypedData = async () => `0x${"ab".repeat(65)}`;
    const receipt = async (hash) => ({ hash, status: "success" });
    const wallet = { ...watching(body.address), signTypedData, receipt, sendTransaction: async (each) => `0x${sent.push(each)}` };
    const sending = qw.send(await qw.swaps.act(await qw.swaps.quote(body)), wallet);
    if (!fits) {
      await assert.rejects(sending, { name: "ActionMismatch", member: "signatures.appliesTo" });
      assert.deepEqual(sent, []);
      continue;
    }
    await sending;
    const { data } = action.transactions[2];
    assert.equal(sent[2].data, data.slice(0, 10) + "ab".repeat(65) + data.slice(140));
  }
});

test("a signature that is no key's is not sent", async (t) => {
  const { qw, body } = await lying(t, "swaps", { act: withPermit2 });
  const wallet = { ...watching(body.address), signTypedData: async () => "0x1271" };
  await assert.rejects(qw.send(await qw.swaps.act(await qw.swaps.quote(body)), wallet), { name: "WalletError", message: /not 65 bytes/ });
  assert.deepEqual(wallet.asked, []);
});
