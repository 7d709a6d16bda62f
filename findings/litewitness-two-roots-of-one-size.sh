#!/bin/sh
# litewitness of filippo.io/torchwood 0.10.0, Go 1.27: a log that sends another root for the size that was cosigned last gets 422,
# as if its (empty) proof were wrong. c2sp.org/tlog-witness (C2SP at 8d775627) wants 409 where the old size is the checkpoint's own
# and the roots differ; omniwitness of July 2026 answers 422 as well, by its source. Nothing is cosigned. A log that takes 409 alone
# for the sign of a second history goes on with it: 422 to an old size above 0 has to be one too.
# Output:  first root 200, same root 200, other root 422, other old size 409
# Exits with 1 if that is no longer so. Needs ssh-agent and python3, whose sqlite3 adds the log.
set -eu
folder=$(mktemp -d)
trap 'kill $(cat "$folder"/*.pid) 2>/dev/null || true; wait; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat > go.mod <<'S'
module finding

go 1.27.0

require (
	filippo.io/torchwood v0.10.0
	golang.org/x/mod v0.40.0
)
S
cat > main.go <<'S'
package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

const witness = "http://127.0.0.1:7391"

func main() {
	if len(os.Args) == 1 {
		secret, public, err := note.GenerateKey(rand.Reader, "log.example")
		if err != nil {
			panic(err)
		}
		fmt.Println(secret + "\n" + public)
		return
	}
	signer, err := note.NewSigner(os.Args[1])
	if err != nil {
		panic(err)
	}
	send := func(oldSize int, root byte) int {
		text := "log.example\n1\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(root), 32))) + "\n"
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		if err != nil {
			panic(err)
		}
		answer, err := http.Post(witness+"/add-checkpoint", "", strings.NewReader(fmt.Sprintf("old %d\n\n%s", oldSize, signed)))
		if err != nil {
			panic(err)
		}
		return answer.StatusCode
	}
	fmt.Printf("first root %d, same root %d, other root %d, other old size %d\n",
		send(0, 'a'), send(1, 'a'), send(1, 'b'), send(0, 'a'))
}
S
cat > tools.go <<'S'
//go:build tools

package main

import _ "filippo.io/torchwood/cmd/litewitness"
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod GOTOOLCHAIN=go1.27.4
go mod tidy -e >/dev/null 2>&1
go build -o . filippo.io/torchwood/cmd/litewitness
go build -o finding main.go
ssh-keygen -q -t ed25519 -N '' -f key
ssh-agent -D -a "$folder/agent" >/dev/null & echo $! > agent.pid
while [ ! -S agent ]; do sleep 0.1; done
SSH_AUTH_SOCK="$folder/agent" ssh-add -q key
./litewitness -db log.db -name witness.example -key "$(ssh-keygen -lf key.pub | cut -d' ' -f2)" -ssh-agent agent \
  -listen 127.0.0.1:7391 >/dev/null 2>&1 & echo $! > witness.pid
until curl -fs http://127.0.0.1:7391/ >/dev/null; do sleep 0.1; done
./finding > keys
python3 - "$(tail -n 1 keys)" <<'S'
import sqlite3, sys
database = sqlite3.connect("log.db")
database.execute("INSERT INTO log VALUES ('log.example', 0, '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')")
database.execute("INSERT INTO key VALUES ('log.example', ?)", [sys.argv[1]])
database.commit()
S
./finding "$(head -n 1 keys)" | tee out
echo 'first root 200, same root 200, other root 422, other old size 409' > expected
cmp out expected
