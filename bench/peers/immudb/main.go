// A peer of POST /v1/attest: one signature, and the record in immudb by VerifiedSet, whose client checks the proof that
// the server's history has only grown.
//
//	POST /verified
//
//	immudb PORT FOLDER
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	immudb "github.com/codenotary/immudb/pkg/client"
	"github.com/codenotary/immudb/pkg/server"
	"github.com/google/uuid"
)

// Each client takes one record after the other, since it remembers a state; the server refuses more than 100.
const clients = 28

type record struct {
	ID        uuid.UUID `json:"id"`
	Payload   []byte    `json:"payload"`
	Signature []byte    `json:"signature"`
	Tx        uint64    `json:"tx"`
}

func main() {
	httpPort, folder := os.Args[1], os.Args[2]
	ctx := context.Background()
	port := must(strconv.Atoi(httpPort)) + 10_000
	if port > 65_535 {
		port -= 20_000
	}
	options := server.DefaultOptions().WithDir(folder).WithPort(port).WithAddress("127.0.0.1").
		WithMetricsServer(false).WithWebServer(false).WithPgsqlServer(false).WithLogfile(filepath.Join(folder, "log"))
	service := server.DefaultServer().WithOptions(options).(*server.ImmuServer)
	check(service.Initialize())
	go func() { check(service.Start()) }()
	idle := make(chan immudb.ImmuClient, clients)
	for i := range clients {
		idle <- connect(ctx, port, filepath.Join(folder, fmt.Sprintf("client-%d", i)))
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	check(err)
	http.HandleFunc("POST /verified", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		made := record{ID: uuid.New()}
		if err == nil {
			made.Payload, err = json.Marshal(map[string]any{"id": made.ID, "at": time.Now().UTC(), "request": json.RawMessage(body)})
		}
		if err == nil {
			made.Signature = ed25519.Sign(key, made.Payload)
			client := <-idle
			header, failure := client.VerifiedSet(ctx, made.ID[:], append(made.Signature, made.Payload...))
			idle <- client
			if err = failure; err == nil {
				made.Tx = header.Id
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		encoded, _ := json.Marshal(made)
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(encoded)
	})
	check(http.ListenAndServe("127.0.0.1:"+httpPort, nil))
}

// The server may not have started yet.
func connect(ctx context.Context, port int, folder string) immudb.ImmuClient {
	check(os.MkdirAll(folder, 0o700))
	for attempt := 0; ; attempt++ {
		client := immudb.NewClient().WithOptions(immudb.DefaultOptions().WithAddress("127.0.0.1").WithPort(port).WithDir(folder))
		err := client.OpenSession(ctx, []byte("immudb"), []byte("immudb"), "defaultdb")
		if err == nil {
			return client
		}
		if attempt == 100 {
			log.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
