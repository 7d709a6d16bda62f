#!/bin/sh
# @cedar-policy/cedar-wasm 4.13.0 (npm): policyToJson rounds the whole numbers of a policy that JavaScript has no number for,
# without a word, so that the policy's JSON is another policy; what it makes of Cedar's greatest number, its own
# policyToText refuses. And where it meets cedar-go 1.9.2 (Go): it writes the path of `context has a.b` as a list, which
# cedar-go, to which it is two conditions, can't read.
# Output:  9007199254740993 becomes 9007199254740992   9223372036854775807 is read back: false   has: ["a","b"]
#          json: cannot (at times: unable to) unmarshal JSON array into Go string
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @cedar-policy/cedar-wasm@4.13.0 >/dev/null
cat > write.cjs <<'S'
const cedar = require("@cedar-policy/cedar-wasm/nodejs");
const write = (condition) => cedar.policyToJson(`permit(principal, action, resource) when { ${condition} };`).json;
const bodyOf = (policy) => policy.conditions[0].body;
const rounded = bodyOf(write("context.n < 9007199254740993"))["<"].right.Value;
const isRead = cedar.policyToText(write("context.n < 9223372036854775807")).type === "success";
const path = write("context has a.b");
require("node:fs").writeFileSync("policy.json", JSON.stringify(path));
const attr = JSON.stringify(bodyOf(path).has.attr);
console.log(`9007199254740993 becomes ${rounded}   9223372036854775807 is read back: ${isRead}   has: ${attr}`);
S
cat > go.mod <<'S'
module meeting

go 1.24

require github.com/cedar-policy/cedar-go v1.9.2
S
cat > main.go <<'S'
package main

import (
	"fmt"
	"os"

	"github.com/cedar-policy/cedar-go"
)

func main() {
	text, err := os.ReadFile("policy.json")
	if err == nil {
		var policy cedar.Policy
		err = policy.UnmarshalJSON(text)
	}
	fmt.Println(err)
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
node write.cjs | tee out
go run . 2>/dev/null | tee -a out
grep -q '^9007199254740993 becomes 9007199254740992   9223372036854775807 is read back: false   has: \["a","b"\]$' out
grep -q 'unmarshal JSON array into Go string' out
