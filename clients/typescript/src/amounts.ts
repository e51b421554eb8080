// Amounts: bigint of base units in programs, decimal digits on the wire.
import { AMOUNTS } from "./operations.js";

const DECIMAL = /^(\d+)(?:\.(\d+))?$/;
const INTEGER = /^(0|-?[1-9]\d{0,77})$/;

/**
 * Returns the base units of a decimal number: `toUnits("1.5", 18)` is 1500000000000000000n.
 * Throws a TypeError for anything but text in decimal notation, and a RangeError for more digits than the token has.
 */
export function toUnits(amount: string, decimals: number): bigint {
  checkDecimals(decimals);
  if (typeof amount !== "string") throw new TypeError(`The amount must be text such as "1.5", not a ${typeof amount}.`);
  const [, whole, fraction = ""] = DECIMAL.exec(amount) ?? [];
  if (whole === undefined) throw new TypeError(`The amount must be a decimal number such as "1.5", not ${JSON.stringify(amount.slice(0, 40))}.`);
  if (fraction.length > decimals) throw new RangeError(`The amount has ${fraction.length} digits after the point: the token has ${decimals}.`);
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Returns base units as a decimal number in text, without trailing zeros: `fromUnits(1500000n, 6)` is "1.5". */
export function fromUnits(units: bigint, decimals: number): string {
  checkDecimals(decimals);
  if (typeof units !== "bigint") throw new TypeError(`The base units must be a bigint, not a ${typeof units}.`);
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, "0");
  const cut = digits.length - decimals;
  const fraction = digits.slice(cut).replace(/0+$/, "");
  return (units < 0n ? "-" : "") + digits.slice(0, cut) + (fraction && `.${fraction}`);
}

function checkDecimals(decimals: number): void {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) throw new RangeError("The decimals must be an integer from 0 to 255.");
}

/**
 * Returns JSON of a request. Throws a TypeError where an amount of `schema` is not a bigint:
 * a number loses digits, and text hides a wrong unit.
 */
export function encode(body: unknown, schema: string | null): string {
  checkAmounts(body, schema);
  return JSON.stringify(body, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}

function checkAmounts(value: unknown, schema: string | null): void {
  if (schema === null || value === null || typeof value !== "object") return;
  if (Array.isArray(value)) return value.forEach((each) => checkAmounts(each, schema));
  for (const [member, kind] of Object.entries(AMOUNTS[schema] ?? {})) {
    const given = (value as Record<string, unknown>)[member];
    if (kind !== true) checkAmounts(given, kind);
    else if (given !== undefined && typeof given !== "bigint" && given !== "max") {
      throw new TypeError(`"${member}" must be a bigint of base units, not a ${typeof given}: toUnits("1.5", decimals) makes one.`);
    }
  }
}

/** Returns an answer with the amounts of `schema` as bigint. Throws a TypeError where one is not an integer. */
export function decode(value: unknown, schema: string | null): unknown {
  if (schema === null || value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((each) => decode(each, schema));
  const found: Record<string, unknown> = { ...value };
  for (const [member, kind] of Object.entries(AMOUNTS[schema] ?? {})) {
    const given = found[member];
    if (given === undefined || given === null) continue;
    found[member] = kind === true ? toBigint(given, member) : decode(given, kind);
  }
  return found;
}

function toBigint(value: unknown, member: string): bigint {
  if (typeof value !== "string" || !INTEGER.test(value)) throw new TypeError(`"${member}" of the answer is not an integer in decimal digits.`);
  return BigInt(value);
}
