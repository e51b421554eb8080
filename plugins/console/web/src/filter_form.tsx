// A form that asks for the rows of a list that are like what is typed, in an order.
import { useState } from "preact/hooks";

interface Field<Name extends string> {
  name: Name;
  label: string;
  title?: string;
  maxLength?: number;
  /** Where only numbers are taken: what they look like. */
  pattern?: string;
}

interface Given<Name extends string, Sort extends string> {
  /** Of what, such as "Pools". */
  of: string;
  button: string;
  fields: readonly Field<Name>[];
  /** What the rows can be ordered by, with its title. The first is chosen at first. */
  sorts: Readonly<Record<Sort, string>>;
  isDisabled?: boolean;
  onChoose: (filter: Record<Name, string> & { sort: Sort }) => void;
}

export function FilterForm<Name extends string, Sort extends string>({ of, button, fields, sorts, isDisabled, onChoose }: Given<Name, Sort>) {
  const [typed, setTyped] = useState<Partial<Record<Name, string>>>({});
  const titles = Object.entries<string>(sorts) as [Sort, string][];
  const [sort, setSort] = useState(titles[0]![0]);
  const ask = (event: Event) => {
    event.preventDefault();
    const values = Object.fromEntries(fields.map(({ name }) => [name, (typed[name] ?? "").trim()])) as Record<Name, string>;
    onChoose({ ...values, sort });
  };
  return (
    <form role="search" aria-label={of} onSubmit={ask}>
      <fieldset class="filters" disabled={isDisabled}>
        {fields.map(({ name, label, title, maxLength = 100, pattern }) => (
          <label key={name}>
            {label}
            <input name={name} autoComplete="off" spellcheck={false} maxLength={maxLength} title={title} pattern={pattern} inputMode={pattern ? "decimal" : undefined} value={typed[name] ?? ""} onInput={(event) => setTyped({ ...typed, [name]: event.currentTarget.value })} />
          </label>
        ))}
        <label>
          Most first, by
          <select value={sort} onChange={(event) => setSort(event.currentTarget.value as Sort)}>
            {titles.map(([each, title]) => <option key={each} value={each}>{title}</option>)}
          </select>
        </label>
        <button type="submit">{button}</button>
      </fieldset>
    </form>
  );
}
