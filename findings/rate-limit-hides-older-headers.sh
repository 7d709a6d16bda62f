#!/bin/sh
# express-rate-limit 8.7.5 and ratelimit-header-parser 0.1.0 (npm), both by the same authors, Node 20, beside ratelimit-headers 0.1.0
# and retryheader 1.0.0 (PyPI): the IETF's draft on RateLimit headers went over to structured fields (`"name";r=9;t=60`), which
# express-rate-limit sends for `standardHeaders: "draft-8"`. The first two parsers don't know that form, and don't say so: by its name
# they take the header for an older draft's, look no further, and hand out a limit without a number in it. A service that sends
# X-RateLimit-* as well, which both read, takes that away from them with the RateLimit header. retryheader reads the new form alone.
# Output (what is left, of 10):
#   draft-6: ratelimit-header-parser 9   ratelimit-headers 9   draft-8: NaN   None   retryheader 9
#   X-RateLimit: 9   9   X-RateLimit and draft-8: NaN   None
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error express@5.3.0 express-rate-limit@8.7.5 ratelimit-header-parser@0.1.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check ratelimit-headers==0.1.0 retryheader==1.0.0
cat > serve.mjs <<'S'
import { writeFileSync } from "node:fs";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { parseRateLimit } from "ratelimit-header-parser";
for (const [standardHeaders, legacyHeaders] of [["draft-6", false], ["draft-8", false], [false, true], ["draft-8", true]]) {
  const app = express().use(rateLimit({ limit: 10, windowMs: 60_000, standardHeaders, legacyHeaders }));
  app.get("/", (_, response) => response.send("ok"));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { headers } = await fetch(`http://127.0.0.1:${server.address().port}/`);
  server.close();
  server.closeAllConnections();
  const name = `${standardHeaders}-${legacyHeaders}`;
  writeFileSync(`${name}.json`, JSON.stringify(Object.fromEntries(headers)));
  writeFileSync(name, `${parseRateLimit(headers).remaining}`);
}
S
node serve.mjs
cat > read.py <<'S'
import json, sys
from ratelimit_headers import parse
from retryheader import parse_ratelimit
headers = json.load(open(f"{sys.argv[2]}.json"))
print(parse(headers).remaining if sys.argv[1] == "headers" else parse_ratelimit(headers["ratelimit"])[0].remaining)
S
read_python() { python/bin/python read.py "$@"; }
{
  echo "draft-6: ratelimit-header-parser $(cat draft-6-false)   ratelimit-headers $(read_python headers draft-6-false)  " \
    "draft-8: $(cat draft-8-false)   $(read_python headers draft-8-false)   retryheader $(read_python retry draft-8-false)"
  echo "X-RateLimit: $(cat false-true)   $(read_python headers false-true)  " \
    "X-RateLimit and draft-8: $(cat draft-8-true)   $(read_python headers draft-8-true)"
} | tee out
cat > expected <<'S'
draft-6: ratelimit-header-parser 9   ratelimit-headers 9   draft-8: NaN   None   retryheader 9
X-RateLimit: 9   9   X-RateLimit and draft-8: NaN   None
S
cmp out expected
