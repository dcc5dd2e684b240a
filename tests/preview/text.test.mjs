// Run by test_page.py: `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtin, legendOf, putIn, saidOf, secondsOf, unknownNames, valuesOf } from "./page/text.js";

const OWNER = { name: "owner", type: "query", allValue: ".*", current: { text: "All", value: "$__all" } };

test("a variable is replaced however it is written", () => {
  const text = 'a{o=~"$owner", p=~"${owner}", q=~"${owner:regex}", r=~"[[owner]]"}';
  assert.equal(putIn(text, { owner: "x" }), 'a{o=~"x", p=~"x", q=~"x", r=~"x"}');
});

test("a longer name is no shorter variable, and an unknown one stays as it is", () => {
  assert.equal(putIn("$owners $owner_id ${__range_s}", { owner: "x" }), "$owners $owner_id ${__range_s}");
});

test("what has no value is told, but for the groups of label_replace", () => {
  assert.deepEqual(unknownNames('label_replace(m{a="$team"}, "x", "$1", "y", "(.+)")', { owner: "x" }), ["team"]);
});

test("All stands for what the file says, and a choice for itself", () => {
  assert.deepEqual(valuesOf([OWNER]), { owner: ".*" });
  assert.deepEqual(valuesOf([OWNER], { owner: "payments" }), { owner: "payments" });
});

test("a chosen value is no pattern, and several are either", () => {
  assert.equal(valuesOf([OWNER], { owner: "a.b" }).owner, String.raw`a\\.b`);
  assert.equal(valuesOf([OWNER], { owner: ["a", "b"] }).owner, "(a|b)");
});

test("the bar above a dashboard says what is chosen", () => {
  assert.equal(saidOf(OWNER), "All");
  assert.equal(saidOf(OWNER, { owner: ["a", "b"] }), "a + b");
});

test("the window of a point is never shorter than four scrapes", () => {
  assert.equal(builtin({ step: 15, range: 3600, scrape: 30 }).__rate_interval, "120s");
  assert.equal(builtin({ step: 600, range: 86400, scrape: 30 }).__rate_interval, "630s");
  assert.equal(builtin({ step: 15, range: 3600, scrape: 30 }).__range, "3600s");
});

test("a legend has the labels' values", () => {
  assert.equal(legendOf("{{tool}} {{ version }}", { tool: "refund", version: "5" }), "refund 5");
  assert.equal(legendOf("{{tool}}", {}), "");
});

test("without a legend a series is called as Prometheus calls it", () => {
  assert.equal(legendOf("", { __name__: "up", job: "a" }), 'up{job="a"}');
  assert.equal(legendOf("", {}), "Value");
});

test("lengths are seconds", () => {
  assert.deepEqual(["30s", "2m", "now-6h", "7d"].map(secondsOf), [30, 120, 21600, 604800]);
});
