// Errors of the client. All extend QuotewayError.
import type { components } from "./api.js";

export type ErrorDetails = components["schemas"]["ErrorDetails"];

/** Whatever this client throws beside a TypeError or RangeError for a wrong argument. */
export class QuotewayError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The members of an error answer. */
export interface ErrorAnswer {
  status: number;
  code: string;
  message: string;
  requestId: string | null;
  details: ErrorDetails;
  retryAfterMs: number | null;
}

/** The gateway answered with an error. Codes that this client does not know have this class itself. */
export class ApiError extends QuotewayError {
  readonly status: number;
  readonly code: string;
  /** Cause, such as "no_route": docs/reference/errors.md lists all, and newer gateways may have more. */
  readonly reason: string | null;
  readonly details: ErrorDetails;
  /** Give it to the operator when you report a problem. */
  readonly requestId: string | null;
  /** Milliseconds that the gateway asks to wait. Null where it says nothing. */
  readonly retryAfterMs: number | null;

  constructor(answer: ErrorAnswer) {
    super(answer.message);
    this.status = answer.status;
    this.code = answer.code;
    this.reason = answer.details.reason ?? null;
    this.details = answer.details;
    this.requestId = answer.requestId;
    this.retryAfterMs = answer.retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.details.retryable ?? this.code === "rate_limit_exceeded";
  }
}

/** 400 and the like: the request cannot be read. */
export class InvalidRequest extends ApiError {}
/** 422, and 403 of a custody policy: `details.fields` names the members that are refused. */
export class ValidationError extends ApiError {}
/** 401: the deployment requires a key. */
export class Unauthorized extends ApiError {}
/** 404: unknown, expired or forged quote, unknown pool, vault, token or path. */
export class NotFound extends ApiError {}
/** 429: too many requests. */
export class RateLimited extends ApiError {}
/** 503: no enabled provider serves this. */
export class ProviderUnavailable extends ApiError {}
/** 502: a provider failed, has no route, or no longer meets the quote. */
export class UpstreamError extends ApiError {}

const CLASSES: Readonly<Record<string, typeof ApiError>> = {
  invalid_request: InvalidRequest,
  validation_error: ValidationError,
  unauthorized: Unauthorized,
  not_found: NotFound,
  rate_limit_exceeded: RateLimited,
  provider_unavailable: ProviderUnavailable,
  upstream_error: UpstreamError,
};

/** Returns the error of an answer, in the class of its code. */
export function apiError(answer: ErrorAnswer): ApiError {
  const Class = Object.hasOwn(CLASSES, answer.code) ? CLASSES[answer.code] : undefined;
  return new (Class ?? ApiError)(answer);
}

/** No usable answer came: no connection, an answer cut off, a redirect, or something that is not the gateway's JSON. */
export class TransportError extends QuotewayError {
  constructor(
    message: string,
    /** HTTP status. Null where there was none. */
    readonly status: number | null,
    /** Whether the same request may succeed later. */
    readonly retryable: boolean,
    options?: ErrorOptions,
    /** Milliseconds that a server before the gateway asks to wait. Null where it says nothing. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message, options);
  }
}

/** `timeoutMs` was over before a usable answer came. `cause` is the last error, if there was one. */
export class DeadlineExceeded extends QuotewayError {}

abstract class Mismatch extends QuotewayError {
  constructor(
    what: string,
    /** Member that differs, such as "outputs[0].amountMin". */
    readonly member: string,
    readonly expected: string,
    readonly actual: string,
  ) {
    super(`${what} is not what was asked: ${member} must be ${expected}, but is ${actual}. Do not sign it.`);
  }
}

/** The quote is not for what was asked. */
export class QuoteMismatch extends Mismatch {
  constructor(member: string, expected: string, actual: string) {
    super("The quote", member, expected, actual);
  }
}

/** The action is not what was quoted, or would give away more. Nothing was signed. */
export class ActionMismatch extends Mismatch {
  constructor(member: string, expected: string, actual: string) {
    super("The action", member, expected, actual);
  }
}

/** The wallet cannot carry out the action: another account or network, too little money, or no atomic batch. Nothing was signed. */
export class WalletError extends QuotewayError {}

/** A transaction that is out. */
export interface SentTransaction {
  /** Name of the transaction at the gateway, for `transactions.report` and `follow`. */
  txId: string;
  hash: string;
}

/**
 * Signing, broadcasting or waiting failed, or a transaction reverted. `sent` has what is out already, `index` the transaction that
 * failed; `cause` is the wallet's error. When `index` was broadcast, its hash is the last of `sent`: look what became of it before you try
 * again. What is done need not be done again: act on the same quote anew, and the new action has only what is missing.
 */
export class SendError extends QuotewayError {
  constructor(
    message: string,
    readonly index: number,
    readonly sent: readonly SentTransaction[],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
