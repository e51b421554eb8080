// What an action signs, call by call, and what its simulation changes.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { knownOf, type Facts } from "./known.js";
import { Notices } from "./notices.js";
import type { Built } from "./operation.js";
import { plain, units } from "./text.js";
import type { Token } from "./token_field.js";

export function Signing({ action, quote, native }: { action: Built; quote: Facts; native: Token }) {
  const known = knownOf(quote, native);
  const { simulation } = action;
  return (
    <section aria-label="What you sign">
      <h2>What you sign</h2>
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
        {simulation.assetChanges.filter(({ delta }) => BigInt(delta) !== 0n).map(({ account, token, delta }, index) => {
          const ref = known(token);
          return <li key={index}>{`${account.toLowerCase() === action.from.toLowerCase() ? "You" : account}: ${ref ? `${units(BigInt(delta), ref.decimals)} ${ref.symbol}` : `${delta} base units of ${token}`}`}</li>;
        })}
        {simulation.allowanceChanges.map(({ token, spender, after }, index) => {
          const ref = known(token);
          return <li key={`a${index}`}>{`${spender} may spend ${ref ? `${units(BigInt(after), ref.decimals)} ${ref.symbol}` : `${after} base units of ${token}`}`}</li>;
        })}
      </ul>
      <Notices title="Findings" notices={action.warnings} />
    </section>
  );
}

function Call({ call }: { call: Schemas["Decoded"] }) {
  return (
    <>
      <code>{plain(call.signature, 300)}</code>
      {call.opaque && <p class="warning">This call cannot be decoded.</p>}
      <ul>
        {call.args.map(({ name, value }, index) => (
          <li key={index}>{`${plain(name)}: ${plain(typeof value === "string" ? value : JSON.stringify(value), 400)}`}</li>
        ))}
        {call.inner?.map((each, index) => (
          <li key={`i${index}`}><Call call={each} /></li>
        ))}
      </ul>
    </>
  );
}
