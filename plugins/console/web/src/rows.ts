// All rows of a list, with the states of asking for them.
import { useEffect, useState } from "preact/hooks";

/** Asks for the rows once, and again with `load`. `rows` is null until they are there, `failure` where they did not come. */
export function useRows<Row>(list: () => AsyncIterable<Row>): { rows: Row[] | null; failure: unknown; load: () => Promise<void> } {
  const [rows, setRows] = useState<Row[] | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const load = async () => {
    setFailure(null);
    try {
      const found: Row[] = [];
      for await (const row of list()) found.push(row);
      setRows(found);
    } catch (error) {
      setFailure(error);
    }
  };
  useEffect(() => void load(), []);
  return { rows, failure, load };
}
