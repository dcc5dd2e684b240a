// Run by test_page.py over a bundle of this file, where Grafana's libraries are installed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTheme, FieldType, formattedValueToString, getFieldDisplayName, toDataFrame } from "@grafana/data";
import { bands } from "./page/heat.js";
import { shown } from "./page/fields.js";

const THEME = createTheme();
const STEPS = { mode: "absolute", steps: [{ value: null, color: "green" }, { value: 0.05, color: "red" }] };

function series(name, values) {
  const config = { displayNameFromDS: name };
  return toDataFrame({ name, fields: [
    { name: "Time", type: FieldType.time, values: values.map((_, at) => at * 1000) },
    { name: "Value", type: FieldType.number, config, values },
  ] });
}

async function field(fieldConfig, frame, more = {}) {
  const panel = { type: "stat", fieldConfig: { overrides: [], ...fieldConfig }, ...more };
  const [made] = await shown(panel, [frame], THEME);
  return made.fields.at(-1);
}

test("a share is spelled in its unit and colored by its step", async () => {
  const made = await field({ defaults: { unit: "percentunit", decimals: 2, thresholds: STEPS } }, series("a", [0.01, 0.0722]));
  assert.equal(formattedValueToString(made.display(0.0722)), "7.22%");
  assert.equal(made.display(0.0722).color, THEME.visualization.getColorByName("red"));
  assert.equal(made.display(0.01).color, THEME.visualization.getColorByName("green"));
});

test("seconds get the fitting unit, and a suffix stands behind its number", async () => {
  const seconds = await field({ defaults: { unit: "s", thresholds: STEPS } }, series("a", [0.317]));
  assert.equal(formattedValueToString(seconds.display(0.317)), "317 ms");
  const calls = await field({ defaults: { unit: "suffix:calls", decimals: 0, thresholds: STEPS } }, series("a", [79]));
  assert.equal(formattedValueToString(calls.display(79)), "79 calls");
});

test("a word stands for its value, and a sentence for none", async () => {
  const mappings = [{ type: "value", options: { 0: { text: "last hour", index: 0 } } }];
  const made = await field({ defaults: { unit: "suffix:d ago", mappings, noValue: "not seen", thresholds: STEPS } }, series("a", [0]));
  assert.equal(made.display(0).text, "last hour");
  assert.equal(made.display(null).text, "not seen");
});

test("an override is for the series of its name only", async () => {
  const overrides = [{ matcher: { id: "byName", options: "ok" },
    properties: [{ id: "color", value: { mode: "fixed", fixedColor: "green" } }] }];
  const fieldConfig = { defaults: { thresholds: STEPS }, overrides };
  assert.equal((await field(fieldConfig, series("ok", [1]))).config.color.mode, "fixed");
  assert.notEqual((await field(fieldConfig, series("error", [1]))).config.color.mode, "fixed");
});

test("a table's column is found by the name that it was given", async () => {
  const frame = toDataFrame({ refId: "calls", fields: [
    { name: "tool", type: FieldType.string, values: ["refund"] },
    { name: "Value #calls", type: FieldType.number, values: [1234.4] },
  ] });
  const transformations = [{ id: "organize", options: { renameByName: { "Value #calls": "calls" }, indexByName: {}, excludeByName: {} } }];
  const overrides = [{ matcher: { id: "byName", options: "calls" },
    properties: [{ id: "unit", value: "locale" }, { id: "decimals", value: 0 }, { id: "custom.width", value: 90 }] }];
  const made = await field({ defaults: { thresholds: STEPS, custom: { minWidth: 60 } }, overrides }, frame, { transformations });
  assert.equal(getFieldDisplayName(made, frame), "calls");
  assert.equal(formattedValueToString(made.display(1234.4)), "1,234");
  assert.deepEqual(made.config.custom, { minWidth: 60, width: 90 });
});

test("a heatmap counts between its bounds, whatever the order of the answer", () => {
  const bucket = (le, counts) => toDataFrame({ fields: [
    { name: "Time", type: FieldType.time, values: [0, 1] },
    { name: "Value", type: FieldType.number, labels: { le }, values: counts },
  ] });
  const made = bands([bucket("+Inf", [5, 4]), bucket("0.1", [2, null]), bucket("1.0", [4, 4])]);
  assert.deepEqual(made.map((row) => [row.bound, row.counts]), [[0.1, [2, 0]], [1, [2, 4]], [Infinity, [1, 0]]]);
});
