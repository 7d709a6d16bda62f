#!/bin/sh
# scim2-parse-filter 0.2.10 (npm): its filter() doesn't apply the brackets of a value path to one value at a time (RFC 7644,
# section 3.4.2.2), but to all of them at once: each part may be true of another value. `emails[...].value eq ...`, which
# Entra ID sends, becomes two conditions of that kind. Of JSON's escapes in a text it knows \" alone, so that what a
# client's JSON library made of an umlaut or a backslash equals nothing. Times are compared as texts.
# Output:  one of two values: true   its other member: true   \u00f6: false   \\: false   the same time: false
# Exits with 1 if that is no longer so (right would be false false true true true).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error scim2-parse-filter@0.2.10 >/dev/null
cat > run.cjs <<'S'
const { filter, parse } = require("scim2-parse-filter");
const user = {
  userName: "CORP\\jane",
  displayName: "Jane Möller",
  emails: [
    { type: "work", value: "jane@corp.example" },
    { type: "home", value: "jane@home.example" },
  ],
  meta: { lastModified: "2026-01-01T00:00:00.000Z" },
};
const matches = (text) => filter(parse(text))(user);
const texts = {
  "one of two values": 'emails[type eq "work" and value eq "jane@home.example"]',
  "its other member": 'emails[type eq "work"].value eq "jane@home.example"',
  "\\u00f6": String.raw`displayName eq "Jane M\u00f6ller"`,
  "\\\\": String.raw`userName eq "CORP\\jane"`,
  "the same time": 'meta.lastModified eq "2026-01-01T00:00:00Z"',
};
console.log(Object.entries(texts).map(([name, text]) => `${name}: ${matches(text)}`).join("   "));
S
line=$(node run.cjs)
printf '%s\n' "$line"
[ "$line" = 'one of two values: true   its other member: true   \u00f6: false   \\: false   the same time: false' ]
