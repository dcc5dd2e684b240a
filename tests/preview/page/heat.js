// Cumulative buckets, taken apart.

/** The counts between each two bounds, the smallest bound first: [{bound, counts}]. */
export function bands(frames) {
  const number = (text) => Number(text.replace("+Inf", "Infinity"));
  const bounds = frames
    .map((frame) => ({ bound: number(frame.fields[1].labels.le), counts: frame.fields[1].values }))
    .sort((one, other) => one.bound - other.bound);
  return bounds.map(({ bound, counts }, place) => ({
    bound,
    counts: counts.map((count, at) => Math.max(0, (count ?? 0) - (place ? (bounds[place - 1].counts[at] ?? 0) : 0))),
  }));
}
