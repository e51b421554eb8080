// The page of providers: what each does, where, and why it does not.
import type { Answer, Quoteway } from "../../../../clients/typescript/src/index.js";
import { every, useAnswer } from "./answers.js";
import { CopyAs } from "./copy_as.js";
import { Failure } from "./failure.js";
import { plain } from "./text.js";

type Row = Answer<"listProviders">["data"][number];

const stateOf = ({ state, healthy }: Row): string => plain(state) + (healthy === false ? ", not healthy" : "");

export function Providers({ client }: { client: Quoteway }) {
  const { found: rows, failure, load } = useAnswer((signal) => every(client.providers.list({ signal })), []);
  return (
    <>
      <h2 id="providers">Providers</h2>
      {failure !== null && <Failure error={failure} />}
      {rows === null && failure === null && <p role="status">Asking the gateway for its providers…</p>}
      {rows?.length === 0 && <p role="status">This gateway has no provider.</p>}
      {rows !== null && rows.length > 0 && (
        <div class="table" tabIndex={0} role="region" aria-labelledby="providers">
          <table>
            <thead>
              <tr>{["Provider", "State", "Does", "Networks", "Reason"].map((name) => <th key={name} scope="col">{name}</th>)}</tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.plugin} ${row.id}`}>
                  <th scope="row">{plain(row.name)} <small>{`${plain(row.id)} ${plain(row.version)}`}</small></th>
                  <td>{stateOf(row)}</td>
                  <td>{row.capabilities.map((each) => plain(each)).join(", ")}</td>
                  <td>{row.networks.map((each) => plain(each)).join(", ")}</td>
                  <td>{plain(row.reason, 200)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <button type="button" class="main" onClick={load}>Ask again</button>
      <CopyAs of={["/v2/providers"]} />
    </>
  );
}
