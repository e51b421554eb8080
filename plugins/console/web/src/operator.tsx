// The page of operators: what the gateway does now, and why.
import { useState } from "preact/hooks";
import { useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { RequestTable } from "./operator_requests.js";
import { everything, KeyNeeded, type All } from "./operator_state.js";
import { IndexTable, NetworkTable, ProviderTable, UpstreamTable } from "./operator_tables.js";
import { plain } from "./text.js";

/** The key of operators while the page is open. It is written nowhere. */
let held = "";

export function Operator() {
  const [key, setKey] = useState(held);
  const [worker, setWorker] = useState<number | null>(null);
  const { found, failure, isAsking, load } = useAnswer((signal) => everything(key, worker, signal), [key, worker]);
  const take = (given: string) => {
    held = given;
    setKey(given);
  };
  const needsKey = failure instanceof KeyNeeded;
  return (
    <>
      <h2>Operator</h2>
      {needsKey && <KeyForm message={failure.message} isWrong={key !== ""} onKey={take} />}
      {failure !== null && !needsKey && <Failure error={failure} />}
      {found === null && isAsking && <p role="status">Asking the gateway what it does…</p>}
      {found && !needsKey && <Shown all={found} worker={worker} onWorker={setWorker} />}
      {!needsKey && <button type="button" class="main" disabled={isAsking} onClick={load}>{isAsking ? "Asking…" : "Ask again"}</button>}
      {key !== "" && <button type="button" onClick={() => take("")}>Forget the key</button>}
    </>
  );
}

function KeyForm({ message, isWrong, onKey }: { message: string; isWrong: boolean; onKey: (key: string) => void }) {
  const [typed, setTyped] = useState("");
  const give = (event: Event) => {
    event.preventDefault();
    onKey(typed.trim());
    setTyped("");
  };
  return (
    <form onSubmit={give} autoComplete="off">
      <fieldset>
        {isWrong ? <p class="failure" role="alert">{plain(message, 200)}</p> : <p>This gateway shows what it does to its operators alone: give an API key of the tier operator. The page keeps it until it is closed, and stores it nowhere.</p>}
        <label>
          Key of operators
          <input type="password" autoComplete="off" spellcheck={false} required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit">Show</button>
      </fieldset>
    </form>
  );
}

function Shown({ all: { state, requests, config }, worker, onWorker }: { all: All; worker: number | null; onWorker: (worker: number) => void }) {
  return (
    <>
      <dl>
        <dt>Version</dt>
        <dd>{plain(state.version)}</dd>
        <dt>Seen at</dt>
        <dd><time dateTime={moment(state.at)}>{moment(state.at)}</time>{`, running since ${moment(state.startedAt)}`}</dd>
        <dt>State</dt>
        <dd data-part="ready">{state.ready ? "ready" : `not ready: ${state.notReady.map((each) => plain(each, 200)).join("; ")}`}</dd>
      </dl>
      {state.workers > 1 && (
        <label>
          Worker
          <select value={worker ?? state.worker} onChange={(event) => onWorker(Number(event.currentTarget.value))}>
            {Array.from({ length: state.workers }, (_, number) => <option key={number} value={number}>{`${number} of 0 to ${state.workers - 1}`}</option>)}
          </select>
        </label>
      )}
      <NetworkTable networks={state.networks} />
      <ProviderTable rows={state.providers} />
      <UpstreamTable rows={state.upstreams} />
      <IndexTable index={state.index} />
      <RequestTable requests={requests} />
      <section aria-label="Configuration">
        <h3>Configuration</h3>
        <details>
          <summary>The configuration in force, without secrets</summary>
          <pre tabIndex={0} data-part="config">{JSON.stringify(config, null, 2)}</pre>
        </details>
      </section>
    </>
  );
}

export const moment = (seconds: number): string => new Date(seconds * 1_000).toISOString().replace("T", " ").replace(/\..*/, " UTC");
