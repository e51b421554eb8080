// Writes src/api.ts (the types) and src/operations.ts (what the client needs at run time) from the OpenAPI document.
// With `--check` it writes nothing, and ends with 1 when a file is not what it would write.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const DOCUMENT = new URL("../../docs/reference/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(DOCUMENT, "utf8"));
const { schemas } = document.components;

// Streams of events are read by streaming.ts: no operation of `call`, but their data have types.
const EVENTS = ["Head", "QuoteChange", "HashReport", "Tracked", "IndexStatus", "TopicFailure", "StreamLost"];
for (const [path, { get }] of Object.entries(document.paths)) {
  if (get?.responses["200"]?.content?.["text/event-stream"]) delete document.paths[path];
}

/** What the types do not need. Recorded examples would change them with every recording. */
function strip(node) {
  if (node === null || typeof node !== "object") return;
  for (const name of ["example", "examples"]) if (!Array.isArray(node)) delete node[name];
  for (const value of Object.values(node)) strip(value);
}
for (const methods of Object.values(document.paths)) {
  for (const { parameters = [], responses } of Object.values(methods)) {
    // Headers are the client's own business, and errors are classes.
    parameters.splice(0, parameters.length, ...parameters.filter((each) => each.in !== "header"));
    for (const [status, response] of Object.entries(responses)) {
      if (!status.startsWith("2")) delete responses[status];
      else delete response.headers;
    }
  }
}
document.components = { schemas };
strip(document);

const INTEGER = /^\^(\(0\|-\?)?(\(?0\|)?\[1-9\]\[0-9\]\{0,\d+\}\)?\$$/;
const MAX = "^(max|0|[1-9][0-9]{0,77})$";

/** An integer in decimal digits is a bigint in this client; other text stays text. */
const isAmount = (schema) => [schema.type].flat().includes("string") && (INTEGER.test(schema.pattern) || schema.pattern === MAX);

const BIGINT = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
const literal = (value) => ts.factory.createLiteralTypeNode(value);

function transform(schema, { path }) {
  if (!isAmount(schema) || path?.includes("/parameters/path/")) return undefined;
  const types = [BIGINT];
  if (schema.pattern === MAX) types.push(literal(ts.factory.createStringLiteral("max")));
  if (schema.type.includes("null")) types.push(literal(ts.factory.createNull()));
  return types.length > 1 ? ts.factory.createUnionTypeNode(types) : BIGINT;
}

const nameOf = (schema) => schema?.$ref?.split("/").at(-1);

/** The name of the schema that a member's value, or each item of it, has. */
function namesIn(schema) {
  const direct = nameOf(schema);
  if (direct) return [direct];
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap(namesIn);
}

/** Members that are amounts (true) or may contain some (the name of their schema). */
function membersOf(schema) {
  const found = {};
  for (const name of namesIn(schema)) Object.assign(found, membersOf(schemas[name]));
  for (const [member, value] of Object.entries(schema.properties ?? {})) {
    if (isAmount(value)) found[member] = true;
    else if (namesIn(value).length) found[member] = namesIn(value)[0];
  }
  return found;
}

const amounts = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, membersOf(schema)]));
for (let changed = true; changed; ) {
  changed = false;
  for (const members of Object.values(amounts)) {
    for (const [member, kind] of Object.entries(members)) {
      if (kind !== true && Object.keys(amounts[kind]).length === 0) {
        delete members[member];
        changed = true;
      }
    }
  }
}

const kept = (name) => (name && Object.keys(amounts[name]).length ? name : null);
const operations = {};
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const body = operation.requestBody?.content["application/json"].schema;
    const status = Object.keys(operation.responses).find((each) => each.startsWith("2"));
    const answer = operation.responses[status].content?.["application/json"]?.schema;
    operations[operation.operationId] = [method.toUpperCase(), path, kept(nameOf(body)), kept(nameOf(answer))];
  }
}

// Only what an operation or an error leads to.
const reached = {};
function reach(name) {
  if (!name || reached[name]) return;
  reached[name] = amounts[name];
  for (const kind of Object.values(amounts[name])) if (kind !== true) reach(kind);
}
for (const [, , body, answer] of Object.values(operations)) {
  reach(body);
  reach(answer);
}
for (const name of EVENTS) reach(name);
reach("Error");

const NOTE = "// Written by generate.js of the OpenAPI document: run `npm run generate`, do not edit.\n";
const lines = (table) =>
  Object.entries(table).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},\n`).join("");
const files = {
  "api.ts": NOTE + astToString(await openapiTS(structuredClone(document), { transform })),
  "operations.ts": `${NOTE}
/** Method, path, schema of the body and schema of the answer of each operation; null for a schema without amounts. */
export const OPERATIONS = {
${lines(operations)}} as const satisfies Record<string, readonly [string, string, string | null, string | null]>;

/** Members of schemas that are amounts (true), or that may have some (the name of their schema). */
export const AMOUNTS: Readonly<Record<string, Readonly<Record<string, true | string>>>> = {
${lines(reached)}};
`,
};

for (const [name, text] of Object.entries(files)) {
  const place = new URL(`src/${name}`, import.meta.url);
  if (!process.argv.includes("--check")) writeFileSync(place, text);
  else if (readFileSync(place, "utf8") !== text) {
    console.error(`clients/typescript/src/${name} does not match the OpenAPI document: run \`npm run generate\` there.`);
    process.exitCode = 1;
  }
}
