// The OpenAPI document of the gateway, as far as the reference shows it.

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

export interface Parameter {
  in: "path" | "query" | "header";
  name: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}

interface Content {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
}

export interface Response {
  $ref?: string;
  description?: string;
  content?: Record<string, Content>;
}

export interface Operation {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; description?: string; content: Record<string, Content> };
  responses: Record<string, Response>;
}

export interface Document {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas?: Record<string, Schema>; responses?: Record<string, Response> };
}

export interface Route {
  method: "GET" | "POST" | "DELETE";
  path: string;
  operation: Operation;
}

const JSON_TYPE = "application/json";
const METHODS = new Set(["get", "post", "delete"]);

/** Operations by their tags, in the order of the document. */
export function groups(document: Document): { name: string; description: string; routes: Route[] }[] {
  const found = new Map((document.tags ?? []).map(({ name, description = "" }) => [name, { name, description, routes: [] as Route[] }]));
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!METHODS.has(method)) continue;
      const name = operation.tags?.[0] ?? "other";
      if (!found.has(name)) found.set(name, { name, description: "", routes: [] });
      found.get(name)!.routes.push({ method: method.toUpperCase() as Route["method"], path, operation });
    }
  }
  return [...found.values()].filter(({ routes }) => routes.length > 0);
}

/** The part of the document that a reference names. */
function named<Part>(document: Document, reference: string): Part | undefined {
  let found: unknown = document;
  for (const name of reference.replace(/^#\//, "").split("/")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found as Part;
}

/** A schema with its name, where a reference gives it one. */
export function resolved(document: Document, schema: Schema): { schema: Schema; name: string } {
  const name = schema.$ref?.split("/").at(-1) ?? "";
  return { schema: schema.$ref ? (named<Schema>(document, schema.$ref) ?? {}) : schema, name };
}

export const responseOf = (document: Document, response: Response): Response => (response.$ref ? (named<Response>(document, response.$ref) ?? {}) : response);

/** What a body may look like, as text to begin with. */
export function exampleOf({ requestBody }: Operation): string {
  const content = requestBody?.content[JSON_TYPE];
  const found = content?.example ?? Object.values(content?.examples ?? {})[0]?.value;
  return found === undefined ? "" : JSON.stringify(found, null, 2);
}

export const jsonOf = (content: Record<string, Content> | undefined): { type: string; schema: Schema } | null => {
  const [type, found] = Object.entries(content ?? {})[0] ?? [];
  return type && found?.schema ? { type, schema: found.schema } : null;
};

/** The type of a value in words. */
export function kindOf(document: Document, schema: Schema): string {
  const { schema: found, name } = resolved(document, schema);
  if (found.enum) return found.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (found.const !== undefined) return JSON.stringify(found.const);
  const either = found.anyOf ?? found.oneOf;
  if (either) return name || either.map((each) => kindOf(document, each)).join(" or ");
  const types = Array.isArray(found.type) ? found.type : found.type ? [found.type] : [];
  const [main = "any"] = types.filter((each) => each !== "null");
  const words = main === "array" && found.items ? `array of ${kindOf(document, found.items)}` : name || main;
  return types.includes("null") ? `${words} or null` : words;
}

/** The schemas whose members a value can have, below arrays and choices. */
export function objectsIn(document: Document, schema: Schema): { schema: Schema; name: string }[] {
  const found = resolved(document, schema);
  if (found.schema.properties) return [found];
  const below = [...(found.schema.anyOf ?? []), ...(found.schema.oneOf ?? []), ...(found.schema.allOf ?? []), ...(found.schema.items ? [found.schema.items] : [])];
  return below.flatMap((each) => objectsIn(document, each));
}
