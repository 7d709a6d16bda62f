#!/bin/sh
# cbor-x 1.6.9 (npm), Node 20, beside github.com/fxamacker/cbor/v2 2.10.0, Go 1.26: a whole number of more than 32 bits, such as a
# time in milliseconds, passes in neither direction. cbor-x writes it as a double, without a word; its README speaks of doubles for
# "non-integer numbers" alone. Go's decoder takes no double for an int64. The integer that Go writes is a BigInt to cbor-x, even if
# a JavaScript number could hold it, and Date.now() - time throws. Smaller numbers pass, so that seconds work and milliseconds
# don't. cborg 6.1.5 (npm) writes an integer and reads a number. The BigInt is known upstream as #122.
# Output:  seconds: cbor-x to Go 1764509494, Go to cbor-x number
#          milliseconds: cbor-x to Go refused, Go to cbor-x bigint   cborg to Go 1764509494123, Go to cborg number
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error cbor-x@1.6.9 cborg@6.1.5 >/dev/null
cat > go.mod <<'S'
module finding

go 1.24.0

require github.com/fxamacker/cbor/v2 v2.10.0
S
cat > main.go <<'S'
package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/fxamacker/cbor/v2"
)

type Event struct{ Time int64 }

// Prints what was read, and the same event as written here.
func main() {
	bytes, err := hex.DecodeString(os.Args[1])
	if err != nil {
		panic(err)
	}
	var event Event
	read := "refused"
	if err := cbor.Unmarshal(bytes, &event); err == nil {
		read = fmt.Sprint(event.Time)
	} else if !strings.Contains(err.Error(), "cannot unmarshal") {
		read = err.Error()
	}
	fmt.Sscan(os.Args[2], &event.Time)
	written, _ := cbor.Marshal(event)
	fmt.Printf("%s %x", read, written)
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
go mod tidy >/dev/null 2>&1
go build -o reader .
cat > pass.mjs <<'S'
import { execFileSync } from "node:child_process";
import * as cborX from "cbor-x";
import * as cborg from "cborg";
const pass = (name, { encode, decode }, Time) => {
  const sent = Buffer.from(encode({ Time })).toString("hex");
  const [read, written] = execFileSync("./reader", [sent, String(Time)]).toString().split(" ");
  return `${name} to Go ${read}, Go to ${name} ${typeof decode(Buffer.from(written, "hex")).Time}`;
};
console.log(`seconds: ${pass("cbor-x", cborX, 1764509494)}`);
console.log(`milliseconds: ${pass("cbor-x", cborX, 1764509494123)}   ${pass("cborg", cborg, 1764509494123)}`);
S
node pass.mjs | tee out
cat > expected <<'S'
seconds: cbor-x to Go 1764509494, Go to cbor-x number
milliseconds: cbor-x to Go refused, Go to cbor-x bigint   cborg to Go 1764509494123, Go to cborg number
S
cmp out expected
