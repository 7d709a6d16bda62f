#!/bin/sh
# cedar-go 1.9.2 (Go) beside @cedar-policy/cedar-wasm 4.13.0 (npm): the same policy and context, two answers. A date that the
# context gives by two arguments (`offset` of a date and a duration, as Cedar's JSON has calls) equals nothing in Go, without
# an error; a line break in a string ends cedar-go's parser; five signs in a row are none of Cedar's grammar, which
# cedar-go reads; decimal("+1.0"), whose plus Cedar refuses, is a number to it.
# Output (wasm, then Go):
#   offset: allow deny   line break: allow refused   five signs: refused allow   plus: deny with an error, allow
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel=error @cedar-policy/cedar-wasm@4.13.0 >/dev/null
cat > cases.cjs <<'S'
const call = (fn, ...args) => ({ __extn: args.length === 1 ? { fn, arg: args[0] } : { fn, args } });
const day = call("offset", call("datetime", "2026-01-01"), call("duration", "1d"));
const cases = [
  ["offset", 'context.day == datetime("2026-01-02")', { day }],
  ["line break", 'context.text == "a\nb"', { text: "a\nb" }],
  ["five signs", "-----1 == -1", {}],
  ["plus", 'decimal("+1.0") == decimal("1.0")', {}],
].map(([name, condition, context]) => ({
  name,
  policy: `permit(principal, action, resource) when { ${condition} };`,
  context,
}));
require("node:fs").writeFileSync("cases.json", JSON.stringify(cases));
S
node cases.cjs
cat > ask.cjs <<'S'
const cedar = require("@cedar-policy/cedar-wasm/nodejs");
const entity = (type) => ({ type, id: "a" });
for (const { name, policy, context } of require("./cases.json")) {
  const asked = { principal: entity("A"), action: entity("Action"), resource: entity("R"), entities: [], context };
  const { response } = cedar.isAuthorized({ ...asked, policies: { staticPolicies: policy } });
  const failed = response?.diagnostics.errors.length ? " with an error" : "";
  console.log(`${name}: ${response ? response.decision + failed : "refused"}`);
}
S
cat > go.mod <<'S'
module answers

go 1.24

require github.com/cedar-policy/cedar-go v1.9.2
S
cat > main.go <<'S'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/cedar-policy/cedar-go"
)

func main() {
	text, _ := os.ReadFile("cases.json")
	var cases []struct {
		Name, Policy string
		Context      cedar.Record
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	entity := func(kind string) cedar.EntityUID { return cedar.NewEntityUID(cedar.EntityType(kind), "a") }
	for _, one := range cases {
		answer := "refused"
		if policies, err := cedar.NewPolicySetFromBytes("", []byte(one.Policy)); err == nil {
			asked := cedar.Request{Principal: entity("A"), Action: entity("Action"), Resource: entity("R"), Context: one.Context}
			decision, diagnostic := cedar.Authorize(policies, cedar.EntityMap{}, asked)
			answer = decision.String()
			if len(diagnostic.Errors) > 0 {
				answer += " with an error"
			}
		}
		fmt.Printf("%s: %s\n", one.Name, answer)
	}
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
node ask.cjs | tee out
go run . 2>/dev/null | tee -a out
cat > expected <<'S'
offset: allow
line break: allow
five signs: refused
plus: deny with an error
offset: deny
line break: refused
five signs: allow
plus: allow
S
cmp out expected
