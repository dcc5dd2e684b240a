// Draws dashboards and takes their pictures: `node shoot.mjs < job.json`, see draw.py for the job.
// Says a line of JSON for each picture: its file, and what is wrong with what it shows.
import { createServer, request } from "node:http";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars"];
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Serve the page, and Prometheus beside it, so that the browser asks one origin only. */
async function serve(folder, prometheus) {
  const server = createServer(async (asked, answer) => {
    if (asked.url.startsWith("/prometheus/")) {
      const onward = request(prometheus + asked.url.slice("/prometheus".length), (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
      });
      onward.on("error", () => answer.writeHead(502).end());
      onward.end();
      return;
    }
    try {
      const file = path.join(folder, path.basename(new URL(asked.url, "http://page").pathname));
      const body = await readFile(file);
      answer.writeHead(200, { "content-type": KINDS[path.extname(file)] ?? "application/octet-stream" }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** In the page: panels that show no data, and text that does not fit where it stands. */
function inspect() {
  const empty = [];
  const cut = [];
  for (const panel of document.querySelectorAll("[data-panel]")) {
    const title = panel.dataset.panel;
    const frame = panel.getBoundingClientRect();
    const none = panel.querySelector("[data-none]");
    if (none) empty.push(`${title}: ${none.dataset.none}`);
    for (const element of panel.querySelectorAll("*")) {
      const words = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (!words || element.closest("[data-none], [data-error]")) continue;
      const style = getComputedStyle(element);
      const hides = style.overflowX !== "visible";
      const box = element.getBoundingClientRect();
      const outside = box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1);
      if ((hides && element.scrollWidth > element.clientWidth + 1) || (outside && !element.closest("[role=grid]"))) {
        cut.push(`${title}: ${element.textContent.trim().slice(0, 60)}`);
      }
    }
    for (const grid of panel.querySelectorAll("[role=grid]")) {
      if (grid.scrollWidth > grid.clientWidth + 1) cut.push(`${title}: columns beyond the right edge`);
    }
  }
  return { empty, cut: [...new Set(cut)], faults: window.faults };
}

async function shoot(browser, address, shot) {
  const board = JSON.parse(await readFile(shot.board, "utf8"));
  const page = await browser.newPage({ viewport: { width: shot.width, height: 1000 }, reducedMotion: "reduce" });
  try {
    await page.goto(`${address}/index.html`);
    await page.evaluate((job) => Promise.race([
      window.draw(job), new Promise((_, fail) => setTimeout(() => fail(new Error("not drawn within a minute")), 60000)),
    ]), { ...shot, board });
    const height = await page.evaluate(() => Math.ceil(document.getElementById("root").getBoundingClientRect().height));
    await page.setViewportSize({ width: shot.width, height });
    await page.waitForTimeout(700); // uPlot and the tables draw in the frames after they got their data
    await page.screenshot({ path: shot.file });
    return { file: shot.file, ...await page.evaluate(inspect) };
  } finally {
    await page.close();
  }
}

// Whoever is told to stop takes the browser along and says no more: Playwright ends it when the process does.
for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]]) process.on(signal, () => process.exit(code));

const job = JSON.parse(await text(process.stdin));
const server = await serve(job.page, job.prometheus);
const browser = await chromium.launch({
  executablePath: job.chromium, args: FLAGS, handleSIGINT: false, handleSIGTERM: false,
});
try {
  for (const shot of job.shots) {
    console.log(JSON.stringify(await shoot(browser, `http://127.0.0.1:${server.address().port}`, shot)));
  }
} finally {
  await browser.close();
  server.close();
}
