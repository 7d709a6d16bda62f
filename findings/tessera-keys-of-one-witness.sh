#!/bin/sh
# github.com/transparency-dev/tessera 1.0.4, Go 1.26: of several witnesses of a policy with the same URL it asks only the one
# that comes last, without a word: its endpoints are a map by URL. A witness may have several keys at its address, as it does
# while it changes from one to the next, and answers with a signature for each (c2sp.org/tlog-witness). A log whose policy wants
# both then doesn't start, though the witness signs with both; and where one of the two is enough, the order of their names
# decides. With two addresses that lead to the same witness all is well.
# Output:  all, two addresses: starts   all, one address: not satisfied
#          any, old key signs: not satisfied, old named last: starts
# Exits with 1 if that is no longer so.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat > go.mod <<'S'
module finding

go 1.24.0

require (
	github.com/transparency-dev/formats v0.0.0-20251017110053-404c0d5b696c
	github.com/transparency-dev/tessera v1.0.4
	golang.org/x/mod v0.33.0
)
S
cat > main.go <<'S'
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	formats "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func makeKey() (note.Signer, string) {
	secret, public, err := note.GenerateKey(rand.Reader, "witness.example")
	if err != nil {
		panic(err)
	}
	return must(formats.NewSignerForCosignatureV1(secret)), must(formats.VKeyToCosignatureV1(public))
}

var oldSigner, oldKey = makeKey()
var newSigner, newKey = makeKey()

func try(group, newPath string, signers ...note.Signer) string {
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, checkpoint, _ := strings.Cut(string(must(io.ReadAll(r.Body))), "\n\n")
		text, _, _ := strings.Cut(checkpoint, "\n\n")
		signed := string(must(note.Sign(&note.Note{Text: text + "\n"}, signers...)))
		_, signatures, _ := strings.Cut(signed, "\n\n")
		io.WriteString(w, signatures)
	}))
	defer witness.Close()
	policy := fmt.Sprintf("witness old %s %s/old\nwitness new %s %s%s\ngroup both %s\nquorum both\n",
		oldKey, witness.URL, newKey, witness.URL, newPath, group)
	witnesses := must(tessera.NewWitnessGroupFromPolicy([]byte(policy)))
	secret, _, _ := note.GenerateKey(rand.Reader, "log.example")
	options := tessera.NewAppendOptions().WithCheckpointSigner(must(note.NewSigner(secret))).
		WithWitnesses(witnesses, &tessera.WitnessOptions{Timeout: 30 * time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, _, _, err := tessera.NewAppender(ctx, must(posix.New(ctx, posix.Config{Path: must(os.MkdirTemp(".", "log"))})), options)
	if err == nil {
		return "starts"
	}
	if strings.Contains(err.Error(), "witness policy was not satisfied") {
		return "not satisfied"
	}
	return err.Error()
}

func main() {
	fmt.Printf("all, two addresses: %s   all, one address: %s\n",
		try("all old new", "/new", oldSigner, newSigner), try("all old new", "/old", oldSigner, newSigner))
	fmt.Printf("any, old key signs: %s, old named last: %s\n",
		try("any old new", "/old", oldSigner), try("any new old", "/old", oldSigner))
}
S
export GOPATH="$folder/go" GOFLAGS=-mod=mod
go mod tidy >/dev/null 2>&1
go run . 2>/dev/null | tee out
cat > expected <<'S'
all, two addresses: starts   all, one address: not satisfied
any, old key signs: not satisfied, old named last: starts
S
cmp out expected
