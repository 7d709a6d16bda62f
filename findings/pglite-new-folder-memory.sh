#!/bin/sh
# @electric-sql/pglite 0.5.17 (npm), Node 20: PGlite.create on a new folder runs initdb in a second instance and leaves more
# than 400 MB outside of the heap, which nothing uses any more. One full garbage collection doesn't free them, only a
# second one after a turn of the event loop; in a server at rest V8 was seen to wait for minutes with it.
# Output (external memory over 300 MB?):  new: true   collected: true   collected again: false
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @electric-sql/pglite@0.5.17 >/dev/null
cat > run.mjs <<'S'
import { setTimeout as sleep } from "node:timers/promises";
import { PGlite } from "@electric-sql/pglite";
const isLarge = () => process.memoryUsage().external > 300e6;
await PGlite.create({ dataDir: "./data" });
const created = isLarge();
await sleep(1000);
gc();
const once = isLarge();
await sleep(1000);
gc();
const twice = isLarge();
console.log(`new: ${created}   collected: ${once}   collected again: ${twice}`);
process.exit(0);
S
line=$(node --expose-gc run.mjs)
echo "$line"
[ "$line" = "new: true   collected: true   collected again: false" ]
