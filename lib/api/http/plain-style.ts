/** The style of pages in one piece (plain-page.ts), which every page's Content-Security-Policy allows by its hash. */
import { createHash } from "node:crypto";

export const plainStyle =
  ":root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}";

/** As `style-src` names it. */
export const plainStyleSource = `'sha256-${createHash("sha256").update(plainStyle).digest("base64")}'`;
