// Text of others, such as names of tokens and reasons of providers, made safe to read.
import { fromUnits } from "../../../../clients/typescript/src/index.js";

/** Characters that are not seen, or that turn the order of others: controls, directions, joiners, tags. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\u00ad]/gu;
/** Marks over letters, of which a name can pile up many. */
const MARKS = /(\p{M})\p{M}+/gu;

/** Returns the text on one line without unseen characters, at most `most` characters long. */
export function plain(text: string | null | undefined, most = 40): string {
  const seen = (text ?? "").replace(UNSEEN, "").replace(MARKS, "$1").replace(/\s+/g, " ").trim();
  const characters = [...seen];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : seen;
}

/** Whether a text has characters of other scripts than Latin, which can look like Latin ones. */
export const isUnusual = (text: string): boolean => /[^\u0020-\u007e]/.test(text);

/** Returns an amount in whole tokens, with all its digits and spaces between thousands. */
export function units(amount: bigint, decimals: number): string {
  const [whole = "", fraction] = fromUnits(amount, decimals).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

export const short = (hex: string): string => (hex.length > 14 ? `${hex.slice(0, 8)}…${hex.slice(-6)}` : hex);

/** Basis points as a percentage. */
export const percent = (bps: number | null): string => (bps === null ? "not known" : `${(bps / 100).toFixed(2)} %`);

/** An amount of US dollars, which is an estimate and never what is paid. */
export function usd(value: number | null): string {
  if (value === null) return "not known";
  if (value > 0 && value < 0.01) return "below $0.01";
  if (value < 0 && value > -0.01) return "above -$0.01";
  return value.toLocaleString("en-US", { style: "currency", currency: "USD" });
}

/** The latest moment that a date can have, in Unix seconds: contracts store later ones. */
const LAST_DATE_S = 8_640_000_000_000;

/** Unix seconds as date and time in UTC. */
export function moment(unixSeconds: number): string {
  if (!(Math.abs(unixSeconds) < LAST_DATE_S)) return "a date that is too far away to show";
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A yearly rate that is given as a fraction. */
export const rate = (fraction: number | null): string => (fraction === null ? "not known" : `${(fraction * 100).toFixed(2)} %`);

/** A time in Unix seconds, in the reader's zone. */
export const dateOf = (seconds: number): string => new Date(seconds * 1_000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

/** What was received less what was quoted, in basis points of the quote; a part of one counts as a whole one to the reader's disadvantage. */
export function againstQuote(got: bigint, quoted: bigint): string {
  if (quoted === 0n) return "not known";
  const scaled = (got - quoted) * 10_000n;
  return `${scaled / quoted - (scaled < 0n && scaled % quoted !== 0n ? 1n : 0n)} basis points`;
}
