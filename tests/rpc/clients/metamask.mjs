// MetaMask's provider for a custom network: the layers of its network controller, in their order.
// Its RpcService is a fetch with retries; the one below sends what it sends.
import assert from "node:assert/strict";
import { PollingBlockTracker } from "@metamask/eth-block-tracker";
import {
  createBlockCacheMiddleware,
  createBlockRefRewriteMiddleware,
  createBlockTrackerInspectorMiddleware,
  createFetchMiddleware,
  createInflightCacheMiddleware,
  createRetryOnEmptyMiddleware,
} from "@metamask/eth-json-rpc-middleware";
import { providerFromMiddleware } from "@metamask/eth-json-rpc-provider";
import { mergeMiddleware } from "@metamask/json-rpc-engine";
import { Wallet, JsonRpcProvider } from "ethers";
import { gateway, key, node, run, until, weth } from "./flows.mjs";

const rpcService = {
  async request(call) {
    const response = await fetch(gateway, {
      method: "POST",
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: JSON.stringify(call),
    });
    assert.equal(response.status, 200);
    return response.json();
  },
};
const fetching = createFetchMiddleware({ rpcService });
const blockTracker = new PollingBlockTracker({
  provider: providerFromMiddleware(fetching),
  pollingInterval: 200,
  keepEventLoopActive: true,
});
const provider = providerFromMiddleware(
  mergeMiddleware([
    createBlockRefRewriteMiddleware({ blockTracker }),
    createBlockCacheMiddleware({ blockTracker }),
    createInflightCacheMiddleware(),
    createRetryOnEmptyMiddleware({ blockTracker, provider: providerFromMiddleware(fetching) }),
    createBlockTrackerInspectorMiddleware({ blockTracker }),
    fetching,
  ]),
);
const request = (method, params = []) => provider.request({ method, params });
const wallet = new Wallet(key, new JsonRpcProvider(node, undefined, { cacheTimeout: -1 }));

await run({
  "adding a network": async () => {
    assert.equal(await request("eth_chainId"), "0x7a69");
    assert.equal(await request("net_version"), "31337");
    const block = await request("eth_getBlockByNumber", ["latest", false]);
    assert.ok(block.baseFeePerGas, "EIP-1559 is detected by this member");
  },
  "the account's page": async () => {
    assert.ok(BigInt(await request("eth_getBalance", [wallet.address, "latest"])) > 0n);
    assert.ok((await request("eth_getCode", [weth, "latest"])).length > 2);
    assert.ok(BigInt(await request("eth_getTransactionCount", [wallet.address, "pending"])) >= 0n);
    const balance = `0x70a08231${wallet.address.slice(2).padStart(64, "0")}`;
    assert.equal((await request("eth_call", [{ to: weth, data: balance }, "latest"])).length, 66);
  },
  "confirming a transaction": async () => {
    assert.ok(BigInt(await request("eth_gasPrice")) > 0n);
    assert.ok((await request("eth_feeHistory", ["0x5", "latest", [10, 20, 30]])).baseFeePerGas.length);
    const sent = { from: wallet.address, to: weth, value: "0x1", data: "0xd0e30db0" };
    assert.ok(BigInt(await request("eth_estimateGas", [sent])) > 21_000n);
  },
  "following a transaction": async () => {
    const { hash } = await wallet.sendTransaction({ to: weth, value: 1n, data: "0xd0e30db0" });
    const receipt = await until(() => request("eth_getTransactionReceipt", [hash]));
    assert.equal(receipt.status, "0x1");
    assert.equal((await request("eth_getBlockByHash", [receipt.blockHash, false])).hash, receipt.blockHash);
    assert.equal((await request("eth_getTransactionByHash", [hash])).hash, hash);
  },
  "the block tracker": async () => {
    const seen = [];
    blockTracker.on("latest", (number) => seen.push(number));
    await until(async () => {
      await (await wallet.sendTransaction({ to: weth, value: 1n, data: "0xd0e30db0" })).wait();
      return seen.length > 1;
    });
    blockTracker.removeAllListeners("latest");
  },
  "a method that is refused": async () => {
    await assert.rejects(request("eth_sendRawTransaction", ["0x02"]), (error) => error.data.code === -32601);
    assert.equal(await request("net_version"), "31337");
  },
});
