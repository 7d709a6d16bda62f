#!/bin/sh
# @electric-sql/pglite 0.5.17 (npm; PostgreSQL 18.7), Node 20: `SET statement_timeout` is taken and shown, and stops no
# statement, sleeping or working; `transaction_timeout` likewise. Its clock has whole milliseconds, so that rows which
# PostgreSQL would tell apart by clock_timestamp() have the same time.
# Output:  statement_timeout 20ms: slept worked   transaction_timeout 20ms: slept   microseconds: 0 of 1000
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @electric-sql/pglite@0.5.17 >/dev/null
cat > run.mjs <<'S'
import { PGlite } from "@electric-sql/pglite";
const database = await PGlite.create();
const read = async (text) => Object.values((await database.query(text)).rows[0])[0];
const run = (text, word) => database.query(text).then(() => word, (error) => error.message);
await database.exec("SET statement_timeout = '20ms'");
const shown = `${await read("SHOW statement_timeout")}:`;
const slept = await run("SELECT pg_sleep(0.2)", "slept");
const worked = await run("SELECT sum(sqrt(n)) FROM generate_series(1, 1000000) n", "worked");
await database.exec("SET statement_timeout = 0; SET transaction_timeout = '20ms'");
const transaction = await run("SELECT pg_sleep(0.2)", "slept");
await database.exec("SET transaction_timeout = 0");
const micros = await read(
  "SELECT count(*)::int FROM generate_series(1, 1000) WHERE extract(microseconds FROM clock_timestamp())::int % 1000 <> 0",
);
console.log(
  `statement_timeout ${shown} ${slept} ${worked}   transaction_timeout 20ms: ${transaction}   ` +
    `microseconds: ${micros} of 1000`,
);
process.exit(0);
S
line=$(node run.mjs)
echo "$line"
[ "$line" = "statement_timeout 20ms: slept worked   transaction_timeout 20ms: slept   microseconds: 0 of 1000" ]
