#!/bin/sh
# next 16.4.6 (npm), Node 20, Linux: with next.config.ts a production server maps Next's native compiler (SWC) to transpile
# the file at each start, and keeps it: some 30 MB of resident memory that a server with the same settings in
# next.config.mjs doesn't have. Nothing says so; `next build` has stored the settings in .next/required-server-files.json,
# but only Next's own standalone server starts from them.
# Output:  next.config.ts: compiler mapped   next.config.mjs: not
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm pkg set type=module
npm install --no-audit --no-fund --ignore-scripts --loglevel=error next@16.4.6 react@19.2.3 react-dom@19.2.3 typescript@5.9.3 @types/node@20 @types/react@19 >/dev/null
mkdir app
echo 'export default ({ children }) => <html><body>{children}</body></html>' > app/layout.jsx
echo 'export default () => <p>page</p>' > app/page.jsx
echo 'export default { poweredByHeader: false };' > next.config.ts
NEXT_TELEMETRY_DISABLED=1 NODE_ENV=production npx next build >/dev/null 2>&1
cat > start.cjs <<'S'
const { readFileSync } = require("node:fs");
const next = require("next");
const server = next({ dev: false, dir: process.cwd(), hostname: "localhost", port: 3000, httpServer: require("node:http").createServer() });
server.prepare().then(() => {
  const isMapped = readFileSync("/proc/self/maps", "utf8").includes("next-swc");
  console.log(`RESULT ${isMapped ? "compiler mapped" : "not"}`);
  process.exit(0);
});
S
show() { NODE_ENV=production node start.cjs | sed -n 's/^RESULT //p'; }
typescript=$(show)
mv next.config.ts next.config.mjs
script=$(show)
line="next.config.ts: $typescript   next.config.mjs: $script"
echo "$line"
[ "$line" = "next.config.ts: compiler mapped   next.config.mjs: not" ]
