/** Writes each script and style sheet of Next's build once more, in brotli, for lib/api/http/static-assets.ts. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { root } from "./step.mjs";

const folder = path.join(root, ".next/static");
for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(?:js|css)$/.test(name)) continue;
  const content = readFileSync(path.join(folder, name));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    // Scripts of the first views: 156,156 bytes instead of 156,278.
    [constants.BROTLI_PARAM_NPOSTFIX]: 1,
  };
  writeFileSync(path.join(folder, `${name}.br`), brotliCompressSync(content, { params }));
}
