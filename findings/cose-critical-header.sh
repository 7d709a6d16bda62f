#!/bin/sh
# pycose 1.1.0 and cwt 3.3.0 (PyPI), @auth0/cose 1.0.2 (npm), Node 20, and github.com/veraison/go-cose 1.3.0, Go 1.26: a signer lists in
# `crit` the headers that a message must not be taken without understanding, and whoever meets one that it doesn't know has to
# fail (RFC 9052, section 3.1). None of the four does: each calls the signature valid, whatever the header says, and none has a
# parameter for what the caller understands. Go's looks only whether the named header is there. And an `alg` outside of the
# protected headers, which nothing signs, is taken by all but Go's. Of pycose both are known upstream, as #136 and #94.
# Output:  crit: pycose valid, cwt valid, @auth0/cose valid, go-cose valid
#          alg: pycose valid, cwt valid, @auth0/cose valid, go-cose algorithm not found
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @auth0/cose@1.0.2 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check pycose==1.1.0 cwt==3.3.0
cat > verify.py <<'S'
import sys
import cbor2
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cwt import COSE, COSEKey
from pycose.keys import EC2Key
from pycose.messages import Sign1Message

private = ec.generate_private_key(ec.SECP256R1())
pem = private.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
open("key.pem", "wb").write(pem)
numbers = private.public_key().public_numbers()
x, y = [n.to_bytes(32, "big") for n in (numbers.x, numbers.y)]

def sign(headers, outside):
    protected = cbor2.dumps(headers) if headers else b""
    signed = cbor2.dumps(["Signature1", protected, b"", b"hi"])
    r, s = decode_dss_signature(private.sign(signed, ec.ECDSA(hashes.SHA256())))
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return cbor2.dumps(cbor2.CBORTag(18, [protected, outside, b"hi", signature]))

def by_pycose(message):
    found = Sign1Message.decode(message)
    found.key = EC2Key(crv="P_256", x=x, y=y)
    return found.verify_signature()

def by_cwt(message):
    return COSE.new().decode(message, COSEKey.from_pem(pem, alg="ES256")) == b"hi"

def judge(verify, message):
    try:
        return "valid" if verify(message) else "invalid"
    except Exception as error:
        return str(error)

# 1: alg, -7: ES256, 2: crit
messages = {"crit": sign({1: -7, 2: ["policy"], "policy": "test only"}, {}), "alg": sign({}, {1: -7})}
for name, message in messages.items():
    open(name, "wb").write(message)
    print(f"{name}: pycose {judge(by_pycose, message)}, cwt {judge(by_cwt, message)}")
S
cat > verify.mjs <<'S'
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { Sign1 } from "@auth0/cose";
const jwk = createPublicKey(readFileSync("key.pem")).export({ format: "jwk" });
const key = await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, true, ["verify"]);
for (const name of ["crit", "alg"]) {
  const found = await Sign1.decode(readFileSync(name)).verify(key).then(() => "valid", ({ message }) => message);
  console.log(`, @auth0/cose ${found}`);
}
S
cat > go.mod <<'S'
module finding

go 1.24.0

require github.com/veraison/go-cose v1.3.0
S
cat > main.go <<'S'
package main

import (
	"crypto"
	_ "crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"github.com/veraison/go-cose"
)

func judge(message []byte, key crypto.PublicKey) string {
	verifier, err := cose.NewVerifier(cose.AlgorithmES256, key)
	if err != nil {
		return err.Error()
	}
	var found cose.Sign1Message
	if err := found.UnmarshalCBOR(message); err != nil {
		return err.Error()
	}
	if err := found.Verify(nil, verifier); err != nil {
		return err.Error()
	}
	return "valid"
}

func main() {
	text, _ := os.ReadFile("key.pem")
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"crit", "alg"} {
		message, _ := os.ReadFile(name)
		fmt.Printf(", go-cose %s\n", judge(message, key))
	}
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
python/bin/python verify.py > python.txt
node verify.mjs > node.txt
go run . > go.txt
found=$(paste -d '\0' python.txt node.txt go.txt)
echo "$found"
[ "$found" = "crit: pycose valid, cwt valid, @auth0/cose valid, go-cose valid
alg: pycose valid, cwt valid, @auth0/cose valid, go-cose algorithm not found" ]
