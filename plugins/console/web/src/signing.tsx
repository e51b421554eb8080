// What an action signs, message by message and call by call, and what its simulation changes.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { Argument } from "./arguments.js";
import { knownOf, type Facts, type Known } from "./known.js";
import { Notices } from "./notices.js";
import { dateOf, plain, units } from "./text.js";
import type { Built } from "./operation.js";
import type { Token } from "./token_field.js";

const amountIn = (known: Known, token: string, value: bigint): string => {
  const ref = known(token);
  return ref ? `${units(value, ref.decimals)} ${ref.symbol}` : `${value} base units of ${token}`;
};

export function Signing({ action, quote, native }: { action: Built; quote: Facts; native: Token }) {
  const known = knownOf(quote, native);
  const { simulation } = action;
  return (
    <section aria-label="What you sign">
      <h2>What you sign</h2>
      <Messages action={action} known={known} />
      <ol>
        {action.steps.map((step, index) => (
          <li key={step.txId}>
            <p>{plain(step.clearSigning.intent ?? step.description, 400)}</p>
            <p><small>{`To ${plain(step.target.label) || "a contract without a name"} `}<code>{action.transactions[index]!.to}</code>{`, with ${BigInt(action.transactions[index]!.value)} wei`}</small></p>
            <details>
              <summary>Call by call</summary>
              <Call call={step.decoded} />
            </details>
          </li>
        ))}
      </ol>
      <h3>What the simulation changes</h3>
      {simulation.status !== "success" && <p class="notice">{`The simulation: ${simulation.status}. ${plain(simulation.revertReason ?? simulation.skipReason, 300)}`}</p>}
      <ul data-part="changes">
        {simulation.assetChanges.filter(({ delta }) => BigInt(delta) !== 0n).map(({ account, token, delta }, index) => (
          <li key={index}>{`${account.toLowerCase() === action.from.toLowerCase() ? "You" : account}: ${amountIn(known, token, BigInt(delta))}`}</li>
        ))}
        {simulation.allowanceChanges.map(({ token, spender, after }, index) => <li key={`a${index}`}>{`${spender} may spend ${amountIn(known, token, BigInt(after))}`}</li>)}
      </ul>
      <Notices title="Findings" notices={action.warnings} />
    </section>
  );
}

type TypedData = Record<string, Record<string, unknown>>;

/** The messages to sign. Their members are compared with the quote before they are shown. */
function Messages({ action, known }: { action: Built; known: Known }) {
  if (action.permitOffers.length + action.signatures.length === 0) return null;
  return (
    <ul data-part="messages">
      {action.permitOffers.map(({ permit, typedData }, index) => (
        <li key={`p${index}`}>
          <p>{`A permit, in the place of the approval: ${permit.spender} may take ${amountIn(known, permit.token, permit.value)}, if it is used by ${dateOf(permit.deadline)}`}</p>
          <Raw data={typedData} />
        </li>
      ))}
      {action.signatures.map(({ typedData }, index) => {
        const { details, spender } = (typedData as TypedData)["message"] as { details: Record<string, string>; spender: string };
        return (
          <li key={`s${index}`}>
            <p>{`An allowance through Permit2: ${spender} may take ${amountIn(known, details["token"]!, BigInt(details["amount"]!))} until ${dateOf(Number(details["expiration"]))}`}</p>
            <Raw data={typedData} />
          </li>
        );
      })}
    </ul>
  );
}

function Raw({ data }: { data: unknown }) {
  const { primaryType, domain, message } = data as TypedData;
  return (
    <details>
      <summary>The message as it is signed</summary>
      {[["type", primaryType], ["domain", domain], ["message", message]].map(([name, value]) => <p key={String(name)}><code>{`${name}: ${plain(JSON.stringify(value), 1_000)}`}</code></p>)}
    </details>
  );
}

function Call({ call }: { call: Schemas["Decoded"] }) {
  return (
    <>
      <code>{plain(call.signature, 300)}</code>
      {call.opaque && <p class="warning">This call cannot be decoded.</p>}
      <ul>
        {call.args.map((argument, index) => (
          <li key={index}><Argument signature={call.signature} argument={argument} /></li>
        ))}
        {call.inner?.map((each, index) => (
          <li key={`i${index}`}><Call call={each} /></li>
        ))}
      </ul>
    </>
  );
}
