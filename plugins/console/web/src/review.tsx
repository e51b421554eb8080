// What a quote promises and what an action signs, before anything is signed.
import type { Action, Schemas, SwapQuote } from "../../../../clients/typescript/src/index.js";
import { RoutePicture } from "./route.js";
import type { Token } from "./token_field.js";
import { percent, plain, short, units } from "./text.js";

/** Symbol and decimals of the tokens of a quote. Others are shown by their address, in base units. */
export type Known = (address: string) => { symbol: string; decimals: number } | null;

export function knownOf(quote: SwapQuote, native: Token): Known {
  const refs: { address: string; symbol: string | null; decimals: number }[] = [...quote.inputs, ...quote.outputs].map(({ token }) => token);
  return (address) => {
    const found = [...refs, native].find((each) => each.address.toLowerCase() === address.toLowerCase());
    return found ? { symbol: plain(found.symbol, 16) || short(found.address), decimals: found.decimals } : null;
  };
}

export function Review({ quote, native }: { quote: SwapQuote; native: Token }) {
  const known = knownOf(quote, native);
  const { symbol, decimals } = known(quote.toToken.address)!;
  const paid = known(quote.fromToken.address)!;
  const amount = (value: bigint) => `${units(value, decimals)} ${symbol}`;
  return (
    <section aria-labelledby="review">
      <h2 id="review">Quote</h2>
      <dl>
        <dt>You pay</dt>
        <dd>{`${units(quote.fromAmount, paid.decimals)} ${paid.symbol}`}</dd>
        <dt>You receive</dt>
        <dd id="receive">{amount(quote.toAmount)}</dd>
        <dt>At least</dt>
        <dd id="minimum">{quote.toAmountMin === null ? "no minimum" : amount(quote.toAmountMin)}</dd>
        <dt>Price impact</dt>
        <dd>{percent(quote.priceImpactBps)}</dd>
        <dt>Goes to</dt>
        <dd><code>{quote.request.toAddress}</code></dd>
        <dt>By</dt>
        <dd>{plain(quote.provider)}</dd>
        <dt>How good it is</dt>
        <dd>{certificate(quote, amount)}</dd>
      </dl>
      <Notices title="Know before you sign" notices={[...quote.acknowledgementNeeded, ...(quote.warnings ?? [])]} />
      {(quote.issues ?? []).length > 0 && (
        <ul class="notice">
          {(quote.issues ?? []).map((issue, index) => (
            <li key={index}>{issueText(issue, known)}</li>
          ))}
        </ul>
      )}
      {quote.route && <RoutePicture route={quote.route} symbolOf={(address) => known(address)?.symbol ?? short(address)} />}
      <details>
        <summary>All {(quote.attempts ?? []).length} providers that were asked</summary>
        <ul>
          {(quote.attempts ?? []).map(({ provider, outcome, amountOut, reason }) => (
            <li key={provider}>{`${plain(provider)}: ${plain(outcome)}${amountOut === null ? "" : `, ${amount(amountOut)}`}${reason ? ` (${plain(reason)})` : ""}`}</li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function certificate({ optimality }: SwapQuote, amount: (value: bigint) => string): string {
  if (optimality === null) return "The provider gives no bound.";
  return `At most ${optimality.gapBps} basis points below ${amount(optimality.bound)}, more than which no trade through ${optimality.pools} pools can pay at block ${optimality.block.number}.`;
}

function issueText({ code, token, actual, required }: Schemas["Issue"], known: Known): string {
  const ref = token === null ? null : known(token);
  const amount = (value: string | bigint | null | undefined) => (value == null ? "" : ref ? `${units(BigInt(value), ref.decimals)} ${ref.symbol}` : String(value));
  const name = code === "insufficient_balance" ? "The balance is too low" : code === "insufficient_allowance" ? "An approval comes first" : plain(code).replaceAll("_", " ");
  return `${name}${actual == null ? "" : `: it is ${amount(actual)}`}${required == null ? "" : `, needed is ${amount(required)}`}.`;
}

function Notices({ title, notices }: { title: string; notices: readonly Schemas["Notice"][] }) {
  if (notices.length === 0) return null;
  return (
    <div class="notice">
      <h3>{title}</h3>
      <ul>
        {notices.map(({ code, message }, index) => (
          <li key={index} title={plain(code)}>{plain(message, 300)}</li>
        ))}
      </ul>
    </div>
  );
}

export function Signing({ action, quote, native }: { action: Action<SwapQuote>; quote: SwapQuote; native: Token }) {
  const known = knownOf(quote, native);
  const { simulation } = action;
  return (
    <section aria-labelledby="signing">
      <h2 id="signing">What you sign</h2>
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
      <ul id="changes">
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
