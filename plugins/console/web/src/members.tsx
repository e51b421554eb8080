// The members of requests and answers, as deep as a person opens them.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { kindOf, objectsIn, type Document, type Schema } from "./openapi.js";
import { Prose } from "./prose.js";

export function Members({ document, schema, depth = 0 }: { document: Document; schema: Schema; depth?: number }) {
  const objects = objectsIn(document, schema);
  if (!objects.length) return <p>{kindOf(document, schema)}</p>;
  return (
    <>
      {objects.map(({ schema: object, name }, index) => (
        <div key={index}>
          {(objects.length > 1 || depth === 0) && name && <p><strong>{name}</strong></p>}
          <dl class="members">
            {Object.entries(object.properties ?? {}).map(([member, about]) => (
              <Member key={member} document={document} name={member} schema={about} isRequired={object.required?.includes(member) ?? false} depth={depth} />
            ))}
          </dl>
        </div>
      ))}
    </>
  );
}

interface Given {
  document: Document;
  name: string;
  schema: Schema;
  isRequired: boolean;
  depth: number;
}

function Member({ document, name, schema, isRequired, depth }: Given) {
  const hasMembers = objectsIn(document, schema).length > 0;
  return (
    <>
      <dt><code>{name}</code>{isRequired ? "" : " (optional)"}</dt>
      <dd>
        <small>{kindOf(document, schema)}{limitsOf(schema)}</small>
        {schema.description && <Prose text={schema.description} />}
        {hasMembers && <Opened label="Its members">{() => <Members document={document} schema={schema} depth={depth + 1} />}</Opened>}
      </dd>
    </>
  );
}

/** What is made only when it is opened: schemas may hold each other. */
export function Opened({ label, children }: { label: string; children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && children()}
    </details>
  );
}

function limitsOf({ minimum, maximum, maxLength, default: usual }: Schema): string {
  const said = [
    minimum !== undefined || maximum !== undefined ? `${minimum ?? "…"} to ${maximum ?? "…"}` : "",
    maxLength !== undefined ? `at most ${maxLength} characters` : "",
    usual !== undefined && usual !== null ? `usually ${JSON.stringify(usual)}` : "",
  ].filter(Boolean);
  return said.length ? `, ${said.join(", ")}` : "";
}
