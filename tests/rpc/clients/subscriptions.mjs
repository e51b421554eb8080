// ethers v6 and viem over WebSocket with their defaults: node subscriptions.mjs <client> <ws url> <weth>
// Prints "ready" when the subscriptions stand, then {heads, logs} as JSON after the third log.
import { createPublicClient, parseAbi, webSocket } from "viem";
import { Contract, WebSocketProvider } from "ethers";

const [, , client, url, weth] = process.argv;
const heads = [];
const logs = [];
const event = "event Deposit(address indexed dst, uint256 wad)";

process.on("unhandledRejection", (error) => {
  console.error(error);
  process.exit(1);
});

async function done() {
  if (logs.length < 3 || heads.length < 3) return;
  console.log(JSON.stringify({ heads, logs }));
  process.exit(0);
}

const programs = {
  async ethers() {
    const provider = new WebSocketProvider(url);
    const token = new Contract(weth, [event, "function balanceOf(address) view returns (uint256)"], provider);
    if ((await provider.getNetwork()).chainId !== 31337n) throw new Error("another chain");
    await token.balanceOf(weth);
    await provider.on("block", (number) => {
      heads.push(number);
      done();
    });
    await token.on("Deposit", (dst, wad, payload) => {
      logs.push([payload.log.blockNumber, wad.toString()]);
      done();
    });
    // ethers subscribes in the background; the next answer comes after those.
    await provider.send("eth_chainId", []);
    await new Promise((resolve) => setTimeout(resolve, 500));
  },
  async viem() {
    const provider = createPublicClient({ transport: webSocket(url) });
    if ((await provider.getChainId()) !== 31337) throw new Error("another chain");
    await provider.getBalance({ address: weth });
    // watchBlocks reads each block by a call of its own, whose answers may overtake each other.
    provider.watchBlockNumber({
      onBlockNumber: (number) => {
        heads.push(Number(number));
        done();
      },
    });
    provider.watchContractEvent({
      address: weth,
      abi: parseAbi([event]),
      eventName: "Deposit",
      onLogs: (entries) => {
        for (const entry of entries) logs.push([Number(entry.blockNumber), entry.args.wad.toString()]);
        done();
      },
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
  },
};
await programs[client]();
console.log("ready");
