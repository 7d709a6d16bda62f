#!/bin/sh
# securesystemslib 1.6.0 (PyPI) beside @sigstore/sign 4.1.1 (npm), Node 20, and go-securesystemslib 0.11.1, Go 1.26: a
# signature's `keyid` is optional in DSSE, a hint, and as good as an empty one (envelope.md, protocol.md). @sigstore/sign leaves
# it out if its signer names none, and Go's library verifies that. Python's library can't read the envelope: KeyError. With an
# empty one written into it, it looks for no key but one with that id; only when the id that it made for the key itself is
# written there, it verifies. Two signatures of two signers with empty ids it never reads. Known upstream as #416.
# Output:  absent: go verified, python KeyError: 'keyid'   empty: go verified, python Found: 0   its own: python verified
#          two, empty: go verified, python Multiple signatures found for keyid
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @sigstore/bundle@4.0.0 @sigstore/sign@4.1.1 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check 'securesystemslib[crypto]==1.6.0'
cat > sign.mjs <<'S'
import { generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { bundleToJSON } from "@sigstore/bundle";
import { DSSEBundleBuilder } from "@sigstore/sign";
const data = Buffer.from('{"_type":"https://in-toto.io/Statement/v1"}');
async function makeEnvelope(name) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" });
  writeFileSync(`${name}.pem`, pem);
  const key = { $case: "publicKey", publicKey: pem };
  const signer = { sign: async (bytes) => ({ signature: sign("sha256", bytes, privateKey), key }) };
  const bundle = await new DSSEBundleBuilder({ signer, witnesses: [] }).create({ data, type: "application/vnd.in-toto+json" });
  return bundleToJSON(bundle).dsseEnvelope;
}
const absent = await makeEnvelope("one");
const name = (signature) => ({ ...signature, keyid: "" });
const empty = { ...absent, signatures: absent.signatures.map(name) };
const other = await makeEnvelope("two");
const two = { ...empty, signatures: [...empty.signatures, ...other.signatures.map(name)] };
for (const [file, envelope] of Object.entries({ absent, empty, two })) writeFileSync(`${file}.json`, JSON.stringify(envelope));
S
node sign.mjs
cat > verify.py <<'S'
import json, sys
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
file, *names = sys.argv[1:]
load = lambda name: SSlibKey.from_crypto(load_pem_public_key(open(f"{name}.pem", "rb").read()))
keys = [load(name) for name in names]
envelope = json.load(open(file.removeprefix("own ")))
if file.startswith("own "):
    envelope["signatures"][0]["keyid"] = keys[0].keyid
try:
    Envelope.from_dict(envelope).verify(keys, len(keys))
    print("verified")
except KeyError as error:
    print(f"KeyError: {error}")
except Exception as error:
    print("Found: 0" if "Found: 0" in str(error) else str(error).strip())
S
cat > go.mod <<'S'
module finding

go 1.24.0

require github.com/secure-systems-lab/go-securesystemslib v0.11.1
S
cat > main.go <<'S'
package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

type key struct {
	name   string
	public *ecdsa.PublicKey
}

func (k key) KeyID() (string, error)   { return k.name, nil }
func (k key) Public() crypto.PublicKey { return k.public }
func (k key) Verify(_ context.Context, data, signature []byte) error {
	digest := sha256.Sum256(data)
	if !ecdsa.VerifyASN1(k.public, digest[:], signature) {
		return errors.New("no signature of this key")
	}
	return nil
}

func main() {
	var verifiers []dsse.Verifier
	for _, name := range os.Args[2:] {
		text, _ := os.ReadFile(name + ".pem")
		block, _ := pem.Decode(text)
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			panic(err)
		}
		verifiers = append(verifiers, key{name, public.(*ecdsa.PublicKey)})
	}
	text, _ := os.ReadFile(os.Args[1])
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope); err != nil {
		panic(err)
	}
	verifier, err := dsse.NewMultiEnvelopeVerifier(len(verifiers), verifiers...)
	if err == nil {
		_, err = verifier.Verify(context.Background(), &envelope)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("verified")
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
go build -o verify . 2>/dev/null
python="python/bin/python verify.py"
{
  echo "absent: go $(./verify absent.json one), python $($python absent.json one)  " \
    "empty: go $(./verify empty.json one), python $($python empty.json one)   its own: python $($python 'own absent.json' one)"
  echo "two, empty: go $(./verify two.json one two), python $($python two.json one two)"
} | tee out
cat > expected <<'S'
absent: go verified, python KeyError: 'keyid'   empty: go verified, python Found: 0   its own: python verified
two, empty: go verified, python Multiple signatures found for keyid
S
cmp out expected
