// Tables of the page of operators: networks, providers, nodes, the index.
import type { ComponentChildren } from "preact";
import type { IndexRow, ProviderRow, State, Upstream } from "./operator_state.js";
import { plain } from "./text.js";

export function Table({ label, columns, children }: { label: string; columns: readonly string[]; children: ComponentChildren }) {
  return (
    <section aria-label={label}>
      <h3>{label}</h3>
      <div class="table" tabIndex={0} role="region" aria-label={`Table of ${label.toLowerCase()}`}>
        <table>
          <thead><tr>{columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr></thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </section>
  );
}

export const milliseconds = (value: number | null | undefined): string => (value == null ? "not known" : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`);
const listed = (values: readonly string[], most = 40): string => values.map((each) => plain(each, most)).join(", ");

export function NetworkTable({ networks }: { networks: State["networks"] }) {
  const rows = Object.entries(networks);
  if (!rows.length) return <p role="status">No network is served.</p>;
  return (
    <Table label="Networks" columns={["Network", "State", "Why", "Newest block"]}>
      {rows.map(([slug, { state, why, chainId, headAt }]) => (
        <tr key={slug} data-network={slug}>
          <th scope="row">{plain(slug)} <small>{`chain ${chainId}`}</small></th>
          <td>{plain(state)}</td>
          <td>{listed(why)}</td>
          <td>{headAt === null ? "not known" : new Date(headAt * 1_000).toISOString().slice(0, 19).replace("T", " ")}</td>
        </tr>
      ))}
    </Table>
  );
}

export function ProviderTable({ rows }: { rows: readonly ProviderRow[] }) {
  if (!rows.length) return <p role="status">There is no provider.</p>;
  return (
    <Table label="Providers" columns={["Provider", "State", "Level", "Calls", "Score", "Reason"]}>
      {rows.map((row) => (
        <tr key={`${row.plugin} ${row.id}`} data-provider={row.id}>
          <th scope="row">{plain(row.name)} <small>{`${plain(row.id)} ${plain(row.version)}`}</small><small>{listed(row.capabilities)}</small></th>
          <td>{plain(row.state)}{row.healthy === false && ", not healthy"}</td>
          <td>{row.level ?? "not checked"}</td>
          <td>
            {row.methods.length === 0 && "none yet"}
            {row.methods.map((each) => (
              <small key={`${each.capability} ${each.method}`} data-method={each.method}>
                {`${plain(each.capability)} ${plain(each.method)}: breaker ${each.breaker === "half_open" ? "half open" : each.breaker}${each.reason ? ` (${plain(each.reason)})` : ""}, p50 ${milliseconds(each.p50Ms)}, p95 ${milliseconds(each.p95Ms)}; ${counts(each.outcomes)}`}
              </small>
            ))}
          </td>
          <td>{row.score === null ? "none" : `${row.score.rehearsed - row.score.failed} of ${row.score.rehearsed} simulated`}</td>
          <td>
            {plain(row.reason, 200)}
            {row.lastError && <small>{`last failure: ${plain(row.lastError.capability)} ${plain(row.lastError.method)}, ${plain(row.lastError.reason)}`}</small>}
            {row.missingContracts.map((each) => <small key={`${each.chainId} ${each.contract}`}>{`${plain(each.label)} is missing on ${plain(each.network)}`}</small>)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

export const counts = (outcomes: Readonly<Record<string, number>>): string =>
  Object.entries(outcomes)
    .map(([outcome, count]) => `${count} ${plain(outcome).replaceAll("_", " ")}`)
    .join(", ") || "no call";

export function UpstreamTable({ rows }: { rows: readonly Upstream[] }) {
  if (!rows.length) return <p role="status">No provider of nodes says how its nodes are.</p>;
  return (
    <Table label="Nodes" columns={["Node", "State", "Head", "Latency", "Errors"]}>
      {rows.map((row) => (
        <tr key={`${row.provider} ${row.network} ${row.label}`} data-node={row.label}>
          <th scope="row">{plain(row.label)} <small>{`${plain(row.network)}, tier ${row.tier}, ${plain(row.provider)}`}</small></th>
          <td>{plain(row.state)}{row.reason && <small>{plain(row.reason, 200)}</small>}</td>
          <td class="amount">{row.head ?? "not known"}{row.lag !== null && <small>{row.lag === 0 ? "newest" : `${row.lag} behind`}</small>}</td>
          <td class="amount">{milliseconds(row.p50Ms)}<small>{`p95 ${milliseconds(row.p95Ms)}`}</small></td>
          <td>{row.errorRate === null ? "no call lately" : `${(row.errorRate * 100).toFixed(1)} % lately`}<small>{counts(row.outcomes)}</small></td>
        </tr>
      ))}
    </Table>
  );
}

export function IndexTable({ index }: { index: State["index"] }) {
  if (index === null) return <p role="status">This deployment has no index.</p>;
  return (
    <>
      {index.problem && <p class="notice">{plain(index.problem, 300)}</p>}
      {index.data.length > 0 && (
        <Table label="Index" columns={["Network", "State", "Read", "Block", "Problem"]}>
          {index.data.map((row: IndexRow) => (
            <tr key={row.chainId}>
              <th scope="row">{plain(row.network)}</th>
              <td>{plain(row.state)}</td>
              <td class="amount">{`${row.percent.toFixed(1)} %`}{row.etaSeconds !== null && row.etaSeconds > 0 && <small>{`about ${row.etaSeconds} s left`}</small>}</td>
              <td class="amount">{row.indexedBlock ?? "none"}{row.lagBlocks !== null && <small>{`${row.lagBlocks} behind`}</small>}</td>
              <td>{plain(row.problem, 300)}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
