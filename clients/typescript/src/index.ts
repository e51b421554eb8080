export type { components, operations } from "./api.js";
export { fromUnits, toUnits } from "./amounts.js";
export { atomicityOf, walletBatches } from "./batches.js";
export type { Atomicity, Batches, BatchState, Call } from "./batches.js";
export { Quoteway } from "./client.js";
export type { Action, ActOptions, Answer, BridgeQuote, Input, OperationId, PoolQuote, Quote, Revocation, Schemas, Settings, SwapQuote, VaultQuote } from "./client.js";
export {
  ActionMismatch,
  ApiError,
  DeadlineExceeded,
  InvalidRequest,
  NotFound,
  ProviderUnavailable,
  QuoteMismatch,
  QuotewayError,
  RateLimited,
  SendError,
  TransportError,
  Unauthorized,
  UpstreamError,
  ValidationError,
  WalletError,
} from "./errors.js";
export type { ErrorDetails, SentTransaction } from "./errors.js";
export type { FollowOptions, Tracked, Transfer } from "./following.js";
export type { Deployment, Management, Managing } from "./management.js";
export type { Receipt, SendOptions, Sent, SignedPermit, TypedData, Wallet, WalletTransaction } from "./sending.js";
export type { StreamEvent, StreamOptions, Topics } from "./streaming.js";
export type { CallOptions } from "./transport.js";
export { checkMessages } from "./typed_data.js";
