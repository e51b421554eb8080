// An argument of a decoded call. The members of the structures of Uniswap's position managers have their names, which calldata does not have.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { plain } from "./text.js";

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))": ["token0", "token1", "fee", "tickLower", "tickUpper", "amount0Desired", "amount1Desired", "amount0Min", "amount1Min", "recipient", "deadline"],
  "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))": ["tokenId", "amount0Desired", "amount1Desired", "amount0Min", "amount1Min", "deadline"],
  "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))": ["tokenId", "liquidity", "amount0Min", "amount1Min", "deadline"],
  "collect((uint256,address,uint128,uint128))": ["tokenId", "recipient", "amount0Max", "amount1Max"],
  "MINT_POSITION_FROM_DELTAS((address,address,uint24,int24,address),int24,int24,uint128,uint128,address,bytes)": ["currency0", "currency1", "fee", "tickSpacing", "hooks"],
};

const textOf = (value: unknown): string => plain(typeof value === "string" ? value : JSON.stringify(value), 400);

export function Argument({ signature, argument: { name, value } }: { signature: string; argument: Schemas["Argument"] }) {
  const names = Object.hasOwn(MEMBERS, signature) ? MEMBERS[signature]! : [];
  if (!Array.isArray(value) || value.length !== names.length) return <>{`${plain(name)}: ${textOf(value)}`}</>;
  return (
    <>
      {`${plain(name)}:`}
      <ul>{value.map((each, index) => <li key={index}>{`${names[index]}: ${textOf(each)}`}</li>)}</ul>
    </>
  );
}
