#!/bin/sh
# @sigstore/bundle 4.0.0 (npm), Node 20, beside sigstore-models 0.0.6 (PyPI), which sigstore-python reads bundles with. The JSON of
# protobuf leaves out a field that has its type's default, and readers are to put it back. bundleToJSON leaves out the index 0 that a
# log's first entry has, and the hashes of an inclusion proof if there are none, as in a log of one entry. sigstore-models wants each
# of them, and refuses the bundle. Whoever begins a log of their own, or a new shard of one, meets that with its first bundle and not
# again. With "0" and [] written out, it is read.
# Output (read by npm, by PyPI):
#   written out: 0, 0   from bundleToJSON: 0, missing logIndex inclusionProof.logIndex inclusionProof.hashes
#   second entry, written out: 1, 1   from bundleToJSON: 1, 1
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @sigstore/bundle@4.0.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check sigstore-models==0.0.6
cat > write.mjs <<'S'
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { bundleFromJSON, bundleToJSON } from "@sigstore/bundle";
const hash = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const hashLeaf = (text) => hash(Buffer.of(0), Buffer.from(text));
const base64 = (bytes) => Buffer.from(bytes).toString("base64");
const { privateKey } = generateKeyPairSync("ed25519");
const type = "application/vnd.in-toto+json";
const statement = '{"_type":"https://in-toto.io/Statement/v1"}';
const sig = base64(sign(null, Buffer.from(`DSSEv1 ${type.length} ${type} ${statement.length} ${statement}`), privateKey));
const leaf = JSON.stringify({ apiVersion: "0.0.1", kind: "dsse", spec: { payloadHash: hash(Buffer.from(statement)).toString("hex") } });
function writeBundle(name, index, hashes, root) {
  const text = `log.example\n${hashes.length + 1}\n${base64(root)}\n`;
  const signed = base64(Buffer.concat([Buffer.alloc(4, 1), sign(null, Buffer.from(text), privateKey)]));
  const rootHash = base64(root);
  const checkpoint = { envelope: `${text}\n— log.example ${signed}\n` };
  const inclusionProof = { logIndex: `${index}`, rootHash, treeSize: `${hashes.length + 1}`, hashes: hashes.map(base64), checkpoint };
  const logId = { keyId: base64(hash(Buffer.from("log.example"))) };
  const kindVersion = { kind: "dsse", version: "0.0.1" };
  const canonicalizedBody = base64(leaf);
  const json = {
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: {
      publicKey: { hint: "key" },
      tlogEntries: [{ logIndex: `${index}`, logId, kindVersion, integratedTime: "1796000000", inclusionProof, canonicalizedBody }],
    },
    dsseEnvelope: { payload: base64(statement), payloadType: type, signatures: [{ sig, keyid: "key" }] },
  };
  writeFileSync(`${name}-out.json`, JSON.stringify(json));
  writeFileSync(`${name}-npm.json`, JSON.stringify(bundleToJSON(bundleFromJSON(json))));
}
const other = hashLeaf("another entry");
writeBundle("first", 0, [], hashLeaf(leaf));
writeBundle("second", 1, [other], hash(Buffer.of(1), other, hashLeaf(leaf)));
S
node write.mjs
cat > read.mjs <<'S'
import { readFileSync } from "node:fs";
import { bundleFromJSON } from "@sigstore/bundle";
console.log(bundleFromJSON(JSON.parse(readFileSync(process.argv[2]))).verificationMaterial.tlogEntries[0].logIndex);
S
cat > read.py <<'S'
import sys
from pydantic import ValidationError
from sigstore_models.bundle.v1 import Bundle
try:
    print(Bundle.from_json(open(sys.argv[1]).read()).verification_material.tlog_entries[0].log_index)
except ValidationError as error:
    print(error.errors()[0]["type"], *(".".join(map(str, one["loc"][3:])) for one in error.errors()))
S
read_both() { echo "$(node read.mjs "$1"), $(python/bin/python read.py "$1")"; }
{
  echo "written out: $(read_both first-out.json)   from bundleToJSON: $(read_both first-npm.json)"
  echo "second entry, written out: $(read_both second-out.json)   from bundleToJSON: $(read_both second-npm.json)"
} | tee out
cat > expected <<'S'
written out: 0, 0   from bundleToJSON: 0, missing logIndex inclusionProof.logIndex inclusionProof.hashes
second entry, written out: 1, 1   from bundleToJSON: 1, 1
S
cmp out expected
