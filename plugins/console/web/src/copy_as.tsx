// "Copy as": a request as code, for the clipboard.
import { useState } from "preact/hooks";
import { useNewest } from "./asked.js";
import { LANGUAGES, snippet, type Asked, type Language } from "./snippets.js";

/** What the page asked the gateway for last, by the beginnings of its paths. Nothing before it asked. */
export function CopyAs({ of: prefixes }: { of: readonly string[] }) {
  const asked = useNewest(prefixes);
  return asked && <CopyRequest asked={asked} />;
}

export function CopyRequest({ asked }: { asked: Asked }) {
  const [language, setLanguage] = useState<Language>("curl");
  const [told, setTold] = useState("");
  const code = snippet(language, asked, location.origin);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code);
      setTold("Copied.");
    } catch {
      setTold("The browser does not let the page copy: select the text.");
    }
  };
  return (
    <details class="copy-as">
      <summary>{`Copy the last request (${asked.method} ${asked.path.split("?")[0]!.slice(0, 60)}) as code`}</summary>
      <div role="group" aria-label="Language" class="choices">
        {(Object.entries(LANGUAGES) as [Language, string][]).map(([name, title]) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => { setLanguage(name); setTold(""); }}>{title}</button>
        ))}
        <button type="button" data-part="copy" onClick={() => void copy()}>Copy</button>
      </div>
      <pre tabIndex={0} data-part="code" data-language={language}>{code}</pre>
      <p role="status">{told}</p>
    </details>
  );
}
