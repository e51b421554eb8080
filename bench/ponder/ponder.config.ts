// All transfers of one token on a local chain, in a database of files.
import { createConfig } from "ponder";

export const abi = [
  {
    type: "event",
    name: "Transfer",
    inputs: [
      { name: "from", type: "address", indexed: true },
      { name: "to", type: "address", indexed: true },
      { name: "value", type: "uint256", indexed: false },
    ],
  },
] as const;

export default createConfig({
  database: { kind: "pglite", directory: process.env.BENCH_FOLDER! },
  chains: { local: { id: 31337, rpc: process.env.BENCH_NODE!, maxRequestsPerSecond: 10_000 } },
  contracts: {
    Token: {
      chain: "local",
      abi,
      address: process.env.BENCH_TOKEN as `0x${string}`,
      startBlock: Number(process.env.BENCH_FIRST_BLOCK),
    },
  },
});
