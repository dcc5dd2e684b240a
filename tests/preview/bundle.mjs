// Makes one script of the page and Grafana's libraries: `node bundle.mjs FOLDER`; with names of tests, a script of each.
import { build } from "esbuild";
import { cp, readFile } from "node:fs/promises";
import path from "node:path";

// @grafana/* ship .mjs files, for which esbuild takes a CommonJS module's whole `exports` as its default import.
// Their own build means the other convention, `__esModule`, which esbuild follows for files called .js.
const grafana = {
  name: "grafana-modules",
  setup(bundler) {
    bundler.onResolve({ filter: /.*/ }, async (asked) => {
      if (asked.pluginData === "asked") return undefined;
      const { importer, resolveDir, kind } = asked;
      const found = await bundler.resolve(asked.path, { importer, resolveDir, kind, pluginData: "asked" });
      if (found.errors.length || !/@grafana[/\\][^/\\]+[/\\].*\.mjs$/.test(found.path)) return found;
      return { path: found.path.replace(/\.mjs$/, ".js"), namespace: "grafana", sideEffects: found.sideEffects };
    });
    bundler.onLoad({ filter: /.*/, namespace: "grafana" }, async (asked) => {
      const file = asked.path.replace(/\.js$/, ".mjs");
      return { contents: await readFile(file, "utf8"), loader: "js", resolveDir: path.dirname(file) };
    });
  },
};

const here = import.meta.dirname;
const [folder, ...tests] = process.argv.slice(2);
const common = { bundle: true, plugins: [grafana], logLevel: "error", jsx: "automatic" };
const assets = { ".svg": "dataurl", ".png": "dataurl", ".ttf": "dataurl", ".woff": "dataurl", ".woff2": "dataurl" };
if (tests.length) {
  // The libraries ask a browser for its languages, also where there is none.
  const banner = 'globalThis.window ??= globalThis; globalThis.navigator ??= { languages: ["en-US"], language: "en-US" };';
  await build({
    ...common,
    entryPoints: tests.map((name) => path.join(here, name)),
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    platform: "node",
    loader: assets,
    banner: { js: banner },
  });
} else {
  await build({
    ...common,
    entryPoints: [path.join(here, "page", "main.jsx")],
    outfile: path.join(folder, "page.js"),
    format: "iife",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"', global: "window" },
    loader: assets,
  });
  await cp(path.join(here, "page", "index.html"), path.join(folder, "index.html"));
}
