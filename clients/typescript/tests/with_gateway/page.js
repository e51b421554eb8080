// A swap in a page: bundled for the browser, it tells its server what came out.
import { Quoteway, toUnits, UpstreamError } from "@quoteway/client";
import { viemWallet } from "@quoteway/client/viem";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";

async function swap({ gateway, node, key }) {
  const account = privateKeyToAccount(key);
  const settings = { chain: foundry, transport: http(node) };
  const wallet = viemWallet(createWalletClient({ account, ...settings }), createPublicClient(settings));
  const qw = new Quoteway({ baseUrl: gateway });
  const quote = await qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: "USDC", amount: toUnits("0.1", 18), address: account.address });
  const sent = await qw.send(await qw.swaps.act(quote), wallet);
  const { match, status, realized } = await qw.transactions.report(sent);
  const refused = await qw.swaps.quote({ network: "devnet", fromToken: "native", toToken: "USDC", amount: 1n, address: account.address }).catch((error) => error);
  const left = new AbortController();
  const reason = await qw.networks.list({ signal: left.signal }).next().then(() => (left.abort("left"), qw.pools.list({}, { signal: left.signal }).next())).catch((error) => error);
  const redirected = await new Quoteway({ baseUrl: location.origin }).pools.list().next().catch((error) => error);
  return { match, status, vsQuoteBps: realized.vsQuoteBps, refused: [refused instanceof UpstreamError, refused.reason], reason, redirected: redirected.message };
}

const settings = await (await fetch("/settings")).json();
const told = await swap(settings).catch((error) => ({ failed: String(error?.stack ?? error) }));
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
