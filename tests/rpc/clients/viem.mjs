// viem with its defaults, and with batches.
import assert from "node:assert/strict";
import { createPublicClient, createWalletClient, defineChain, http, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { gateway, key, node, run, until, weth } from "./flows.mjs";

const abi = parseAbi([
  "event Deposit(address indexed dst, uint256 wad)",
  "function balanceOf(address) view returns (uint256)",
  "function withdraw(uint256 wad)",
]);
const chain = defineChain({
  id: 31337,
  name: "Devnet",
  nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
  rpcUrls: { default: { http: [gateway] } },
});
const account = privateKeyToAccount(key);
const direct = createPublicClient({ chain, transport: http(node), pollingInterval: 50 });
const wallet = createWalletClient({ account, chain, transport: http(node) });
const single = createPublicClient({ chain, transport: http(gateway) });
const batched = createPublicClient({ chain, transport: http(gateway, { batch: true }) });
const polling = createPublicClient({ chain, transport: http(gateway), pollingInterval: 100 });

const deposit = async (value = 1n) => {
  const hash = await wallet.sendTransaction({ to: weth, value, data: "0xd0e30db0" });
  return direct.waitForTransactionReceipt({ hash });
};

const flows = {};
for (const [name, client] of Object.entries({ defaults: single, batches: batched })) {
  Object.assign(flows, {
    [`${name}: network detection`]: async () => {
      assert.equal(await client.getChainId(), 31337);
    },
    [`${name}: many calls at once`]: async () => {
      const balances = await Promise.all(
        // A batch of viem has up to 1,000 calls; more than the gateway's 100 need `batchSize: 100`.
        Array.from({ length: 100 }, (_, n) => client.getBalance({ address: `0x${(n + 1).toString(16).padStart(40, "0")}` })),
      );
      assert.equal(balances.length, 100);
    },
    [`${name}: balance, code, call, estimate, fees`]: async () => {
      assert.ok((await client.getBalance({ address: account.address })) > 0n);
      assert.equal(await client.getCode({ address: weth }), await direct.getCode({ address: weth }));
      const read = { address: weth, abi, functionName: "balanceOf", args: [account.address] };
      assert.equal(await client.readContract(read), await direct.readContract(read));
      assert.ok((await client.estimateGas({ account: account.address, to: weth, value: 1n, data: "0xd0e30db0" })) > 21_000n);
      assert.ok((await client.estimateFeesPerGas()).maxFeePerGas > 0n);
      assert.ok((await client.getGasPrice()) > 0n);
      assert.ok((await client.getFeeHistory({ blockCount: 2, rewardPercentiles: [50] })).baseFeePerGas.length);
    },
    [`${name}: a revert`]: async () => {
      await assert.rejects(
        client.simulateContract({ account, address: weth, abi, functionName: "withdraw", args: [2n ** 255n] }),
        (error) => error.name === "ContractFunctionExecutionError",
      );
    },
    [`${name}: a transaction: block, receipt, logs`]: async () => {
      const hash = await wallet.sendTransaction({ to: weth, value: 5n, data: "0xd0e30db0" });
      const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 100 });
      assert.equal(receipt.status, "success");
      const block = await client.getBlock({ blockHash: receipt.blockHash, includeTransactions: true });
      assert.equal(block.transactions[0].hash, hash);
      const [log] = await client.getLogs({ address: weth, event: abi[0], blockHash: receipt.blockHash });
      assert.equal(log.args.wad, 5n);
    },
    [`${name}: a method that is refused`]: async () => {
      const refused = { method: "eth_sendRawTransaction", params: ["0x02"] };
      const [one, two] = await Promise.allSettled([client.request(refused), client.getBlockNumber()]);
      assert.equal(one.reason.name, "MethodNotFoundRpcError");
      assert.equal(two.status, "fulfilled");
      await assert.rejects(client.request({ method: "eth_getBalance", params: [] }), { name: "InvalidParamsRpcError" });
    },
  });
}
Object.assign(flows, {
  "more calls than a batch has": async () => {
    const client = createPublicClient({ chain, transport: http(gateway, { batch: { batchSize: 100 } }) });
    const blocks = await Promise.all(Array.from({ length: 350 }, (_, n) => client.getBalance({ address: `0x${(n + 1).toString(16).padStart(40, "0")}` })));
    assert.equal(blocks.length, 350);
  },
  "filters by hand": async () => {
    const events = await single.createContractEventFilter({ address: weth, abi, eventName: "Deposit" });
    const blocks = await single.createBlockFilter();
    assert.deepEqual(await single.getFilterChanges({ filter: events }), []);
    const receipt = await deposit(9n);
    const [log] = await until(async () => {
      const found = await single.getFilterChanges({ filter: events });
      return found.length ? found : null;
    });
    assert.equal(log.args.wad, 9n);
    assert.deepEqual(await single.getFilterChanges({ filter: blocks }), [receipt.blockHash]);
    assert.equal(await single.uninstallFilter({ filter: events }), true);
    assert.equal(await single.uninstallFilter({ filter: events }), false);
    await assert.rejects(single.getFilterChanges({ filter: events }), { name: "InvalidInputRpcError" });
  },
  "filter logs": async () => {
    const before = await single.getBlockNumber({ cacheTime: 0 });
    const filter = await single.createContractEventFilter({ address: weth, abi, eventName: "Deposit", fromBlock: before + 1n });
    await deposit(3n);
    assert.deepEqual((await single.getFilterLogs({ filter })).map((log) => log.args.wad), [3n]);
  },
  "watching events": async () => {
    const seen = [];
    const errors = [];
    const unwatch = polling.watchContractEvent({
      address: weth,
      abi,
      eventName: "Deposit",
      onLogs: (logs) => seen.push(...logs.map((log) => log.args.wad)),
      onError: (error) => errors.push(error),
    });
    await until(async () => {
      await deposit(11n);
      return seen.includes(11n);
    });
    unwatch();
    assert.deepEqual(errors, []);
  },
  "watching blocks": async () => {
    const seen = [];
    const unwatch = polling.watchBlocks({ onBlock: (block) => seen.push(block.number) });
    await until(async () => {
      await deposit();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return seen.length > 1;
    });
    unwatch();
  },
});
await run(flows);
