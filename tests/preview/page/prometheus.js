// Questions to Prometheus, and its answers as Grafana's data frames.
import { dateTime, FieldType, rangeUtil, toDataFrame } from "@grafana/data";
import { builtin, legendOf, putIn, secondsOf, unknownNames } from "./text.js";

async function ask(path, parameters) {
  const answer = await (await fetch(`/prometheus/api/v1/${path}?${new URLSearchParams(parameters)}`)).json();
  if (answer.status !== "success") throw new Error(`${answer.error}: ${JSON.stringify(parameters)}`);
  return answer.data.result;
}

/** The time range that is drawn, as Grafana's libraries take it; `end` and `range` in seconds. */
export function timeRange({ end, range }) {
  const span = { from: dateTime((end - range) * 1000), to: dateTime(end * 1000) };
  return { ...span, raw: span };
}

/** Seconds between the points of a graph that is `width` pixels wide. */
export function stepOf(panel, width, time) {
  const least = Math.max(time.scrape, panel.interval ? secondsOf(panel.interval) : 0);
  const points = panel.maxDataPoints ?? Math.round(width);
  return rangeUtil.calculateInterval(timeRange(time), points, `${least}s`).intervalMs / 1000;
}

/** The frames of all queries of `panel`; throws where a query is refused or a variable is unknown. */
export async function framesOf(panel, width, values, time) {
  const step = stepOf(panel, width, time);
  const known = { ...values, ...builtin({ step, ...time }) };
  const answers = await Promise.all(panel.targets.map((target) => targetFrames(target, known, step, time)));
  return answers.flat();
}

async function targetFrames(target, values, step, { end, range }) {
  const unknown = unknownNames(target.expr, values);
  if (unknown.length) throw new Error(`no such variable: ${unknown.join(", ")}`);
  const query = putIn(target.expr, values);
  if (target.instant) {
    const result = await ask("query", { query, time: end });
    return target.format === "table" ? [tableFrame(target, result)] : result.map((each) => seriesFrame(target, each));
  }
  // Points stand at multiples of the step, as Grafana asks for them.
  const [from, to] = [end - range, end].map((at) => Math.floor(at / step) * step);
  return (await ask("query_range", { query, start: from, end: to, step })).map((each) =>
    seriesFrame(target, each, { step, from, to }));
}

function seriesFrame(target, series, grid) {
  const name = legendOf(target.legendFormat, series.metric);
  const seen = new Map((series.values ?? [series.value]).map(([at, value]) => [at, Number(value)]));
  // Where a series pauses, its frame has a gap: Grafana draws no line over it.
  const times = grid ? Array.from({ length: (grid.to - grid.from) / grid.step + 1 }, (_, at) => grid.from + at * grid.step)
    : [...seen.keys()];
  const config = { displayNameFromDS: name, interval: grid && grid.step * 1000 };
  return toDataFrame({
    refId: target.refId,
    name,
    fields: [
      { name: "Time", type: FieldType.time, config, values: times.map((at) => at * 1000) },
      { name: "Value", type: FieldType.number, labels: series.metric, config, values: times.map((at) => seen.get(at) ?? null) },
    ],
  });
}

function tableFrame(target, result) {
  const labels = [...new Set(result.flatMap((series) => Object.keys(series.metric)))].sort();
  const column = (name) => ({ name, type: FieldType.string, values: result.map((series) => series.metric[name] ?? "") });
  return toDataFrame({
    refId: target.refId,
    fields: [
      { name: "Time", type: FieldType.time, values: result.map((series) => series.value[0] * 1000) },
      ...labels.map(column),
      { name: `Value #${target.refId}`, type: FieldType.number, values: result.map((series) => Number(series.value[1])) },
    ],
  });
}
