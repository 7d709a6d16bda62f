// A peer of POST /v1/attest: one signature, one INSERT and an entry in a Tessera POSIX log, answered at one of two moments.
//
//	POST /integrated   the entry has its index and is in the tree
//	POST /published    a checkpoint over it is published, and the answer has it with the inclusion proof
//
//	tessera PORT FOLDER   with DATABASE_URL
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	tlog "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

const (
	origin     = "peer.example/log"
	batchSize  = 256
	batchAge   = 10 * time.Millisecond
	publishing = 100 * time.Millisecond // the shortest that its POSIX storage takes
	polling    = 10 * time.Millisecond
)

const createRecords = `CREATE TABLE IF NOT EXISTS records (id uuid PRIMARY KEY, payload bytea NOT NULL,
	signature bytea NOT NULL, created_at timestamptz NOT NULL)`
const insertRecord = `INSERT INTO records (id, payload, signature, created_at) VALUES ($1, $2, $3, $4)`

type record struct {
	ID        uuid.UUID `json:"id"`
	Payload   []byte    `json:"payload"`
	Signature []byte    `json:"signature"`
}

type answer struct {
	record
	Index      uint64   `json:"index"`
	Checkpoint []byte   `json:"checkpoint,omitempty"`
	Proof      [][]byte `json:"proof,omitempty"`
}

type peer struct {
	key      ed25519.PrivateKey
	pool     *pgxpool.Pool
	appender *tessera.Appender
	reader   tessera.LogReader
	awaiter  *tessera.PublicationAwaiter
	verifier note.Verifier
}

// The record, signed and stored.
func (p *peer) store(ctx context.Context, body []byte) (record, error) {
	at := time.Now().UTC()
	id := uuid.New()
	payload, err := json.Marshal(map[string]any{"id": id, "at": at, "request": json.RawMessage(body)})
	if err != nil {
		return record{}, err
	}
	made := record{ID: id, Payload: payload, Signature: ed25519.Sign(p.key, payload)}
	_, err = p.pool.Exec(ctx, insertRecord, made.ID, made.Payload, made.Signature, at)
	return made, err
}

func (p *peer) integrated(ctx context.Context, made record) (answer, error) {
	index, err := p.appender.Add(ctx, tessera.NewEntry(made.Payload))()
	return answer{record: made, Index: index.Index}, err
}

func (p *peer) published(ctx context.Context, made record) (answer, error) {
	index, checkpoint, err := p.awaiter.Await(ctx, p.appender.Add(ctx, tessera.NewEntry(made.Payload)))
	if err != nil {
		return answer{}, err
	}
	parsed, _, _, err := tlog.ParseCheckpoint(checkpoint, origin, p.verifier)
	if err != nil {
		return answer{}, err
	}
	builder, err := client.NewProofBuilder(ctx, parsed.Size, p.reader.ReadTile)
	if err != nil {
		return answer{}, err
	}
	proof, err := builder.InclusionProof(ctx, index.Index)
	return answer{record: made, Index: index.Index, Checkpoint: checkpoint, Proof: proof}, err
}

func (p *peer) serve(finish func(context.Context, record) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		made, err := p.store(r.Context(), body)
		var found answer
		if err == nil {
			found, err = finish(r.Context(), made)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		encoded, _ := json.Marshal(found)
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(encoded)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	port, folder := os.Args[1], os.Args[2]
	ctx := context.Background()
	secret, public := must2(note.GenerateKey(rand.Reader, origin))
	signer := must(note.NewSigner(secret))
	driver := must(posix.New(ctx, posix.Config{Path: folder}))
	options := tessera.NewAppendOptions().WithCheckpointSigner(signer).
		WithBatching(batchSize, batchAge).WithCheckpointInterval(publishing)
	appender, _, reader, err := tessera.NewAppender(ctx, driver, options)
	if err != nil {
		log.Fatal(err)
	}
	_, key := must2(ed25519.GenerateKey(rand.Reader))
	p := &peer{
		key:      key,
		pool:     must(pgxpool.New(ctx, os.Getenv("DATABASE_URL"))),
		appender: appender,
		reader:   reader,
		awaiter:  tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, polling),
		verifier: must(note.NewVerifier(public)),
	}
	must(p.pool.Exec(ctx, createRecords))
	http.HandleFunc("POST /integrated", p.serve(p.integrated))
	http.HandleFunc("POST /published", p.serve(p.published))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		log.Fatal(err)
	}
	return a, b
}
