// Texts of the OpenAPI document: paragraphs with names of members in backticks.
import type { ComponentChildren } from "preact";

export function Prose({ text }: { text: string }) {
  return <>{text.split(/\n\s*\n/).map((paragraph, index) => <p key={index}>{words(paragraph)}</p>)}</>;
}

const words = (text: string): ComponentChildren[] => text.split(/(`[^`]+`)/).map((part, index) => (/^`[^`]+`$/.test(part) ? <code key={index}>{part.slice(1, -1)}</code> : part));
