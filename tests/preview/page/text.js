// What Grafana does with text before it asks: variables, legends, steps. No package is needed here.

// $name, ${name}, ${name:format} and [[name]], as Grafana finds them.
const VARIABLE = /\$(\w+)|\$\{(\w+)(?:\.[^:}]+)?(?::\w+)?\}|\[\[(\w+)(?::\w+)?\]\]/g;
const ALL = "$__all";

/** `text` with variables replaced; a name that is no variable stays as it is. */
export function putIn(text, values) {
  return text.replace(VARIABLE, (found, ...names) => values[names.find((name) => name)] ?? found);
}

/** Names that look like variables and have no value; `$1` is label_replace's own. */
export function unknownNames(text, values) {
  const names = [...text.matchAll(VARIABLE)].map((found) => found[1] ?? found[2] ?? found[3]);
  return names.filter((name) => !(name in values) && !/^\d+$/.test(name));
}

/** A value as Grafana puts it into a regular expression of PromQL. */
export function escaped(value) {
  return value.replace(/\\/g, "\\\\\\\\").replace(/[$^*{}[\]+?.()|]/g, "\\\\$&");
}

/** What each variable of a dashboard stands for: `chosen` values by name, else what the file says. */
export function valuesOf(variables, chosen = {}) {
  const values = {};
  for (const variable of variables) {
    const value = chosen[variable.name] ?? variable.current?.value;
    if (value === ALL) values[variable.name] = variable.allValue;
    else if (Array.isArray(value)) values[variable.name] = `(${value.map(escaped).join("|")})`;
    else values[variable.name] = variable.type === "query" ? escaped(value) : value;
  }
  return values;
}

/** What the bar above a dashboard says of a variable. */
export function saidOf(variable, chosen = {}) {
  const value = chosen[variable.name];
  return value === undefined ? variable.current?.text : [value].flat().join(" + ");
}

/** Grafana's own variables; all in seconds. `scrape` is the data source's interval. */
export function builtin({ step, range, scrape }) {
  return {
    __interval: `${step}s`,
    __rate_interval: `${Math.max(step + scrape, 4 * scrape)}s`,
    __range: `${range}s`,
    __range_s: `${range}`,
  };
}

/** The name of a series: `{{label}}` stands for the label's value; without a format, what Prometheus calls it. */
export function legendOf(format, labels) {
  if (format) return format.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? "");
  const { __name__: name = "", ...rest } = labels;
  const pairs = Object.entries(rest).map(([label, value]) => `${label}="${value}"`);
  return pairs.length ? `${name}{${pairs.join(", ")}}` : name || "Value";
}

/** Seconds of a length such as `6h` or `now-7d`. */
export function secondsOf(length) {
  const [, number, unit] = /^(?:now-)?(\d+)([smhdw])$/.exec(length);
  return Number(number) * { s: 1, m: 60, h: 3600, d: 86400, w: 604800 }[unit];
}
