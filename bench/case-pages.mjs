/**
 * Lighthouse's four scores of the public pages, at its default settings (a phone on a slow line), medians of five runs.
 * It uses the installed Chromium, or CHROME_PATH. Lighthouse is fetched when needed, because it is larger than
 * everything else installed here.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { attestMany, readerSlug } from "./fill.mjs";

export const name = "pages";
/** Optional: it downloads a package and needs Chromium. */
export const isOptional = true;

const lighthouse = "lighthouse@12.8.2";
const chromeFlags = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
].join(" ");
const categories = ["performance", "accessibility", "best-practices", "seo"];

/** Null if the run failed, as some do: no trace of the navigation, or nothing painted. */
async function readScores(url) {
  const args = ["--yes", lighthouse, url, "--quiet", "--output=json", `--chrome-flags=${chromeFlags}`];
  const output = await promisify(execFile)("npx", args, { maxBuffer: 2 ** 26 }).catch(() => null);
  if (output === null) return null;
  const { categories: judged } = JSON.parse(output.stdout);
  const scores = categories.map((category) => judged[category].score);
  return scores.includes(null) ? null : scores;
}

async function measure(url) {
  const runs = [];
  for (let attempt = 0; runs.length < 5 && attempt < 10; attempt += 1) {
    const scores = await readScores(url);
    if (scores !== null) runs.push(scores);
  }
  if (runs.length < 5) throw new Error(`Lighthouse does not get to see ${url}`);
  return categories.map((_, i) => Math.round(runs.map((scores) => scores[i]).sort((a, b) => a - b)[2] * 100));
}

export async function run(servers) {
  const service = await servers.service();
  const [id] = await attestMany(service, 1);
  const { baseUrl: base } = service;
  console.log(`\nLighthouse: ${categories.join(", ")}`);
  for (const [page, url] of [
    ["/", `${base}/`],
    ["/verify/…", `${base}/verify/${readerSlug}/${id}`],
    ["/agent/…", `${base}/agent/${readerSlug}`],
  ]) {
    await (await fetch(url)).arrayBuffer();
    console.log(`  ${page.padEnd(10)} ${(await measure(url)).join("  ")}`);
  }
}
