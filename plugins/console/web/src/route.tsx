// The route of a swap as a picture: a row for each path, a box for each pool.
import type { Schemas } from "../../../../clients/typescript/src/index.js";
import { percent, plain, short } from "./text.js";

const [BOX, GAP, ROW] = [170, 40, 64];

export function RoutePicture({ route, symbolOf }: { route: Schemas["Route"]; symbolOf: (address: string) => string }) {
  const longest = Math.max(1, ...route.paths.map(({ hops }) => hops.length));
  const width = 100 + longest * (BOX + GAP);
  const height = route.paths.length * ROW;
  const told = route.paths.map(({ bps, hops }) => `${percent(bps)} through ${hops.map((hop) => `${plain(hop.protocol)} ${short(hop.pool)} to ${symbolOf(hop.tokenOut)}`).join(", ")}`);
  return (
    <figure class="route">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Route: ${told.join("; ")}`}>
        {route.paths.map(({ bps, hops }, row) => {
          const y = row * ROW + ROW / 2;
          return (
            <g key={row}>
              <text x={0} y={y + 5}>{percent(bps)}</text>
              {hops.map((hop, index) => {
                const x = 100 + index * (BOX + GAP);
                return (
                  <g key={index}>
                    <line x1={x - GAP + 12} y1={y} x2={x} y2={y} />
                    <rect x={x} y={y - 24} width={BOX} height={48} rx={8} />
                    <text x={x + 8} y={y - 4}>{plain(hop.protocol, 18)}</text>
                    <text x={x + 8} y={y + 14}>{`to ${symbolOf(hop.tokenOut)}`}</text>
                  </g>
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
