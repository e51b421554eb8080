// Flows against a running gateway and its local chains: quoted, signed, sent, and compared to the base unit.
// GATEWAY, NODE and NODE_L2 are URLs, KEY is the private key of a funded account.
import assert from "node:assert/strict";
import test from "node:test";
import { Quoteway, toUnits } from "@quoteway/client";
import { ethersWallet } from "@quoteway/client/ethers";
import { viemWallet } from "@quoteway/client/viem";
import { JsonRpcProvider, Wallet } from "ethers";
import { createPublicClient, createWalletClient, defineChain, erc20Abi, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const { GATEWAY, NODE, NODE_L2, KEY } = process.env;
const NATIVE = "0x0000000000000000000000000000000000000000";
const account = privateKeyToAccount(KEY);
const address = account.address;
const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
const chainOf = (id, url) => defineChain({ id, name: `Devnet ${id}`, nativeCurrency, rpcUrls: { default: { http: [url] } } });
const reader = createPublicClient({ chain: chainOf(31337, NODE), transport: http(), pollingInterval: 50, cacheTime: 0 });
const readerL2 = createPublicClient({ chain: chainOf(31338, NODE_L2), transport: http(), cacheTime: 0 });
const walletClient = createWalletClient({ account, chain: chainOf(31337, NODE), transport: http() });

const viem = viemWallet(walletClient, reader);
const provider = new JsonRpcProvider(NODE, undefined, { cacheTimeout: -1, pollingInterval: 50 });
const ethers = await ethersWallet(new Wallet(KEY, provider));
const qw = new Quoteway({ baseUrl: GATEWAY });
test.after(() => provider.destroy());

/** The first row of a list that fits. A list of a gateway that has just started is empty until its source has answered. */
async function first(list, fits = () => true) {
  for (const endsAt = Date.now() + 60_000; Date.now() < endsAt; await new Promise((resolve) => setTimeout(resolve, 100))) {
    for await (const each of list()) if (fits(each)) return each;
  }
  throw new Error("no source answered the list within 60 s");
}

const tokens = {};
for (const wanted of ["USDC", "WETH"]) {
  const { contracts } = await first(() => qw.tokens.list({ network: "devnet" }), (each) => each.symbol === wanted);
  tokens[wanted] = contracts.find((each) => each.chainId === 31337).address;
}

const balance = (token, owner = address, chain = reader) =>
  token === NATIVE ? chain.getBalance({ address: owner }) : chain.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });
const gasOf = ({ transactions }) => Promise.all(transactions.map(async ({ hash }) => {
  const { gasUsed, effectiveGasPrice } = await reader.getTransactionReceipt({ hash });
  return gasUsed * effectiveGasPrice;
})).then((costs) => costs.reduce((sum, cost) => sum + cost, 0n));

/** Sends an action, and compares what each token of it did with the quote. */
async function carriedOut(action, wallet, options) {
  const legs = [...action.quote.inputs, ...action.quote.outputs];
  const before = await Promise.all(legs.map((leg) => balance(leg.token.address, leg.account)));
  const sent = await qw.send(action, wallet, options);
  const after = await Promise.all(legs.map((leg) => balance(leg.token.address, leg.account)));
  const gas = await gasOf(sent);
  for (const [index, leg] of legs.entries()) {
    const sign = index < action.quote.inputs.length ? -1n : 1n;
    const paidGas = leg.token.isNative && leg.account === address ? gas : 0n;
    assert.equal(after[index] - before[index], sign * leg.amount - paidGas, `${leg.token.symbol}`);
  }
  const report = await qw.transactions.report(sent);
  assert.deepEqual([report.match, report.status, report.realized.vsQuoteBps], ["match", "confirmed", 0]);
  return sent;
}

for (const [name, wallet] of Object.entries({ viem, ethers })) {
  test(`${name}: the coin is sold`, async () => {
    const quote = await qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: tokens.USDC, amount: toUnits("0.1", 18), address });
    const seen = [];
    const sent = await carriedOut(await qw.swaps.act(quote), wallet, { onSent: (each) => seen.push(each.hash) });
    assert.deepEqual(seen, sent.transactions.map((each) => each.hash));
    assert.equal(sent.transactions[0].receipt.status, "success");
  });

  test(`${name}: a token is sold, with its approvals`, async () => {
    const recipient = "0x00000000000000000000000000000000C0FFEE01";
    const quote = await qw.swaps.quote({ network: "eip155:31337", fromToken: tokens.USDC, toToken: tokens.WETH, amount: toUnits("25.5", 6), address, toAddress: recipient });
    const action = await qw.swaps.act(quote);
    assert.deepEqual(action.steps.map((each) => each.kind), ["approval", "permit2_approval", "swap"]);
    await carriedOut(action, wallet);
  });

  test(`${name}: Permit2 by signature`, async () => {
    const quote = await qw.swaps.quote({ network: "devnet", fromToken: tokens.USDC, toToken: "native", amount: toUnits("10", 6), address, approvalMode: "permit2-signature" });
    const action = await qw.swaps.act(quote);
    assert.equal(action.signatures.length, 1);
    await carriedOut(action, wallet);
  });

  test(`${name}: liquidity is added, and removed with a permit in the place of the approval`, async () => {
    const pool = await first(() => qw.pools.list({ network: "devnet", protocol: "uniswap-v2", token: tokens.USDC }));
    const add = await qw.pools.quote(pool.id, { action: "add", asset: tokens.USDC, amount: toUnits("100", 6), address });
    await carriedOut(await qw.pools.act(add), wallet);
    const shares = await balance(pool.address);
    assert.ok(shares > 0n);
    const remove = await qw.pools.quote(pool.id, { action: "remove", asset: pool.address, amount: shares, address });
    const offered = await qw.pools.act(remove, { offerPermits: true });
    assert.equal(offered.permitOffers.length, 1);
    const sent = await carriedOut(offered, wallet);
    const [permit] = await Promise.all(sent.transactions.map(({ hash }) => reader.getTransaction({ hash })));
    assert.equal(permit.input.slice(0, 10), "0xd505accf");
    assert.equal(await balance(pool.address), 0n);
  });
}

