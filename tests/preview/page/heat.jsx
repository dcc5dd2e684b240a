// A heatmap of cumulative buckets. Grafana's own panel is no library: this one is drawn by hand.
import { bands } from "./heat.js";

const AXIS = 56;
const FOOT = 22;

function spelled(seconds) {
  if (seconds === Infinity) return "more";
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds} s`;
}

export function Heat({ frames, width, height, theme, time }) {
  const rows = bands(frames);
  const filled = rows.map((row) => row.counts.some((count) => count > 0));
  const rowHeight = (height - FOOT) / rows.length;
  const most = Math.max(...rows.flatMap((row) => row.counts), 1e-9);
  const cell = (width - AXIS) / rows[0].counts.length;
  const every = Math.ceil(14 / rowHeight);
  const text = { fill: theme.colors.text.secondary, fontSize: 11 };
  const every15 = 900 * Math.ceil(time.range / 900 / 6);
  const first = Math.ceil((time.end - time.range) / every15) * every15;
  const ticks = Array.from({ length: Math.floor((time.end - first) / every15) + 1 }, (_, at) => first + at * every15);
  return (
    <svg width={width} height={height} data-filled={filled.filter(Boolean).length}>
      {rows.map((row, place) => (
        <g key={place}>
          {place % every === 0 && (
            <text x={AXIS - 6} y={height - FOOT - place * rowHeight} textAnchor="end" {...text}>{spelled(row.bound)}</text>
          )}
          {row.counts.map((count, at) => count > 0 && (
            <rect key={at} x={AXIS + at * cell} y={height - FOOT - (place + 1) * rowHeight + 1} width={Math.max(1, cell - 1)}
              height={rowHeight - 1} fill={`rgba(255, 120, 10, ${0.12 + 0.88 * Math.sqrt(count / most)})`} />
          ))}
        </g>
      ))}
      {ticks.map((at) => (
        <text key={at} x={AXIS + (1 - (time.end - at) / time.range) * (width - AXIS)} y={height - 6} textAnchor="middle" {...text}>
          {new Date(at * 1000).toISOString().slice(11, 16)}
        </text>
      ))}
    </svg>
  );
}
