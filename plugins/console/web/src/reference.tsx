// The page of the reference: every operation of the gateway's OpenAPI document, to read and to try.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "./answers.js";
import { Failure } from "./failure.js";
import { Members, Opened } from "./members.js";
import { groups, jsonOf, responseOf, type Document, type Response, type Route } from "./openapi.js";
import { Prose } from "./prose.js";
import { TryIt } from "./try_it.js";

/** An API key for requests of this page. It is written nowhere. */
let held = "";

async function read(signal: AbortSignal): Promise<Document> {
  const response = await fetch("/v2/openapi.json", { headers: held ? { Authorization: `Bearer ${held}` } : {}, credentials: "omit", signal: AbortSignal.any([signal, AbortSignal.timeout(30_000)]) });
  if (response.status === 401) throw new Error("This gateway asks for an API key: give one above.");
  if (!response.ok) throw new Error(`The gateway answered HTTP ${response.status}.`);
  const found = (await response.json()) as Document;
  if (typeof found?.paths !== "object" || found.paths === null) throw new Error("The gateway gave no OpenAPI document.");
  return found;
}

export function Reference() {
  const [key, setKey] = useState(held);
  const { found, failure, isAsking, load } = useAnswer(read, [key]);
  const [sought, setSought] = useState("");
  return (
    <>
      <h2>Reference</h2>
      <p>Every operation of this gateway, from its <a href="/v2/openapi.json">OpenAPI document</a>. The <a href="/docs/">documentation</a> says how to use them.</p>
      <KeyField hasKey={key !== ""} onKey={(given) => { held = given; setKey(given); }} />
      {failure !== null && (
        <>
          <Failure error={failure} />
          <button type="button" class="main" onClick={load}>Try again</button>
        </>
      )}
      {found === null && isAsking && <p role="status">Asking the gateway for its OpenAPI document…</p>}
      {found && (
        <>
          <label>
            Find an operation
            <input type="search" autoComplete="off" value={sought} onInput={(event) => setSought(event.currentTarget.value)} />
          </label>
          <Operations document={found} sought={sought.trim().toLowerCase()} apiKey={key} />
        </>
      )}
    </>
  );
}

function KeyField({ hasKey, onKey }: { hasKey: boolean; onKey: (key: string) => void }) {
  const [typed, setTyped] = useState("");
  const give = (event: Event) => {
    event.preventDefault();
    onKey(typed.trim());
    setTyped("");
  };
  return (
    <details>
      <summary>{hasKey ? "Requests have an API key" : "Send an API key with requests"}</summary>
      <form onSubmit={give} autoComplete="off">
        <fieldset>
          <label>
            API key
            <input type="password" autoComplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
          <button type="submit">Use it until the page is closed</button>
          {hasKey && <button type="button" onClick={() => onKey("")}>Forget the key</button>}
        </fieldset>
      </form>
    </details>
  );
}

const matches = ({ method, path, operation }: Route, sought: string): boolean => !sought || `${method} ${path} ${operation.operationId} ${operation.summary ?? ""}`.toLowerCase().includes(sought);

function Operations({ document, sought, apiKey }: { document: Document; sought: string; apiKey: string }) {
  const found = groups(document)
    .map((group) => ({ ...group, routes: group.routes.filter((route) => matches(route, sought)) }))
    .filter(({ routes }) => routes.length > 0);
  if (!found.length) return <p role="status">No operation has this in its path or name.</p>;
  return (
    <>
      {found.map(({ name, description, routes }) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          {description && <Prose text={description} />}
          {routes.map((route) => (
            <div key={`${route.method} ${route.path}`} class="operation" data-operation={route.operation.operationId}>
              <Opened label={`${route.method} ${route.path}: ${route.operation.summary ?? ""}`}>{() => <Described document={document} route={route} apiKey={apiKey} />}</Opened>
            </div>
          ))}
        </section>
      ))}
    </>
  );
}

function Described({ document, route, apiKey }: { document: Document; route: Route; apiKey: string }) {
  const { operation } = route;
  const body = jsonOf(operation.requestBody?.content);
  return (
    <>
      {operation.description && <Prose text={operation.description} />}
      {(operation.parameters?.length ?? 0) > 0 && (
        <>
          <h4>Parameters</h4>
          <dl class="members">
            {operation.parameters!.map(({ name, in: place, required, description = "", schema }) => (
              <Fragment key={`${place} ${name}`}>
                <dt><code>{name}</code>{required ? "" : " (optional)"}</dt>
                <dd><small>{`in ${place}`}{schema?.enum ? `: ${schema.enum.join(", ")}` : ""}</small><Prose text={description} /></dd>
              </Fragment>
            ))}
          </dl>
        </>
      )}
      {body && <Opened label="Members of the body">{() => <Members document={document} schema={body.schema} />}</Opened>}
      {Object.entries(operation.responses).map(([status, response]) => <Answered key={status} document={document} status={status} response={response} />)}
      <h4>Try it</h4>
      <TryIt route={route} apiKey={apiKey} />
    </>
  );
}

function Answered({ document, status, response }: { document: Document; status: string; response: Response }) {
  const found = responseOf(document, response);
  const content = jsonOf(found.content);
  return (
    <Opened label={`${status === "default" ? "Other answers" : `Answer ${status}`}${content && content.type !== "application/json" ? `, ${content.type}` : ""}`}>
      {() => (
        <>
          {found.description && <Prose text={found.description} />}
          {content && <Members document={document} schema={content.schema} />}
        </>
      )}
    </Opened>
  );
}
