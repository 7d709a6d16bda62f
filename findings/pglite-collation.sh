#!/bin/sh
# @electric-sql/pglite 0.5.17 (npm; PostgreSQL 18.7), Node 20: it takes a collation of ICU as PostgreSQL's manual writes it, to
# compare without case or digits as numbers, stores it by its name, says nothing, and compares by none of its rules. (Its guide has
# the data of languages in a package of their own; these rules name no language.) A UNIQUE column that is to hold one spelling of
# an address takes a second one, and a search for a third finds neither; PostgreSQL refuses and finds it. The older spelling of
# the same rules (`@colStrength=secondary`) is answered with a warning that it can't be converted, and works.
# Output (addresses stored, found; notices):
#   und-u-ks-level2: 2, 0; none   @colStrength=secondary: 1, 1; WARNING   und-u-kn: a9 < a10 false   @colNumeric=yes: true
# Exits with 1 if that is no longer so (PostgreSQL 15: 1, 1 and true for both spellings).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @electric-sql/pglite@0.5.17 >/dev/null
cat > collate.mjs <<'S'
import { PGlite } from "@electric-sql/pglite";
const db = await PGlite.create();
async function make(name, locale) {
  const notices = [];
  const onNotice = ({ severity }) => notices.push(severity);
  await db.query(`CREATE COLLATION ${name} (provider = icu, locale = '${locale}', deterministic = false)`, [], { onNotice });
  return notices.join() || "none";
}
async function tryAddresses(name, locale) {
  const notices = await make(name, locale);
  await db.query(`CREATE TABLE of_${name} (email text COLLATE ${name} UNIQUE)`);
  for (const email of ["Ada@example.com", "ada@example.com"])
    await db.query(`INSERT INTO of_${name} VALUES ($1) ON CONFLICT DO NOTHING`, [email]);
  const { rows } = await db.query(`SELECT email = 'ADA@example.com' AS found FROM of_${name}`);
  return `${locale}: ${rows.length}, ${rows.filter(({ found }) => found).length}; ${notices}`;
}
async function tryDigits(name, locale) {
  await make(name, locale);
  return (await db.query(`SELECT 'a9' < 'a10' COLLATE ${name} AS less`)).rows[0].less;
}
const addresses = [await tryAddresses("newer", "und-u-ks-level2"), await tryAddresses("older", "@colStrength=secondary")];
const digits = [await tryDigits("digits", "und-u-kn"), await tryDigits("numbers", "@colNumeric=yes")];
console.log(`${addresses.join("   ")}   und-u-kn: a9 < a10 ${digits[0]}   @colNumeric=yes: ${digits[1]}`);
await db.close();
S
found=$(node collate.mjs)
echo "$found"
[ "$found" = "und-u-ks-level2: 2, 0; none   @colStrength=secondary: 1, 1; WARNING   und-u-kn: a9 < a10 false   @colNumeric=yes: true" ]
