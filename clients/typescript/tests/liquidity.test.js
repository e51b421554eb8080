// The bytes of liquidity operations: what pays another account, or is of another position, range or amount than was quoted, is refused.
import assert from "node:assert/strict";
import test from "node:test";
import { encodeAbiParameters, encodeFunctionData, parseAbi, parseAbiParameters } from "viem";
import { checkLiquidity } from "../dist/liquidity.js";

const [ME, THIEF, FIRST, SECOND, SHARES] = ["11", "bad0", "aa", "bb", "cc"].map((each) => `0x${each.padStart(40, "0")}`);
const ZERO = `0x${"0".repeat(40)}`;
const abi = parseAbi([
  "function addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)",
  "function addLiquidityETH(address,uint256,uint256,uint256,address,uint256)",
  "function removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)",
  "function removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)",
  "function multicall(bytes[])",
  "function mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))",
  "function increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))",
  "function decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))",
  "function collect((uint256,address,uint128,uint128))",
  "function unwrapWETH9(uint256,address)",
  "function sweepToken(address,uint256,address)",
  "function refundETH()",
  "function burn(uint256)",
  "function safeTransferFrom(address,address,uint256)",
  "function modifyLiquidities(bytes,uint256)",
]);
const call = (functionName, ...args) => encodeFunctionData({ abi, functionName, args });
const many = (...calls) => call("multicall", calls);
const v4 = (...actions) => {
  const codes = `0x${actions.map(([code]) => code).join("")}`;
  return call("modifyLiquidities", encodeAbiParameters(parseAbiParameters("bytes, bytes[]"), [codes, actions.map(([, input]) => input)]), 9n);
};
const input = (types, ...values) => encodeAbiParameters(parseAbiParameters(types), values);

const ALLOWED = new Map([[FIRST, 100n], [SECOND, 200n]]);
const quoted = (body = {}, more = {}) => ({
  request: { address: ME, recipient: ME, useNative: false },
  asked: { noun: "pools", body: { action: "add", ...body } },
  inputs: [{ token: { address: SHARES }, amount: 50n }],
  range: { tickLower: -120, tickUpper: 60 },
  ...more,
});
const check = (data, quote = quoted(), allowed = ALLOWED) => checkLiquidity("transactions[0]", quote, data, allowed);
const refused = (data, member, quote, allowed) =>
  assert.throws(() => check(data, quote, allowed), (error) => {
    assert.equal(error.name, "ActionMismatch");
    assert.match(error.member, member);
    return true;
  });

test("v2: amounts and recipient", () => {
  const add = (a, b, to) => call("addLiquidity", FIRST, SECOND, a, b, 1n, 1n, to, 9n);
  check(add(100n, 200n, ME));
  refused(add(101n, 200n, ME), /amount of/);
  refused(add(100n, 201n, ME), /amount of/);
  refused(add(100n, 200n, THIEF), /recipient/);
  check(call("addLiquidityETH", FIRST, 100n, 1n, 1n, ME, 9n));
  refused(call("addLiquidityETH", FIRST, 101n, 1n, 1n, ME, 9n), /amount of/);
  refused(call("addLiquidityETH", FIRST, 100n, 1n, 1n, THIEF, 9n), /recipient/);
  const shares = new Map([[SHARES, 50n]]);
  const remove = (amount, to) => call("removeLiquidity", FIRST, SECOND, amount, 1n, 1n, to, 9n);
  check(remove(50n, ME), quoted(), shares);
  refused(remove(51n, ME), /amount of/, quoted(), shares);
  refused(remove(50n, THIEF), /recipient/, quoted(), shares);
  check(call("removeLiquidityETH", FIRST, 50n, 1n, 1n, ME, 9n), quoted(), shares);
  refused(call("removeLiquidityETH", FIRST, 50n, 1n, 1n, THIEF, 9n), /recipient/, quoted(), shares);
});

const mint = ({ to = ME, lower = -120, upper = 60, a = 100n, b = 200n, first = FIRST } = {}) => call("mint", [first, SECOND, 3000, lower, upper, a, b, 1n, 1n, to, 9n]);

test("v3: a new position has the owner, range and amounts that were quoted", () => {
  check(many(mint()));
  check(mint());
  refused(many(mint({ to: THIEF })), /owner of the position/);
  refused(many(mint({ lower: -180 })), /tickLower/);
  refused(many(mint({ upper: 120 })), /tickUpper/);
  refused(many(mint({ a: 101n })), /amount of/);
  refused(many(mint({ first: THIEF })), /amount of/);
  refused(many(mint()), /./, quoted({}, { range: null }));
  const native = quoted({}, { request: { address: ME, recipient: ME, useNative: true } });
  const coin = new Map([[ZERO, 100n], [SECOND, 200n]]);
  check(many(mint(), call("refundETH")), native, coin);
  refused(many(mint({ a: 101n }), call("refundETH")), /amount of/, native, coin);
});

