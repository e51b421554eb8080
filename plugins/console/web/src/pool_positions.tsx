// The wallet's positions in a pool: what each holds, adding and removing liquidity, and collecting fees.
import { useState } from "preact/hooks";
import { toUnits, type PoolQuote, type Schemas } from "../../../../clients/typescript/src/index.js";
import { RangeTerms, wrapsCoin, type Pair } from "./add_liquidity.js";
import { everyPage, useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { CountedAmount, countedIn } from "./counted_amount.js";
import { checkDecimals } from "./known.js";
import { Missing } from "./missing.js";
import { Steps, useOperation } from "./operation.js";
import type { PageProps } from "./page.js";
import { PlaceReview } from "./place_review.js";
import { Positions } from "./positions.js";
import { SlippageField, USUAL, bpsOf } from "./settings.js";
import { plain } from "./text.js";
import { nativeOf } from "./token_field.js";

type Pool = Schemas["PoolEntry"];
type Position = Schemas["PositionEntry"];

interface Given {
  page: PageProps;
  pool: Pool;
  /** Hash of the last transaction of the page: what is shown is of its block or later. */
  last: string | null;
  onDone: (hash: string) => void;
}

export function PoolPositions(given: Given) {
  const { wallet } = given.page;
  const [owner, setOwner] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const show = async () => {
    setProblem(null);
    try {
      setOwner(await wallet!.address());
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <section aria-label="My positions">
      <h3>My positions</h3>
      {problem !== null && <Failure error={problem} />}
      {owner === "" && wallet && <button type="button" class="main" onClick={() => void show()}>Show the positions of my wallet</button>}
      {!wallet && <p role="status">A wallet is needed: install one that announces itself to pages (EIP-6963).</p>}
      {owner !== "" && <OwnPositions {...given} owner={owner} />}
    </section>
  );
}

function OwnPositions({ page, pool, last, onDone, owner }: Given & { owner: string }) {
  const { client, network, isSending } = page;
  const { found, failure, isAsking, load } = useAnswer(
    (signal) => everyPage((cursor) => client.call("listPoolPositions", { path: { poolId: pool.id }, query: { wallet: owner, limit: 200, ...(last !== null && { afterTransaction: last }), ...cursor } }, { signal })),
    [last],
    true,
  );
  const [chosen, setChosen] = useState("");
  // It stays while its last transaction is shown, also where it is in no list any more.
  const [changed, setChanged] = useState<Position | null>(null);
  const choose = (position: Position) => {
    setChosen(position.positionId);
    setChanged(position);
  };
  const now = found?.rows.find(({ positionId }) => positionId === chosen) ?? changed;
  return (
    <>
      {failure !== null && <Failure error={failure} />}
      <p role="status">{isAsking ? "Reading the positions…" : found?.rows.length === 0 ? (found.partial.length ? "No position is found." : "The wallet has no position in this pool.") : ""}</p>
      {found && <Missing partial={found.partial} nameOf={() => plain(network.name)} />}
      {found && found.rows.length > 0 && (
        <Positions rows={found.rows} change={(position) => <button type="button" data-change={position.positionId} aria-pressed={position.positionId === chosen} disabled={isSending} onClick={() => choose(position as Position)}>Change</button>} />
      )}
      <button type="button" class="main" disabled={isAsking || isSending} onClick={load}>{isAsking ? "Reading…" : "Read again"}</button>
      {now && <Change key={chosen} page={page} pool={pool} position={now} onDone={onDone} />}
    </>
  );
}

/** The part of a position to remove, as the request counts it. */
function partOf(position: Position, { kind, address, tokens }: Pool, percent: bigint): { asset: string; amount: bigint | "max" } {
  if (kind === "v2") return { asset: address, amount: percent === 100n ? "max" : (position.liquidity * percent) / 100n };
  // Counted in the token with more base units, whose rounding matters least.
  const most = position.amounts.reduce<Schemas["Leg"] | null>((found, leg) => (found === null || leg.amount > found.amount ? leg : found), null);
  if (percent === 100n) return { asset: most?.token.address ?? tokens[0]!.address, amount: "max" };
  if (most === null) throw new Error("What the position holds is not known: all of it can be removed, and no part.");
  return { asset: most.token.address, amount: (most.amount * percent) / 100n };
}

type Action = "remove" | "collect" | "add";

const NAMES: Readonly<Record<Action, string>> = { remove: "Remove liquidity", collect: "Collect fees", add: "Add liquidity" };

function Change({ page, pool, position, onDone }: { page: PageProps; pool: Pool; position: Position; onDone: (hash: string) => void }) {
  const { client, network, wallet, isSending } = page;
  // Shares have no fees of their own, and are added to where they are made.
  const offered = (["remove", "collect", "add"] as const).filter((each) => pool.actions.includes(each) && (each === "remove" || position.kind === "nft"));
  const [action, setAction] = useState<Action>(offered[0] ?? "remove");
  const [percent, setPercent] = useState("100");
  const [counted, setCounted] = useState({ side: 0, amount: "" });
  const [slippage, setSlippage] = useState(USUAL.percent);
  const [isNative, setNative] = useState(false);
  const operation = useOperation<PoolQuote>(page, client.pools.act, ({ report }) => onDone(report.hash));
  const { forget } = operation;
  const bodyOf = (address: string) => {
    const given = { address, useNative: isNative, ...(position.kind === "nft" && { positionId: position.positionId }) };
    if (action === "collect") return { ...given, action };
    const bound = { ...given, slippageBps: bpsOf(slippage) };
    return action === "add" ? { ...bound, action, ...countedIn(pool.tokens, counted) } : { ...bound, action, ...partOf(position, pool, toUnits(percent, 0)) };
  };
  const ask = (event: Event) => {
    event.preventDefault();
    operation.ask("Asking for a quote…", async (address) => {
      const quote = await client.pools.quote(pool.id, bodyOf(address));
      for (const each of pool.tokens) checkDecimals(each, quote);
      return quote;
    });
  };
  const native = nativeOf(network);
  return (
    <section aria-label="Change the position">
      <h3>{position.kind === "nft" ? `Position ${plain(position.positionId, 100)}` : "My shares of the pool"}</h3>
      {offered.length === 0 && <p role="status">This gateway removes no liquidity from the pool.</p>}
      {offered.length > 0 && (
        <form onSubmit={ask}>
          <fieldset disabled={isSending}>
            <label>
              Action
              <select value={action} onChange={(event) => { setAction(event.currentTarget.value as Action); forget(); }}>
                {offered.map((each) => <option key={each} value={each}>{NAMES[each]}</option>)}
              </select>
            </label>
            {action === "remove" && (
              <label>
                Part to remove, in percent
                <input name="percent" inputMode="numeric" autoComplete="off" required pattern="100|[1-9][0-9]?" title="a whole number from 1 to 100" value={percent} onInput={(event) => { setPercent(event.currentTarget.value); forget(); }} />
              </label>
            )}
            {action === "add" && <CountedAmount tokens={pool.tokens} counted={counted} onChange={(next) => { setCounted(next); forget(); }} />}
            {action !== "collect" && <SlippageField percent={slippage} onChange={(next) => { setSlippage(next); forget(); }} />}
            {wrapsCoin(pool, network) && (
              <label class="consent">
                <input type="checkbox" checked={isNative} onChange={(event) => { setNative(event.currentTarget.checked); forget(); }} /> {`${action === "add" ? "Pay" : "Take"} ${native.symbol} in place of its wrapped form`}
              </label>
            )}
            <button type="submit" disabled={!wallet || operation.busy !== ""}>Get a quote</button>
          </fieldset>
        </form>
      )}
      <Steps operation={operation} native={native} review={(quote) => <PlaceReview quote={quote} native={native}><RangeTerms quote={quote} tokens={pool.tokens as unknown as Pair} /></PlaceReview>} />
    </section>
  );
}
