/** Finds a browser for the end-to-end tests, or downloads one. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { installPackage } from "./debian.mjs";
import { root } from "./step.mjs";

/** Chromium without its own windows: the browser tests take a third less processor time in it. */
const headlessShell = "/usr/lib/chromium/chromium-headless-shell";
const places = [headlessShell, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

function findInstalled() {
  return [process.env.CHROME_PATH, ...places].find((place) => place && existsSync(place));
}

async function findPlaywrightsOwn() {
  const { chromium } = await import("@playwright/test");
  const place = chromium.executablePath();
  return existsSync(place) ? place : undefined;
}

/** The path of a Chromium: installed, from Debian's packages when root, or Playwright's own. Throws when there is none. */
export async function findChromium() {
  if (!process.env.CHROME_PATH && !existsSync(headlessShell)) installPackage("chromium-headless-shell");
  if (!findInstalled()) installPackage("chromium");
  const found = findInstalled() ?? (await findPlaywrightsOwn());
  if (found) return found;
  spawnSync("npx", ["playwright", "install", "chromium-headless-shell", "chromium"], {
    cwd: root,
    stdio: "ignore",
  });
  const own = await findPlaywrightsOwn();
  if (own) return own;
  throw new Error(
    "The end-to-end tests need Chromium: run `apt-get install chromium` as root or `npx playwright install chromium`, or set CHROME_PATH",
  );
}
