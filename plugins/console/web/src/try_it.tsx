// "Try it": sends a request of the reference to the gateway that served the page, and shows the answer as it comes.
import { useEffect, useRef, useState } from "preact/hooks";
import { CopyRequest } from "./copy_as.js";
import { exampleOf, type Parameter, type Route } from "./openapi.js";
import type { Asked } from "./snippets.js";

/** More of an answer is not shown. */
const MOST_CHARACTERS = 200_000;

interface Answered {
  status: string;
  headers: string;
  body: string;
  isWhole: boolean;
}

export function TryIt({ route, apiKey }: { route: Route; apiKey: string }) {
  const { method, path, operation } = route;
  const parameters = (operation.parameters ?? []).filter((each) => each.in !== "header");
  const [given, setGiven] = useState<Record<string, string>>(() => Object.fromEntries(parameters.map((each) => [each.name, startOf(each)])));
  const [body, setBody] = useState(() => exampleOf(operation));
  const [sent, setSent] = useState<Asked | null>(null);
  const [answer, setAnswer] = useState<Answered | null>(null);
  const [problem, setProblem] = useState("");
  const [isAsking, setAsking] = useState(false);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);

  const send = async (event: Event) => {
    event.preventDefault();
    ending.current.abort();
    const { signal } = (ending.current = new AbortController());
    const asked = { method, path: addressOf(path, parameters, given), body: operation.requestBody && body.trim() ? body : null, hasKey: apiKey !== "" };
    setSent(asked);
    setAnswer(null);
    setProblem("");
    setAsking(true);
    try {
      await read(asked, apiKey, signal, (found) => signal === ending.current.signal && setAnswer(found));
    } catch (error) {
      if (!signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
    }
    if (signal === ending.current.signal) setAsking(false);
  };
  const stop = () => {
    ending.current.abort();
    setAsking(false);
  };

  return (
    <form onSubmit={(event) => void send(event)} aria-label={`Try ${method} ${path}`}>
      <fieldset>
        {parameters.map(({ name, required, in: place }) => (
          <label key={name}>
            {`${name}${required ? "" : " (optional)"}`}
            <input name={name} autoComplete="off" spellcheck={false} required={required === true || place === "path"} value={given[name] ?? ""} onInput={(event) => { const { value } = event.currentTarget; setGiven((before) => ({ ...before, [name]: value })); }} />
          </label>
        ))}
        {operation.requestBody && (
          <label>
            Body
            <textarea rows={10} spellcheck={false} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
          </label>
        )}
        <button type="submit">Send</button>
        {isAsking && <button type="button" onClick={stop}>Stop</button>}
      </fieldset>
      <p role="status">{isAsking ? "Waiting for the answer…" : ""}</p>
      {problem && <p class="failure" role="alert">{problem}</p>}
      {answer && (
        <div data-part="answer">
          <p><strong data-part="status">{answer.status}</strong></p>
          <details>
            <summary>Headers</summary>
            <pre tabIndex={0}>{answer.headers}</pre>
          </details>
          <pre tabIndex={0} data-part="body">{answer.body}</pre>
          {!answer.isWhole && <p role="status">The rest is not shown.</p>}
        </div>
      )}
      {sent && <CopyRequest asked={sent} />}
    </form>
  );
}

const startOf = ({ example, schema, required, in: place }: Parameter): string => {
  const found = example ?? schema?.example;
  return found !== undefined && (required || place === "path") ? String(found) : "";
};

function addressOf(path: string, parameters: readonly Parameter[], given: Record<string, string>): string {
  const query = new URLSearchParams();
  let address = path;
  for (const { name, in: place } of parameters) {
    const value = given[name] ?? "";
    if (place === "path") address = address.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (value !== "") query.set(name, value);
  }
  return query.size ? `${address}?${query}` : address;
}

async function read({ method, path, body }: Asked, apiKey: string, signal: AbortSignal, show: (found: Answered) => void): Promise<void> {
  const headers: Record<string, string> = { ...(body === null ? {} : { "Content-Type": "application/json" }), ...(apiKey ? { Authorization: `Bearer ${apiKey}` } : {}) };
  const response = await fetch(path, { method, headers, body, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  const status = `HTTP ${response.status}`;
  const told = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  const isJson = response.headers.get("Content-Type")?.startsWith("application/json") ?? false;
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    text += decoder.decode(value, { stream: !done });
    if (done || text.length > MOST_CHARACTERS) {
      if (!done) await reader?.cancel();
      const isWhole = done && text.length <= MOST_CHARACTERS;
      show({ status, headers: told, body: (isJson && isWhole ? pretty(text) : text).slice(0, 2 * MOST_CHARACTERS), isWhole });
      return;
    }
    // A stream has no end: what has come is shown.
    if (!isJson) show({ status, headers: told, body: text, isWhole: true });
  }
}

/** JSON with a line for each member. Numbers that JavaScript cannot hold would change: then the text stays as it is. */
function pretty(text: string): string {
  try {
    const found: unknown = JSON.parse(text);
    return JSON.stringify(found) === text ? JSON.stringify(found, null, 2) : text;
  } catch {
    return text;
  }
}
