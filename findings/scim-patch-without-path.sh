#!/bin/sh
# scim-patch 0.8.3 (npm), Node 20, beside scim2-models 0.12.3 (PyPI): the same change of a user, asked for with a `path` and
# without one (RFC 7644, section 3.5.2.3). With it, both libraries keep the members of `name` that the change doesn't mention;
# without it, scim2-models keeps them too, and scim-patch replaces the whole `name`. It also takes the dot of an extension's URN
# (`…enterprise:2.0:User`) for the one before a sub-attribute: the department stays as it was, and its change lands in a new
# attribute `…enterprise:2.0`. A name in capitals, which is the same name in SCIM, adds a second attribute. All without an error.
# Output (family name, department):
#   npm: with path B, Z   without path gone, Y   Title: two attributes
#   PyPI: with path B, Z   without path B, Z   Title: one attribute
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error scim-patch@0.8.3 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check scim2-models==0.12.3
cat > cases.json <<'S'
{
  "user": {
    "schemas": [
      "urn:ietf:params:scim:schemas:core:2.0:User",
      "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
    ],
    "id": "1",
    "userName": "a",
    "title": "t",
    "name": { "givenName": "A", "familyName": "B" },
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "department": "Y" }
  },
  "withPath": [
    { "op": "replace", "path": "name", "value": { "givenName": "X" } },
    { "op": "replace", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "Z" }
  ],
  "withoutPath": [
    {
      "op": "replace",
      "value": {
        "name": { "givenName": "X" },
        "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "department": "Z" }
      }
    }
  ],
  "capitals": [{ "op": "replace", "path": "Title", "value": "u" }]
}
S
cat > patch.cjs <<'S'
const { scimPatch } = require("scim-patch");
const { user, ...cases } = require("./cases.json");
const patched = Object.entries(cases).map(([name, operations]) => [name, scimPatch(structuredClone(user), operations)]);
console.log(JSON.stringify(Object.fromEntries(patched)));
S
cat > patch.py <<'S'
import json
from scim2_models import Context, EnterpriseUser, PatchOp, User
cases = json.load(open("cases.json"))
user = cases.pop("user")
Person = User[EnterpriseUser]
def patch(operations):
    person = Person.model_validate(user)
    message = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], "Operations": operations}
    PatchOp[Person].model_validate(message, scim_ctx=Context.RESOURCE_PATCH_REQUEST).patch(person)
    return person.model_dump()
print(json.dumps({name: patch(operations) for name, operations in cases.items()}))
S
cat > show.cjs <<'S'
const urn = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const { withPath, withoutPath, capitals } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const show = ({ name, [urn]: enterprise }) => `${name.familyName ?? "gone"}, ${enterprise.department}`;
const titles = Object.keys(capitals).filter((name) => name.toLowerCase() === "title").length;
console.log(
  `${process.argv[2]}: with path ${show(withPath)}   without path ${show(withoutPath)}   ` +
    `Title: ${titles === 1 ? "one attribute" : "two attributes"}`,
);
S
node patch.cjs | node show.cjs npm | tee out
python/bin/python patch.py | node show.cjs PyPI | tee -a out
cat > expected <<'S'
npm: with path B, Z   without path gone, Y   Title: two attributes
PyPI: with path B, Z   without path B, Z   Title: one attribute
S
cmp out expected
