// An error in words: what happened, what it means for the person, and what was tried.
import { ActionMismatch, ApiError, QuoteMismatch, SendError, TransportError } from "../../../../clients/typescript/src/index.js";
import { plain } from "./text.js";

const titleOf = (error: unknown): string => {
  if (error instanceof QuoteMismatch || error instanceof ActionMismatch) return "Refused: the answer of the gateway is not what you asked for";
  if (error instanceof SendError) return "Sending failed";
  if (error instanceof TransportError) return "The gateway does not answer as it should";
  return "This did not work";
};

/** Whether the deployment has nothing that answers this, such as no index. */
export const isOff = (error: unknown): boolean => error instanceof ApiError && error.code === "provider_unavailable";

export function Failure({ error }: { error: unknown }) {
  const attempts = error instanceof ApiError ? (error.details.attempts ?? []) : [];
  return (
    <section class="failure" role="alert">
      <h3>{titleOf(error)}</h3>
      <p>{plain(error instanceof Error ? error.message : String(error), 600)}</p>
      {attempts.length > 0 && (
        <ul>
          {attempts.map(({ provider, outcome, reason }) => (
            <li key={provider}>{`${plain(provider)}: ${plain(outcome)}${reason ? ` (${plain(reason)})` : ""}`}</li>
          ))}
        </ul>
      )}
      {error instanceof SendError && error.sent.length > 0 && <p>Sent already: {error.sent.map(({ hash }) => hash).join(", ")}</p>}
      {error instanceof ApiError && error.requestId && <p>Request {plain(error.requestId, 80)}</p>}
    </section>
  );
}
