// A request as code that a person can paste: a curl command, a TypeScript program, a Python program.

/** A request to the gateway that served the page. */
export interface Asked {
  method: string;
  /** Path and query. */
  path: string;
  /** The body as it was sent. Null where there was none. */
  body: string | null;
  /** Whether it had an API key. The code takes it from the environment: no key is copied. */
  hasKey: boolean;
}

export const LANGUAGES = { curl: "curl", typescript: "TypeScript", python: "Python" } as const;
export type Language = keyof typeof LANGUAGES;

/** Name of the environment variable that the code takes an API key from. */
export const KEY_VARIABLE = "QUOTEWAY_API_KEY";

export function snippet(language: Language, asked: Asked, origin: string): string {
  const url = origin + asked.path;
  return language === "curl" ? curl(asked, url) : language === "typescript" ? typescript(asked, url) : python(asked, url);
}

/** The body as data, where writing the data gives the body again: numbers that JavaScript cannot hold would change. */
function data(body: string): unknown {
  // In a literal this name sets something else.
  if (body.includes("__proto__")) return undefined;
  try {
    const found: unknown = JSON.parse(body);
    return [JSON.stringify(found), JSON.stringify(found, null, 2)].includes(body) ? found : undefined;
  } catch {
    return undefined;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curl({ method, body, hasKey }: Asked, url: string): string {
  const lines = [`curl --globoff --silent --show-error ${method === "GET" ? "" : `--request ${method} `}${quoted(url)}`];
  if (hasKey) lines.push(`--header "Authorization: Bearer $${KEY_VARIABLE}"`);
  if (body !== null) lines.push("--header 'Content-Type: application/json'", `--data-raw ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

function typescript({ method, body, hasKey }: Asked, url: string): string {
  const headers = [...(hasKey ? [`Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\``] : []), ...(body === null ? [] : [`"Content-Type": "application/json"`])];
  const found = body === null ? undefined : data(body);
  const members = [
    `method: ${JSON.stringify(method)}`,
    ...(headers.length ? [`headers: { ${headers.join(", ")} }`] : []),
    ...(body === null ? [] : [found === undefined ? `body: ${JSON.stringify(body)}` : `body: JSON.stringify(${indented(JSON.stringify(found, null, 2), "  ")})`]),
  ];
  return `const response = await fetch(${JSON.stringify(url)}, {\n${members.map((each) => `  ${each},\n`).join("")}});\nconsole.log(response.status, await response.text());\n`;
}

function python({ method, body, hasKey }: Asked, url: string): string {
  const found = body === null ? undefined : data(body);
  const headers = [...(hasKey ? [`"Authorization": "Bearer " + os.environ["${KEY_VARIABLE}"]`] : []), ...(body === null ? [] : [`"Content-Type": "application/json"`])];
  const imports = [...(found === undefined ? [] : ["json"]), ...(hasKey ? ["os"] : []), "urllib.error", "urllib.request"];
  const content = body === null ? "" : found === undefined ? `\n    data=${text(body)}.encode(),` : `\n    data=json.dumps(${indented(literal(found), "    ")}).encode(),`;
  return `${imports.map((each) => `import ${each}`).join("\n")}

request = urllib.request.Request(
    ${text(url)},
    method=${text(method)},${headers.length ? `\n    headers={${headers.join(", ")}},` : ""}${content}
)
try:
    with urllib.request.urlopen(request) as response:
        print(response.status, response.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;
}

const indented = (code: string, by: string): string => code.replaceAll("\n", `\n${by}`);

/** A text as Python has it. JSON's escapes are Python's; a pair of surrogates is one character in both. */
const text = (value: string): string => JSON.stringify(value);

function literal(value: unknown, indent = ""): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return text(value);
  const inner = `${indent}    `;
  const rows = Array.isArray(value) ? value.map((each) => literal(each, inner)) : Object.entries(value as object).map(([name, each]) => `${text(name)}: ${literal(each, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return rows.length ? `${open}\n${rows.map((row) => `${inner}${row},\n`).join("")}${indent}${close}` : open + close;
}
