// What could not be read, in words.
import { ZERO_ADDRESS } from "../../../../clients/typescript/src/comparing.js";
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { plain, short } from "./text.js";

const WORDS: Readonly<Record<string, string>> = {
  rpc_error: "its node does not answer as it should",
  provider_timeout: "it does not answer in time",
  provider_error: "it fails",
  behind: "its node is behind the block that was asked for",
  token_limit: "its list of tokens is longer than what one request reads",
  index_unavailable: "there is no index of it, so tokens that are in no list may be missing",
  index_incomplete: "its index is not complete, so tokens that are in no list may be missing",
  index_behind: "its index is behind the chain, so tokens that are in no list may be missing",
  call_failed: "its contract does not answer",
  short_answer: "its contract answers with something else than a balance",
  out_of_gas: "its contract uses all gas",
  no_token: "there is no token at this address",
  logs_unavailable: "its node gives no logs, so approvals for spenders that no provider names may be missing",
  not_indexed: "it is not in the index, so it does not count",
  positions_not_counted: "positions in pools and vaults do not count",
  position_not_counted: "it is a share of a position, which does not count",
  balance_unexplained: "its transfers do not explain its balance, so it does not count",
  transfer_limit: "it has more transfers than one request reads, so it does not count",
  position_limit: "it has more positions than one request reads",
  transaction_not_found: "its node does not have it",
};

type Part = Schemas["Partial"] | Schemas["FailedSource"];

function reasonOf(part: Part): string {
  if ("provider" in part && part.reason === "index_unavailable") return "no index has its events";
  return (Object.hasOwn(WORDS, part.reason) && WORDS[part.reason]) || plain(part.reason).replaceAll("_", " ");
}

export function Missing({ partial, nameOf }: { partial: readonly Part[]; nameOf: (chainId: number) => string }) {
  if (partial.length === 0) return null;
  const subject = (part: Part): string => {
    if ("provider" in part) return `the provider ${plain(part.provider)}`;
    if (part.token === ZERO_ADDRESS) return `the coin of ${nameOf(part.chainId)}`;
    return part.token === null ? nameOf(part.chainId) : `the token ${short(plain(part.token, 80))} on ${nameOf(part.chainId)}`;
  };
  return (
    <div class="notice" data-part="missing">
      <p>Not all could be read:</p>
      <ul>
        {partial.map((part, index) => (
          <li key={index}>{`${subject(part)}: ${reasonOf(part)}`}</li>
        ))}
      </ul>
    </div>
  );
}
