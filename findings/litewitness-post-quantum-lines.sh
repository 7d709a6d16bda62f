#!/bin/sh
# litewitness of filippo.io/torchwood 0.10.0, Go 1.27: a checkpoint sent to a witness may carry several signatures, of which it ignores
# those of unknown keys (c2sp.org/tlog-witness, which names no size). An ML-DSA-44 cosignature has a line of 3.3 kB, and litewitness
# reads requests of 10 KiB: with four such lines a checkpoint is answered with 500, "request body too large", each time. A log that
# sends its own signature alone doesn't meet that. Whoever passes on what a log has published, with the cosignatures of its other
# witnesses, does once enough of them are post-quantum, and takes 500 for a failure that passes. Leave those lines out. omniwitness
# of July 2026 has a limit of 16 KiB, by its source.
# Output (ML-DSA lines: status):  0: 200   3: 200   4: 500 http: request body too large
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
	"crypto/mldsa"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
)

const text = "log.example\n1\nYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\n"

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	if len(os.Args) == 1 {
		secret, public, err := note.GenerateKey(rand.Reader, "log.example")
		fmt.Println(must(secret, err) + "\n" + public)
		return
	}
	send := func(oldSize, lines int) string {
		signers := []note.Signer{must(note.NewSigner(os.Args[1]))}
		for i := range lines {
			key := must(mldsa.GenerateKey(mldsa.MLDSA44()))
			signers = append(signers, must(torchwood.NewCosignatureSigner(fmt.Sprintf("witness%d.example", i), key)))
		}
		body := fmt.Sprintf("old %d\n\n%s", oldSize, must(note.Sign(&note.Note{Text: text}, signers...)))
		answer := must(http.Post("http://127.0.0.1:7391/add-checkpoint", "", strings.NewReader(body)))
		if answer.StatusCode == 200 {
			return fmt.Sprintf("%d: 200", lines)
		}
		return strings.TrimSpace(fmt.Sprintf("%d: %d %s", lines, answer.StatusCode, must(io.ReadAll(answer.Body))))
	}
	fmt.Println(strings.Join([]string{send(0, 0), send(1, 3), send(1, 4)}, "   "))
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
echo '0: 200   3: 200   4: 500 http: request body too large' > expected
cmp out expected
