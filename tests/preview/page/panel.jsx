// One panel: Grafana's own frame and drawing components, put together by hand.
import { useEffect, useState } from "react";
import { getDisplayValueAlignmentFactors, getFieldDisplayValues } from "@grafana/data";
import { BarGauge, BigValue, PanelChrome, TimeSeries, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";
import { configOf, shown } from "./fields.js";
import { Heat } from "./heat.jsx";
import { framesOf, timeRange } from "./prometheus.js";
import { putIn } from "./text.js";

function displays(panel, frames, theme) {
  return getFieldDisplayValues({
    fieldConfig: configOf(panel), reduceOptions: panel.options.reduceOptions, replaceVariables: (text) => text,
    theme, data: frames, sparkline: panel.options.graphMode === "area", timeZone: "utc",
  });
}

function Repeated({ panel, frames, theme, width, height, draw }) {
  const { options } = panel;
  const across = width > height ? "vertical" : "horizontal"; // what `auto` means: vertical ones stand side by side
  return (
    <VizRepeater width={width} height={height} source={frames} renderCounter={0} itemSpacing={panel.type === "stat" ? 3 : 8}
      orientation={panel.type === "stat" ? across : options.orientation}
      minVizHeight={options.minVizHeight} maxVizHeight={options.maxVizHeight}
      getAlignmentFactors={(values, w, h) => getDisplayValueAlignmentFactors(values, w, h)}
      getValues={() => displays(panel, frames, theme)} renderValue={draw} />
  );
}

function Stat({ panel, frames, theme, ...size }) {
  const { colorMode, graphMode, textMode, justifyMode, wideLayout, text } = panel.options;
  const draw = ({ value, width, height, count, alignmentFactors }) => (
    <BigValue width={width} height={height} count={count} alignmentFactors={alignmentFactors} theme={theme} text={text}
      value={value.display} sparkline={value.sparkline} colorMode={colorMode} graphMode={graphMode} textMode={textMode}
      justifyMode={justifyMode} wideLayout={wideLayout} />
  );
  return <Repeated panel={panel} frames={frames} theme={theme} draw={draw} {...size} />;
}

function Bars({ panel, frames, theme, ...size }) {
  const { orientation, displayMode, text, showUnfilled, valueMode, namePlacement } = panel.options;
  const draw = ({ value, width, height, alignmentFactors }) => (
    <BarGauge width={width} height={height} alignmentFactors={alignmentFactors} theme={theme} text={text}
      value={value.display} field={value.field} display={value.view?.getFieldDisplayProcessor(value.colIndex)}
      orientation={orientation} displayMode={displayMode} showUnfilled={showUnfilled} valueDisplayMode={valueMode}
      namePlacement={namePlacement} itemSpacing={8} />
  );
  return <Repeated panel={panel} frames={frames} theme={theme} draw={draw} {...size} />;
}

function Drawing({ panel, frames, theme, time, width, height }) {
  const none = panel.fieldConfig.defaults.noValue ?? "No data";
  const single = panel.type === "stat" || panel.type === "bargauge";
  if (!single && !frames.some((frame) => frame.length > 0)) return <div data-none={none} style={{ padding: 16 }}>{none}</div>;
  switch (panel.type) {
    case "stat":
      return <Stat {...{ panel, frames, theme, width, height }} />;
    case "bargauge":
      return <Bars {...{ panel, frames, theme, width, height }} />;
    case "timeseries":
      return <TimeSeries frames={frames} timeRange={timeRange(time)} timeZone="utc" width={width} height={height}
        legend={panel.options.legend} options={panel.options} structureRev={1} />;
    case "table":
      return <TableNG data={frames[0]} width={width} height={height} fieldConfig={configOf(panel)} timeRange={timeRange(time)}
        sortBy={panel.options.sortBy} noHeader={!panel.options.showHeader} cellHeight={panel.options.cellHeight}
        enableVirtualization={false} structureRev={1} resizable={false} />;
    case "heatmap":
      return <Heat {...{ frames, width, height, theme, time }} />;
    default:
      throw new Error(`the stand-in draws no panel of type ${panel.type}`);
  }
}

/** A panel in its frame. `done` is told once it has its data, with an error where there was one. */
export function Panel({ panel, values, time, theme, width, height, done }) {
  const [frames, setFrames] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    framesOf(panel, width, values, time)
      .then((asked) => shown(panel, asked, theme, (text) => putIn(text, values)))
      .then((made) => { setFrames(made); done(null); })
      .catch((problem) => { setError(problem.message); done(`${panel.title}: ${problem.message}`); });
  }, []);
  // A table goes to the edge of its panel; everything else keeps a distance.
  const padding = panel.type === "table" ? "none" : "md";
  return (
    <PanelChrome title={putIn(panel.title, values)} description={panel.description} width={width} height={height} padding={padding}>
      {(innerWidth, innerHeight) => error ? <pre data-error>{error}</pre>
        : frames && <Drawing {...{ panel, frames, theme, time }} width={innerWidth} height={innerHeight} />}
    </PanelChrome>
  );
}
