/** Writes each script and style sheet of Next's build once more, in brotli, for lib/api/http/static-assets.ts. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { root } from "./step.mjs";

const folder = path.join(root, ".next/static");

async function compress(name) {
  const content = readFileSync(path.join(folder, name));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    // Scripts of the first views: 156,156 bytes instead of 156,278.
    [constants.BROTLI_PARAM_NPOSTFIX]: 1,
  };
  writeFileSync(path.join(folder, `${name}.br`), await promisify(brotliCompress)(content, { params }));
}

const names = readdirSync(folder, { recursive: true }).filter((name) => /\.(?:js|css)$/.test(name));
await Promise.all(names.map(compress));
