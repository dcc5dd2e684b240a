// A whole dashboard on one page. The stand-in is not Grafana: variables, the grid, the heatmap and the bar above are
// put together here; annotations, exemplars and tooltips are not drawn.
import { Component } from "react";
import { createRoot } from "react-dom/client";
import { createTheme, ThemeContext } from "@grafana/data";
import { GlobalStyles } from "@grafana/ui";
import { initPluginTranslations } from "@grafana/i18n";
import "@fontsource/inter/latin-400.css"; // Grafana's font: the libraries fit their text by its widths
import "@fontsource/inter/latin-500.css";
import { Panel } from "./panel.jsx";
import { saidOf, valuesOf } from "./text.js";

const GRID = { columns: 24, row: 30, gap: 8, margin: 16 }; // Grafana's own, in pixels

class Boundary extends Component {
  state = { error: null };
  static getDerivedStateFromError(error) { return { error }; }
  componentDidCatch(error) { window.faults.push(`${this.props.title}: ${error.message}`); }
  render() { return this.state.error ? <pre data-error>{this.state.error.message}</pre> : this.props.children; }
}

function place({ x, y, w, h }, width) {
  const column = (width - GRID.gap * (GRID.columns - 1)) / GRID.columns;
  return {
    left: x * (column + GRID.gap),
    top: y * (GRID.row + GRID.gap),
    width: w * column + (w - 1) * GRID.gap,
    height: h * GRID.row + (h - 1) * GRID.gap,
  };
}

/** What is on the page: with `open`, also the panels of closed rows. A closed row is the last one. */
function seen(board, open) {
  return board.panels.flatMap((panel) => (open && panel.panels?.length ? [panel, ...panel.panels] : [panel]));
}

function hidden(row, open) {
  return row.collapsed && !open ? ` (${row.panels.length} panels)` : "";
}

function Top({ board, chosen, theme }) {
  const chip = { marginRight: 8, padding: "4px 8px", background: theme.colors.background.secondary, borderRadius: 2 };
  return (
    <div style={{ height: 76 }}>
      <h3 style={{ marginBottom: 12 }}>{board.title}</h3>
      {board.templating.list.filter((variable) => variable.hide !== 2).map((variable) => (
        <span key={variable.name} style={chip}>
          <span style={{ color: theme.colors.text.secondary }}>{variable.label}</span> {saidOf(variable, chosen)}
        </span>
      ))}
      {board.links.map((link) => (
        <span key={link.title} style={{ marginRight: 12, color: theme.colors.text.link }}>{link.title}</span>
      ))}
    </div>
  );
}

function Dashboard({ board, job, theme, done }) {
  const values = valuesOf(board.templating.list, job.chosen);
  const width = job.width - 2 * GRID.margin;
  const panels = seen(board, job.open);
  const bottom = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * (GRID.row + GRID.gap);
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ background: theme.colors.background.canvas, padding: GRID.margin, width: job.width }}>
        <Top board={board} chosen={job.chosen} theme={theme} />
        <div style={{ position: "relative", height: bottom }}>
          {panels.map((panel) => {
            const spot = place(panel.gridPos, width);
            const style = { position: "absolute", ...spot };
            if (panel.type === "row") return <div key={panel.id} style={{ ...style, fontWeight: 500, paddingTop: 4 }}>{panel.title}{hidden(panel, job.open)}</div>;
            return (
              <div key={panel.id} data-panel={panel.title} style={style}>
                <Boundary title={panel.title}>
                  <Panel panel={panel} values={values} time={job.time} theme={theme} width={spot.width} height={spot.height} done={done} />
                </Boundary>
              </div>
            );
          })}
        </div>
      </div>
    </ThemeContext.Provider>
  );
}

window.faults = [];
window.onerror = (message) => window.faults.push(String(message));
window.onunhandledrejection = (event) => window.faults.push(String(event.reason));

/** Draw `job.board`; resolves when every panel has its data. */
window.draw = async (job) => {
  await initPluginTranslations("tooltel-preview", []);
  await Promise.all(["400", "500"].map((weight) => document.fonts.load(`${weight} 14px Inter`)));
  const theme = createTheme({ colors: { mode: job.theme } });
  let waiting = seen(job.board, job.open).filter((panel) => panel.type !== "row").length;
  await new Promise((resolve) => {
    const done = (fault) => {
      if (fault) window.faults.push(fault);
      waiting -= 1;
      if (waiting === 0) resolve();
    };
    createRoot(document.getElementById("root")).render(<Dashboard board={job.board} job={job} theme={theme} done={done} />);
  });
};