test("v3: nothing but the position that was named is changed, and what it pays goes to the recipient", () => {
  const of = quoted({ action: "remove", positionId: "7" });
  const collect = (id, to) => call("collect", [id, to, 1n, 1n]);
  const leave = (id, to) => many(call("decreaseLiquidity", [id, 1n, 1n, 1n, 9n]), collect(id, to), call("burn", id));
  check(leave(7n, ME), of);
  check(many(call("increaseLiquidity", [7n, 1n, 1n, 1n, 1n, 9n])), of);
  refused(leave(8n, ME), /position/, of);
  refused(leave(7n, THIEF), /recipient/, of);
  refused(many(call("burn", 8n)), /position/, of);
  check(many(collect(7n, ZERO), call("unwrapWETH9", 1n, ME), call("sweepToken", FIRST, 1n, ME)), of);
  refused(many(collect(7n, ZERO)), /transactions\[0\]$/, of);
  refused(many(collect(7n, ZERO), call("unwrapWETH9", 1n, THIEF)), /recipient/, of);
  refused(many(collect(7n, ZERO), call("sweepToken", FIRST, 1n, THIEF)), /recipient/, of);
  refused(many(collect(7n, ME), call("safeTransferFrom", ME, THIEF, 7n)), /calls\[1\]/, of);
  refused(many(many(collect(7n, ME))), /calls\[0\]/, of);
});

const POOL_KEY = "(address, address, uint24, int24, address)";
const mint4 = ({ to = ME, lower = -120, upper = 60, a = 100n, b = 200n } = {}) => ["05", input(`${POOL_KEY}, int24, int24, uint128, uint128, address, bytes`, [FIRST, SECOND, 500, 10, ZERO], lower, upper, a, b, to, "0x")];
const settle = (token, amount, mine) => ["0b", input("address, uint256, bool", token, amount, mine)];

test("v4: owner, range, amounts, position and recipients of the actions", () => {
  const pay = [settle(FIRST, 100n, true), settle(SECOND, 200n, true)];
  const rest = [["0e", input("address, address, uint256", FIRST, `0x${"2".padStart(40, "0")}`, 1n)], settle(FIRST, 0n, false), ["14", input("address, address", FIRST, ME)], ["12", input("address", SECOND)]];
  check(v4(...pay, mint4(), ...rest));
  refused(v4(...pay, mint4({ to: THIEF })), /owner of the position/);
  refused(v4(...pay, mint4({ lower: -60 })), /tickLower/);
  refused(v4(...pay, mint4({ upper: 120 })), /tickUpper/);
  refused(v4(...pay, mint4({ b: 201n })), /amount of/);
  refused(v4(settle(FIRST, 101n, true)), /amount of/);
  refused(v4(settle(FIRST, 0n, true)), /settled/);
  refused(v4(settle(THIEF, 1n, true)), /amount of/);
  refused(v4(["14", input("address, address", FIRST, THIEF)]), /recipient/);
  refused(v4(["0e", input("address, address, uint256", FIRST, THIEF, 1n)]), /recipient/);
  const of = quoted({ action: "remove", positionId: "7" });
  const less = (id) => ["01", input("uint256, uint256, uint128, uint128, bytes", id, 1n, 1n, 1n, "0x")];
  const all = (id) => ["03", input("uint256, uint128, uint128, bytes", id, 1n, 1n, "0x")];
  const take = (to) => ["11", input("address, address, address", FIRST, SECOND, to)];
  check(v4(less(7n), take(ME)), of);
  check(v4(all(7n), take(`0x${"1".padStart(40, "0")}`)), of);
  refused(v4(less(8n), take(ME)), /position/, of);
  refused(v4(all(8n), take(ME)), /position/, of);
  refused(v4(less(7n), take(THIEF)), /recipient/, of);
  refused(v4(less(7n), ["10", input("address, address, uint256", FIRST, THIEF, 1n)]), /actions\[1\]/, of);
});

test("bytes that are cut or lead astray are refused, and calls of other contracts are left to the gateway", () => {
  const data = many(mint());
  for (const cut of [10, 74, 138, data.length - 64]) refused(data.slice(0, cut), /./);
  refused(data.replace(/(0xac9650d8)[0-9a-f]{64}/, `$1${"f".repeat(64)}`), /./);
  const whole = v4(mint4());
  for (const cut of [10, 138, 300, whole.length - 64]) refused(whole.slice(0, cut), /./);
  const [, one] = mint4();
  refused(call("modifyLiquidities", input("bytes, bytes[]", "0x0505", [one]), 9n), /./);
  check("0x12345678");
  check("0x");
});
