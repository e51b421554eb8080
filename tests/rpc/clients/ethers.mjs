// ethers v6 with its defaults: calls of one turn leave as a batch.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider, Wallet, formatEther } from "ethers";
import { gateway, key, node, run, until, weth } from "./flows.mjs";

const ABI = [
  "event Deposit(address indexed dst, uint256 wad)",
  "function balanceOf(address) view returns (uint256)",
  "function deposit() payable",
  "function withdraw(uint256 wad)",
];

const provider = new JsonRpcProvider(gateway);
const direct = new JsonRpcProvider(node, undefined, { cacheTimeout: -1, pollingInterval: 50 });
const wallet = new Wallet(key, direct);
const token = new Contract(weth, ABI, provider);
const deposit = async (value = 1n) => (await token.connect(wallet).deposit({ value })).wait();

await run({
  "network detection": async () => {
    assert.equal((await provider.getNetwork()).chainId, 31337n);
  },
  "a batch of many calls": async () => {
    const accounts = Array.from({ length: 250 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, "0")}`);
    const balances = await Promise.all(accounts.map((account) => provider.getBalance(account)));
    assert.equal(balances.length, 250);
  },
  "balance, code, nonce, storage": async () => {
    assert.ok(Number(formatEther(await provider.getBalance(wallet.address))) > 1);
    assert.equal(await provider.getCode(weth), await direct.getCode(weth));
    assert.equal(await provider.getTransactionCount(wallet.address), await direct.getTransactionCount(wallet.address));
    assert.equal(await provider.getStorage(weth, 0), await direct.getStorage(weth, 0));
  },
  "call, estimate, fee data": async () => {
    assert.equal(await token.balanceOf(wallet.address), await token.connect(direct).balanceOf(wallet.address));
    assert.ok((await token.connect(provider).deposit.estimateGas({ value: 1n, from: wallet.address })) > 21_000n);
    assert.ok((await provider.getFeeData()).maxFeePerGas > 0n);
  },
  "a revert": async () => {
    await assert.rejects(
      provider.call({ to: weth, data: `0x2e1a7d4d${"ff".repeat(32)}` }),
      (error) => error.code === "CALL_EXCEPTION",
    );
  },
  "a transaction: block, receipt, logs": async () => {
    const sent = await wallet.sendTransaction({ to: weth, value: 5n, data: "0xd0e30db0" });
    const receipt = await provider.waitForTransaction(sent.hash);
    assert.equal(receipt.status, 1);
    const block = await provider.getBlock(receipt.blockNumber, true);
    assert.equal(block.prefetchedTransactions[0].hash, sent.hash);
    assert.equal((await provider.getTransaction(sent.hash)).value, 5n);
    const logs = await token.queryFilter("Deposit", receipt.blockNumber, receipt.blockNumber);
    assert.equal(logs[0].args.wad, 5n);
    assert.equal((await provider.getLogs({ blockHash: receipt.blockHash, address: weth })).length, 1);
  },
  "blocks by polling": async () => {
    const seen = [];
    provider.on("block", (number) => seen.push(number));
    await until(async () => {
      await deposit();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return seen.length > 1;
    });
    await provider.off("block");
  },
  "events by a filter": async () => {
    const seen = [];
    const listener = (dst, wad) => seen.push(wad);
    await token.on("Deposit", listener);
    // ethers makes the filter at its first poll.
    await until(async () => {
      await deposit(7n);
      await new Promise((resolve) => setTimeout(resolve, 500));
      return seen.includes(7n);
    });
    await token.off("Deposit", listener);
  },
  "a method that is refused is an error of that call alone": async () => {
    const [refused, wrong, number] = await Promise.allSettled([
      provider.send("eth_sendRawTransaction", ["0x02"]),
      provider.send("eth_getBlockByNumber", { block: "latest" }),
      provider.getBlockNumber(),
    ]);
    assert.equal(refused.reason.code, "UNSUPPORTED_OPERATION");
    assert.equal(wrong.status, "rejected");
    assert.equal(number.status, "fulfilled");
    await assert.rejects(provider.listAccounts());
    await assert.rejects(provider.getSigner());
  },
});
