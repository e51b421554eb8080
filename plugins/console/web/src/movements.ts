// What a transaction moved, as the chain has it: for what the gateway does not compare with a quote itself.
import { ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import type { Hex, TransactionReceipt } from "viem";
import { nodeOf } from "./wallets.js";

/** keccak256("Transfer(address,address,uint256)"), ERC-20. */
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/**
 * Returns what an account got by a transaction, in base units; less than zero where it paid. Of the native coin without the gas, and null where that is not
 * known: no log tells of it, so the balances before and after the block are compared, which other transactions of the account in that block would change too.
 */
export async function movedBy(chainId: number, hash: string, token: string, account: string): Promise<bigint | null> {
  const receipt = await nodeOf(chainId).waitForTransactionReceipt({ hash: hash as Hex });
  if (receipt.status !== "success") return 0n;
  return token === ZERO_ADDRESS ? coinMoved(chainId, receipt, account as Hex) : tokenMoved(receipt, token, account);
}

function tokenMoved({ logs }: TransactionReceipt, token: string, account: string): bigint {
  const padded = `0x${account.slice(2).toLowerCase().padStart(64, "0")}`;
  let sum = 0n;
  for (const { address, topics, data } of logs) {
    if (address.toLowerCase() !== token.toLowerCase() || topics[0] !== TRANSFER || topics.length !== 3) continue;
    if (topics[2] === padded) sum += BigInt(data);
    if (topics[1] === padded) sum -= BigInt(data);
  }
  return sum;
}

async function coinMoved(chainId: number, receipt: TransactionReceipt, address: Hex): Promise<bigint | null> {
  const node = nodeOf(chainId);
  const { blockNumber, from, gasUsed, effectiveGasPrice } = receipt;
  const at = (block: bigint) => Promise.all([node.getBalance({ address, blockNumber: block }), node.getTransactionCount({ address, blockNumber: block })]);
  try {
    const [[before, nonceBefore], [after, nonceAfter]] = await Promise.all([at(blockNumber - 1n), at(blockNumber)]);
    const isPayer = from.toLowerCase() === address.toLowerCase();
    // Its own transaction counts the nonce up, and an authorization of EIP-7702 in it once more.
    if (nonceAfter - nonceBefore > (isPayer ? 2 : 0)) return null;
    return after - before + (isPayer ? gasUsed * effectiveGasPrice + l1FeeOf(receipt) : 0n);
  } catch {
    return null;
  }
}

/** The fee for the data on the first layer, which nodes of rollups add to receipts. */
const l1FeeOf = (receipt: TransactionReceipt): bigint => BigInt((receipt as { l1Fee?: string | bigint }).l1Fee ?? 0n);
