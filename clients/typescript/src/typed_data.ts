// Messages that an action asks to be signed: only the two kinds that this client knows, for exactly what is paid.
import type { components } from "./api.js";
import { allowedBy, checkAmount, PERMIT2 } from "./calldata.js";
import type { AnyAction } from "./checks.js";
import type { Action, Quote } from "./client.js";
import { same } from "./comparing.js";
import { ActionMismatch } from "./errors.js";

type Schemas = components["schemas"];
type Members = Record<string, unknown>;

const PERMIT2_TYPES = {
  PermitSingle: "PermitDetails details,address spender,uint256 sigDeadline",
  PermitDetails: "address token,uint160 amount,uint48 expiration,uint48 nonce",
};
const PERMIT_TYPES = { Permit: "address owner,address spender,uint256 value,uint256 nonce,uint256 deadline" };

/** No quote needs an allowance for longer: a day, and an hour for clocks that differ. */
const LONGEST_S = 25 * 3_600;

/** Throws ActionMismatch where a message that an action asks to be signed is anything but an allowance for what is paid. `send` looks too. */
export function checkMessages(action: Action): void {
  for (const offer of action.permitOffers) checkPermit(action.quote, action, offer);
  for (const each of action.signatures) checkSignature(action.quote, action, each);
}

/** Throws ActionMismatch unless it is a Permit2 allowance of at most what is paid, for the contract that its transaction calls. */
export function checkSignature(quote: Quote, action: AnyAction, { typedData, appliesTo }: Schemas["Signature"]): void {
  const { domain, message } = partsOf(typedData, "PermitSingle", PERMIT2_TYPES);
  const details = objectOf(message["details"], "message.details");
  same(ActionMismatch, "signatures: domain.name", "Permit2", domain["name"]);
  same(ActionMismatch, "signatures: domain.chainId", quote.chainId, domain["chainId"]);
  same(ActionMismatch, "signatures: domain.verifyingContract", PERMIT2, domain["verifyingContract"]);
  same(ActionMismatch, "signatures: spender", action.transactions[appliesTo.transaction]?.to, message["spender"]);
  checkAmount("signatures", String(details["token"]), integerOf(details["amount"], "amount"), allowedBy(quote));
  checkEnd("signatures: expiration", details["expiration"]);
  checkEnd("signatures: sigDeadline", message["sigDeadline"]);
}

/** Throws ActionMismatch unless it is an EIP-2612 permit in the place of an approval of the action. */
export function checkPermit(quote: Quote, action: AnyAction, { permit, typedData }: Schemas["PermitOffer"]): void {
  const { domain, message } = partsOf(typedData, "Permit", PERMIT_TYPES);
  same(ActionMismatch, "permitOffers: domain.chainId", quote.chainId, domain["chainId"]);
  same(ActionMismatch, "permitOffers: domain.verifyingContract", permit.token, domain["verifyingContract"]);
  same(ActionMismatch, "permitOffers: owner", action.from, message["owner"]);
  same(ActionMismatch, "permitOffers: spender", permit.spender, message["spender"]);
  same(ActionMismatch, "permitOffers: value", permit.value, integerOf(message["value"], "value"));
  same(ActionMismatch, "permitOffers: nonce", permit.nonce, integerOf(message["nonce"], "nonce"));
  same(ActionMismatch, "permitOffers: deadline", permit.deadline, integerOf(message["deadline"], "deadline"));
  checkEnd("permitOffers: deadline", message["deadline"]);
  checkAmount("permitOffers", permit.token, permit.value, allowedBy(quote));
  const replaced = action.steps.some(
    ({ approval }, index) =>
      action.transactions[index]?.to.toLowerCase() === permit.token.toLowerCase() &&
      approval?.spender.toLowerCase() === permit.spender.toLowerCase() &&
      approval.required === permit.value,
  );
  if (!replaced) throw new ActionMismatch("permitOffers", "in the place of an approval of the action", `an allowance for ${permit.spender}`);
}

function checkEnd(member: string, value: unknown): void {
  const latest = Math.ceil(Date.now() / 1_000) + LONGEST_S;
  const end = integerOf(value, member);
  if (end > BigInt(latest)) throw new ActionMismatch(member, `at most ${latest}, a day from now`, String(end));
}

/** Domain and message. The types decide what the signature means, so they are compared too. */
function partsOf(typedData: unknown, primaryType: string, types: Readonly<Record<string, string>>): { domain: Members; message: Members } {
  const { primaryType: found, types: given, domain, message } = objectOf(typedData, "typedData");
  same(ActionMismatch, "typedData.primaryType", primaryType, found);
  const structs = objectOf(given, "typedData.types");
  const names = [...Object.keys(types), "EIP712Domain"];
  for (const name of Object.keys(structs)) if (!names.includes(name)) throw new ActionMismatch("typedData.types", names.join(", "), name);
  for (const [name, members] of Object.entries(types)) {
    const fields = structs[name];
    const text = Array.isArray(fields) ? fields.map((field: Members) => `${field["type"]} ${field["name"]}`).join(",") : String(fields);
    same(ActionMismatch, `typedData.types.${name}`, members, text);
  }
  return { domain: objectOf(domain, "typedData.domain"), message: objectOf(message, "typedData.message") };
}

function objectOf(value: unknown, member: string): Members {
  if (value === null || typeof value !== "object") throw new ActionMismatch(member, "an object", String(value));
  return value as Members;
}

function integerOf(value: unknown, member: string): bigint {
  if (typeof value === "string" && /^\d+$/.test(value)) return BigInt(value);
  throw new ActionMismatch(`typedData: ${member}`, "decimal digits", String(value));
}
