#!/bin/sh
# webauthn 3.0.1 (PyPI) and @simplewebauthn/server 14.0.3 (npm), Node 20, beside github.com/go-webauthn/webauthn 0.18.2, Go 1.26: a
# passkey used in a frame of another site has `crossOrigin` in what it signs, and of some browsers `topOrigin`, the site around it.
# A service that means to be framed by nobody has to refuse it (WebAuthn Level 3, sections 7.1 and 7.2): the page around it chooses
# where people press. Python's library reads `crossOrigin` and takes both ceremonies; no option of it refuses. The npm library refuses a
# sign-in that says who frames it, takes one that doesn't (Safari's, by its own comment), and takes each registration. Go's refuses all.
# Output (registration, with topOrigin, sign-in, with topOrigin):
#   npm: taken taken taken refused   PyPI: taken taken taken taken   Go: refused refused refused refused
# Exits with 1 if that is no longer so, or if one of them refuses the same without a frame.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @simplewebauthn/server@14.0.3 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check webauthn==3.0.1
cat > finding.py <<'S'
import hashlib, json
import cbor2, webauthn
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url as encode

challenge, site, credential_id = b"c" * 32, "https://example.com", b"i" * 16
private = ec.generate_private_key(ec.SECP256R1())
numbers = private.public_key().public_numbers()
x, y = [n.to_bytes(32, "big") for n in (numbers.x, numbers.y)]
key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
rp = hashlib.sha256(b"example.com").digest()
attested = bytes(16) + len(credential_id).to_bytes(2, "big") + credential_id + key
# User present and verified; of a registration also with a credential.
created, used = rp + b"\x45" + bytes(4) + attested, rp + b"\x05" + (1).to_bytes(4, "big")

def respond(ceremony, frame):
    data = {"type": f"webauthn.{ceremony}", "challenge": encode(challenge), "origin": site, **frame}
    client = json.dumps(data).encode()
    response = {"clientDataJSON": encode(client)}
    if ceremony == "create":
        response["attestationObject"] = encode(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": created}))
    else:
        signed = used + hashlib.sha256(client).digest()
        response["authenticatorData"] = encode(used)
        response["signature"] = encode(private.sign(signed, ec.ECDSA(hashes.SHA256())))
        response["userHandle"] = encode(b"u")
    name = encode(credential_id)
    return {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}

other = {"crossOrigin": True, "topOrigin": "https://evil.example"}
frames = [{"crossOrigin": False}, {"crossOrigin": True}, other]
cases = [[ceremony, respond(ceremony, frame)] for ceremony in ("create", "get") for frame in frames]
json.dump({"cases": cases, "challenge": encode(challenge), "id": encode(credential_id), "key": encode(key)}, open("cases.json", "w"))

def judge(ceremony, credential):
    common = {"credential": credential, "expected_challenge": challenge, "expected_rp_id": "example.com", "expected_origin": site}
    try:
        if ceremony == "create":
            webauthn.verify_registration_response(**common)
        else:
            webauthn.verify_authentication_response(**common, credential_public_key=key, credential_current_sign_count=0)
        return "taken"
    except Exception:
        return "refused"

print(*[judge(*case) for case in cases])
S
cat > finding.mjs <<'S'
import { readFileSync } from "node:fs";
import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server";
const { cases, challenge, id, key } = JSON.parse(readFileSync("cases.json"));
const expected = { expectedChallenge: challenge, expectedOrigin: "https://example.com", expectedRPID: "example.com" };
const credential = { id, publicKey: new Uint8Array(Buffer.from(key, "base64url")), counter: 0 };
const found = [];
for (const [ceremony, response] of cases) {
  const verify = ceremony === "create" ? verifyRegistrationResponse : verifyAuthenticationResponse;
  const { verified } = await verify({ ...expected, response, credential }).catch(() => ({ verified: false }));
  found.push(verified ? "taken" : "refused");
}
console.log(found.join(" "));
S
cat > go.mod <<'S'
module finding

go 1.26.0

require github.com/go-webauthn/webauthn v0.18.2
S
cat > main.go <<'S'
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
)

type user struct{ credential webauthn.Credential }

func (user) WebAuthnID() []byte          { return []byte("u") }
func (user) WebAuthnName() string        { return "u" }
func (user) WebAuthnDisplayName() string { return "u" }
func (u user) WebAuthnCredentials() []webauthn.Credential {
	return []webauthn.Credential{u.credential}
}

func main() {
	raw, _ := os.ReadFile("cases.json")
	var given struct {
		Cases              [][2]json.RawMessage
		Challenge, ID, Key string
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		panic(err)
	}
	decode := func(text string) []byte { b, _ := base64.RawURLEncoding.DecodeString(text); return b }
	service, err := webauthn.New(&webauthn.Config{RPID: "example.com", RPDisplayName: "e", RPOrigins: []string{"https://example.com"}})
	if err != nil {
		panic(err)
	}
	person := user{webauthn.Credential{ID: decode(given.ID), PublicKey: decode(given.Key)}}
	session := webauthn.SessionData{
		Challenge: given.Challenge, RelyingPartyID: "example.com", UserID: []byte("u"),
		CredParams: []protocol.CredentialParameter{{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256}},
	}
	for _, one := range given.Cases {
		var err error
		if string(one[0]) == `"create"` {
			var parsed *protocol.ParsedCredentialCreationData
			if parsed, err = protocol.ParseCredentialCreationResponseBytes(one[1]); err == nil {
				_, err = service.CreateCredential(person, session, parsed)
			}
		} else {
			var parsed *protocol.ParsedCredentialAssertionData
			if parsed, err = protocol.ParseCredentialRequestResponseBytes(one[1]); err == nil {
				_, err = service.ValidateLogin(person, session, parsed)
			}
		}
		if err == nil {
			fmt.Print("taken ")
		} else {
			fmt.Print("refused ")
		}
	}
	fmt.Println()
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
python/bin/python finding.py > python.txt
node finding.mjs > node.txt
go run . 2>err > go.txt || { cat err; exit 1; }
# Without a frame all have to take both.
read_framed() { read -r a b c d e f < "$1" && [ "$a $d" = "taken taken" ] && echo "$b $c $e $f"; }
found="npm: $(read_framed node.txt)   PyPI: $(read_framed python.txt)   Go: $(read_framed go.txt)"
echo "$found"
[ "$found" = "npm: taken taken taken refused   PyPI: taken taken taken taken   Go: refused refused refused refused" ]
