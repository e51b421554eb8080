// Pages that few people open: their code is asked for when they are.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./failure.js";

export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [, setLoaded] = useState(loaded);
    const [failure, setFailure] = useState<unknown>(null);
    const begin = () => {
      setFailure(null);
      load().then(
        (found) => {
          loaded = found;
          setLoaded(() => found);
        },
        setFailure,
      );
    };
    useEffect(() => void (loaded ?? begin()), []);
    if (loaded) {
      const Page = loaded;
      return <Page {...props} />;
    }
    if (failure === null) return <p role="status">Loading the page…</p>;
    return (
      <>
        <Failure error={new Error("The gateway did not give the code of this page. Load the page again: a newer version may have replaced it.")} />
        <button type="button" class="main" onClick={begin}>Try again</button>
      </>
    );
  };
}