test("an exact amount is bought", async () => {
  const quote = await qw.swaps.quote({ network: "devnet", fromToken: tokens.USDC, toToken: tokens.WETH, side: "exactOut", amount: toUnits("0.01", 18), address });
  await carriedOut(await qw.swaps.act(quote), viem);
});

test("a vault takes a deposit and pays everything back", async () => {
  const vault = await first(() => qw.vaults.list({ network: "devnet", asset: tokens.USDC }), (each) => each.isTransactional);
  const deposit = await qw.vaults.quote(vault.id, { action: "deposit", asset: tokens.USDC, amount: toUnits("5", 6), address });
  await qw.send(await qw.vaults.act(deposit), viem);
  assert.ok((await balance(vault.share.address)) > 0n);
  const withdraw = await qw.vaults.quote(vault.id, { action: "withdraw", asset: tokens.USDC, amount: "max", address });
  await qw.send(await qw.vaults.act(withdraw), viem);
  assert.equal(await balance(vault.share.address), 0n);
});

test("a transfer to the other chain is followed to its arrival", async () => {
  const quote = await qw.bridges.quote({ fromChain: "31337", toChain: "31338", fromToken: "native", toToken: "native", amount: toUnits("0.05", 18), address });
  const action = await qw.bridges.act(quote);
  assert.equal(action.tracking.destinationChainId, 31338);
  const before = await balance(NATIVE, address, readerL2);
  const sent = await qw.send(action, viem);
  const states = [];
  for await (const state of qw.follow(sent, { pollMs: 100, timeoutMs: 60_000 })) states.push(state.status);
  assert.equal(states.at(-1), "filled");
  assert.equal((await balance(NATIVE, address, readerL2)) - before, quote.outputs[0].amount);
});

test("a swap to another token on the other chain goes one by one only where the caller says so", async () => {
  const quote = await qw.swaps.quote({ fromChain: "devnet", toChain: "devnet-l2", fromToken: "native", toToken: tokens.USDC, amount: toUnits("0.2", 18), address });
  assert.equal(quote.provider, "swap+bridge");
  const action = await qw.swaps.act(quote);
  await assert.rejects(qw.send(action, viem), { name: "WalletError", message: /withoutBatch/ });
  const arriving = quote.outputs[0];
  const before = await balance(arriving.token.address, address, readerL2);
  const sent = await qw.send(action, viem, { withoutBatch: true });
  for await (const _ of qw.follow(sent, { pollMs: 100, timeoutMs: 60_000 }));
  assert.equal((await balance(arriving.token.address, address, readerL2)) - before, arriving.amount);
});

test("what the gateway refuses has its reason and the members", async () => {
  await assert.rejects(qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: tokens.USDC, amount: 0n, address }), (error) => {
    assert.deepEqual([error.name, error.status, error.details.fields[0].path], ["ValidationError", 422, "amount"]);
    return true;
  });
  await assert.rejects(qw.swaps.act({ ...(await qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: tokens.USDC, amount: 10n ** 15n, address })), quoteId: "x.y.z" }), {
    name: "NotFound",
    reason: "quote_invalid",
  });
  const poor = "0x00000000000000000000000000000000C0FFEE02";
  const quote = await qw.swaps.quote({ network: "devnet", fromToken: tokens.USDC, toToken: tokens.WETH, amount: 1_000_000n, address: poor });
  await assert.rejects(qw.send(await qw.swaps.act(quote), { ...viem, address: poor }), { name: "WalletError", message: /too little/ });
});

test("any operation is reached by its operationId", async () => {
  const answer = await qw.call("callRpc", { path: { chainId: "31337" }, body: { jsonrpc: "2.0", id: 1, method: "eth_chainId" } });
  assert.equal(answer.result, "0x7a69");
  const { data } = await qw.portfolio.balances({ wallet: address, network: "devnet" });
  assert.equal(typeof data[0].amount, "bigint");
  const networks = [];
  for await (const each of qw.networks.list()) networks.push(each.chainId);
  assert.deepEqual(networks.sort(), [31337, 31338]);
});
