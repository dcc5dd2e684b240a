// Field configuration as Grafana's library applies it: units, decimals, thresholds, mappings, names, links.
import {
  applyFieldOverrides,
  cacheFieldDisplayNames,
  createFieldConfigRegistry,
  FieldType,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  transformDataFrame,
} from "@grafana/data";

const STANDARD = ["unit", "min", "max", "decimals", "displayName", "color", "noValue", "links", "mappings", "thresholds"];

function property(id, more = {}) {
  const process = (value) => (id === "thresholds" ? opened(value) : value);
  return { id, path: id, name: id, description: "", settings: {}, shouldApply: () => true, process, ...more };
}

/** Thresholds whose first step has no bound: JSON cannot hold the infinity that the library wants. */
function opened(thresholds) {
  return { ...thresholds, steps: thresholds.steps.map((step) => ({ ...step, value: step.value ?? -Infinity })) };
}

standardFieldConfigEditorRegistry.setInit(() => STANDARD.map((id) => property(id)));
standardTransformersRegistry.setInit(() => {
  const known = new Map(Object.values(standardTransformers).map((each) => [each.id, each]));
  return [...known.values()].map((each) => ({ id: each.id, name: each.name, transformation: async () => each }));
});

/** The panel's field configuration with what its plugin would add. */
export function configOf(panel) {
  const config = structuredClone(panel.fieldConfig);
  config.defaults.thresholds = opened(config.defaults.thresholds);
  config.defaults.color ??= { mode: panel.type === "timeseries" ? "palette-classic" : "thresholds" };
  return config;
}

function registryOf(config) {
  const registry = createFieldConfigRegistry({}, "panel");
  const overridden = config.overrides.flatMap((each) => each.properties.map((one) => one.id));
  const custom = overridden.filter((id) => id.startsWith("custom.")).map((id) => id.slice("custom.".length));
  for (const path of new Set([...Object.keys(config.defaults.custom ?? {}), ...custom])) {
    registry.register(property(`custom.${path}`, { path, isCustom: true }));
  }
  return registry;
}

/** Frames as a panel shows them: transformed, and every field with its configuration and its display. */
export async function shown(panel, frames, theme, putIn = (text) => text) {
  const data = await new Promise((resolve, reject) => {
    transformDataFrame(panel.transformations ?? [], frames).subscribe({ next: resolve, error: reject });
  });
  const fieldConfig = configOf(panel);
  const out = applyFieldOverrides({
    data, fieldConfig, theme, timeZone: "utc", replaceVariables: putIn, fieldConfigRegistry: registryOf(fieldConfig),
  });
  for (const field of out.flatMap((frame) => frame.fields)) {
    if (field.type !== FieldType.time) field.config.custom = { ...fieldConfig.defaults.custom, ...field.config.custom };
  }
  cacheFieldDisplayNames(out); // tables take their headings from there
  return out;
}
