// The newest requests of a worker, each with its calls of providers.
import type { RequestRow, Requests } from "./operator_state.js";
import { milliseconds, Table } from "./operator_tables.js";
import { plain } from "./text.js";

export function RequestTable({ requests: { kept, data } }: { requests: Requests }) {
  if (kept === 0) {
    return (
      <section aria-label="Requests">
        <h3>Requests</h3>
        <p role="status">No request is kept. The setting <code>requests</code> of <code>[operator]</code> says how many are.</p>
      </section>
    );
  }
  if (!data.length) {
    return (
      <section aria-label="Requests">
        <h3>Requests</h3>
        <p role="status">This worker has answered no request yet that is no list from memory.</p>
      </section>
    );
  }
  return (
    <Table label="Requests" columns={["Request", "Answer", "Took", "Calls of providers"]}>
      {data.map((row, index) => <RequestLine key={`${index} ${row.requestId}`} row={row} />)}
    </Table>
  );
}

function RequestLine({ row }: { row: RequestRow }) {
  const answer = [row.provider, row.code, row.reason].filter((each) => each !== null).map((each) => plain(each));
  return (
    <tr data-request={row.requestId}>
      <th scope="row">{`${plain(row.method)} ${plain(row.route, 80)}`}<small>{new Date(row.at * 1_000).toISOString().slice(11, 23)}</small><small>{plain(row.requestId, 80)}</small>{row.caller && <small>{plain(row.caller)}</small>}</th>
      <td>{row.status}{answer.map((each) => <small key={each}>{each}</small>)}</td>
      <td class="amount">{milliseconds(row.durationMs)}</td>
      <td>
        {row.calls.length === 0 ? "none" : (
          <details>
            <summary>{row.calls.length === 1 ? "1 call" : `${row.calls.length} calls`}</summary>
            <ol>
              {row.calls.map((call, index) => (
                <li key={index} data-kind={call.kind}>{`+${milliseconds(call.atMs)} ${call.kind === "upstream" ? "node of " : ""}${plain(call.name, 80)}: ${plain(call.outcome ?? "under way").replaceAll("_", " ")}${call.durationMs === null ? "" : ` in ${milliseconds(call.durationMs)}`}`}</li>
              ))}
              {row.callsLeftOut > 0 && <li>{`${row.callsLeftOut} more are not kept`}</li>}
            </ol>
          </details>
        )}
      </td>
    </tr>
  );
}
