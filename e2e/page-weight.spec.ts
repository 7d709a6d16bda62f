/** Weight of a public page's first view in JavaScript: at most 75 KB beyond an empty Next page, compressed. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, type Page } from "@playwright/test";
import { getApiKey } from "./approval-helpers";
import { attest, run } from "./public-pages-helpers";
import { test } from "./test";

/** The five scripts of an application of one page with one heading, built by this version of Next, in brotli as ours. */
const emptyPageBytes = 114_919;
const allowanceBytes = 75 * 1024;

/** Bytes of script as they crossed the wire, workers' included. */
async function weighScripts(page: Page, url: string): Promise<{ bytes: number; files: string[] }> {
  const weighed: Promise<{ bytes: number; file: string }>[] = [];
  page.on("requestfinished", (request) => {
    if (!new URL(request.url()).pathname.endsWith(".js")) return;
    const size = request.sizes().then(({ responseBodySize }) => responseBodySize);
    weighed.push(size.then((bytes) => ({ bytes, file: `${bytes} ${request.url()}` })));
  });
  await page.goto(url, { waitUntil: "networkidle" });
  if ((await page.locator("[data-browser-check]").count()) > 0)
    await expect(page.locator("[data-browser-check]")).toHaveAttribute("data-browser-check", "done");
  const all = await Promise.all(weighed);
  return { bytes: all.reduce((sum, { bytes }) => sum + bytes, 0), files: all.map(({ file }) => file) };
}

test("the first view of each public page stays within its allowance of JavaScript", async ({
  browser,
  request,
}) => {
  const key = await getApiKey(request, "weight");
  const made = await attest(request, key, { agent_slug: `weight-bot-${run}` });
  for (const url of ["/", made.public_url, `/agent/weight-bot-${run}`, "/verify"]) {
    const page = await browser.newPage();
    const { bytes, files } = await weighScripts(page, url);
    test.info().annotations.push({ type: "script bytes", description: `${url}: ${bytes}` });
    expect(bytes, "something was weighed").toBeGreaterThan(50_000);
    expect(bytes, [url, ...files].join("\n")).toBeLessThanOrEqual(emptyPageBytes + allowanceBytes);
    await page.close();
  }
});

test("what checks requests stays on the server: no page's script has Zod, which asks to compile code", {
  tag: "@smoke",
}, async () => {
  const folder = ".next/static/chunks";
  const files = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")));
  expect(texts.join(""), "the scripts were read").toContain("pushState");
  expect(files.filter((_, i) => texts[i]?.includes("ZodError"))).toEqual([]);
});

test("the pairing checks are fetched only where one runs", async ({ browser, request }) => {
  const key = await getApiKey(request, "weight-zk");
  const plain = await attest(request, key, { agent_slug: `weight-zk-bot-${run}` });
  const proven = await attest(request, key, { agent_slug: `weight-zk-bot-${run}`, enable_zk: true });
  const weigh = async (url: string) => {
    const page = await browser.newPage();
    const { bytes } = await weighScripts(page, url);
    await page.close();
    return bytes;
  };
  expect(await weigh(proven.public_url)).toBeGreaterThan((await weigh(plain.public_url)) + 10_000);
});
