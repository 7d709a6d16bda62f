// Tools of Go over the folder of samples: a line for each, "name: ok" or what it says.
package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/torchwood"
	"github.com/cedar-policy/cedar-go"
	"github.com/fxamacker/cbor/v2"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/gowebpki/jcs"
	statement "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/client"
	"github.com/veraison/go-cose"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"google.golang.org/protobuf/encoding/protojson"
)

var samples = os.Args[1]

func read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		panic(err)
	}
	return data
}

func parse[T any](name string) (value T) {
	if err := json.Unmarshal(read(name), &value); err != nil {
		panic(err)
	}
	return value
}

func verifier() note.Verifier {
	found, err := note.NewVerifier(string(read("vkey.txt")))
	if err != nil {
		panic(err)
	}
	return found
}

type place struct {
	Index           int64    `json:"index"`
	TreeSize        int64    `json:"tree_size"`
	Entry           []byte   `json:"entry"`
	InclusionProof  [][]byte `json:"inclusion_proof"`
	Checkpoint      string   `json:"checkpoint"`
}

func withSumdb() error {
	at := parse[place]("log.json")
	opened, err := note.Open([]byte(at.Checkpoint), note.VerifierList(verifier()))
	if err != nil {
		return err
	}
	lines := strings.Split(opened.Text, "\n")
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return err
	}
	var hashes tlog.RecordProof
	for _, hash := range at.InclusionProof {
		hashes = append(hashes, tlog.Hash(hash))
	}
	return tlog.CheckRecord(hashes, at.TreeSize, root, at.Index, tlog.RecordHash(at.Entry))
}

func withTorchwood() error {
	proof := read("receipt.tlog-proof")
	entry, err := torchwood.ProofExtraData(proof)
	if err != nil {
		return err
	}
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(verifier().Name()), torchwood.SingleVerifierPolicy(verifier()))
	return torchwood.VerifyProof(policy, tlog.RecordHash(entry), proof)
}

func withTessera() error {
	ctx := context.Background()
	at := func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(samples, "log", path)) }
	checkpoint, _, _, err := client.FetchCheckpoint(ctx, func(context.Context) ([]byte, error) { return at("checkpoint") }, verifier(), verifier().Name())
	if err != nil {
		return err
	}
	fetcher := client.FileFetcher{Root: filepath.Join(samples, "log")}
	builder, err := client.NewProofBuilder(ctx, checkpoint.Size, fetcher.ReadTile)
	if err != nil {
		return err
	}
	place := parse[place]("log.json")
	hashes, err := builder.InclusionProof(ctx, uint64(place.Index))
	if err != nil {
		return err
	}
	bundle, err := client.GetEntryBundle(ctx, fetcher.ReadEntryBundle, uint64(place.Index/256), checkpoint.Size)
	if err != nil {
		return err
	}
	entry := bundle.Entries[place.Index%256]
	if !bytes.Equal(entry, place.Entry) {
		return errors.New("another entry")
	}
	return proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(place.Index), checkpoint.Size, rfc6962.DefaultHasher.HashLeaf(entry), hashes, checkpoint.Hash)
}

type dsseKey struct {
	id  string
	key ed25519.PublicKey
}

func (k dsseKey) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(k.key, data, sig) {
		return errors.New("signature")
	}
	return nil
}
func (k dsseKey) KeyID() (string, error)   { return k.id, nil }
func (k dsseKey) Public() crypto.PublicKey { return k.key }

func withSecuresystemslib() error {
	found, err := dsse.NewEnvelopeVerifier(dsseKey{string(read("dsse_keyid.txt")), publicKey()})
	if err != nil {
		return err
	}
	envelope := parse[dsse.Envelope]("envelope.json")
	_, err = found.Verify(context.Background(), &envelope)
	return err
}

func withInToto() error {
	var parsed statement.Statement
	if err := protojson.Unmarshal(read("payload.json"), &parsed); err != nil {
		return err
	}
	return parsed.Validate()
}

// Both signatures, and the path from the leaf to the root that the second is over (RFC 9942, RFC 9943).
func withGoCose() error {
	var statement, receipt cose.Sign1Message
	if err := statement.UnmarshalCBOR(read("statement.cose")); err != nil {
		return err
	}
	service, err := cose.NewVerifier(cose.AlgorithmEdDSA, publicKey())
	if err != nil {
		return err
	}
	if err := statement.Verify(nil, service); err != nil {
		return err
	}
	if !bytes.Equal(statement.Payload, read("payload.json")) {
		return errors.New("another payload")
	}
	receipts := statement.Headers.Unprotected[int64(394)].([]any)
	if err := receipt.UnmarshalCBOR(receipts[0].([]byte)); err != nil {
		return err
	}
	proofs := receipt.Headers.Unprotected[int64(396)].(map[any]any)[int64(-1)].([]any)
	var path struct {
		_     struct{} `cbor:",toarray"`
		Size  uint64
		Index uint64
		Path  [][]byte
	}
	if err := cbor.Unmarshal(proofs[0].([]byte), &path); err != nil {
		return err
	}
	entry := statement.Headers.Unprotected["countersign.entry"].([]byte)
	root, err := proof.RootFromInclusionProof(rfc6962.DefaultHasher, path.Index, path.Size, rfc6962.DefaultHasher.HashLeaf(entry), path.Path)
	if err != nil {
		return err
	}
	log, err := cose.NewVerifier(cose.AlgorithmEdDSA, ed25519.PublicKey(logKey()))
	if err != nil {
		return err
	}
	receipt.Payload = root
	if err := receipt.Verify(nil, log); err != nil {
		return err
	}
	receipt.Payload = append([]byte{root[0] ^ 1}, root[1:]...)
	if receipt.Verify(nil, log) == nil {
		return errors.New("another root holds too")
	}
	return nil
}

func logKey() []byte {
	vkey := string(read("vkey.txt"))
	raw, err := base64.StdEncoding.DecodeString(vkey[strings.LastIndex(vkey[:len(vkey)-44], "+")+1:])
	if err != nil {
		panic(err)
	}
	return raw[1:]
}

func publicKey() ed25519.PublicKey {
	block, _ := pem.Decode(read("key.pem"))
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		panic(err)
	}
	return parsed.(ed25519.PublicKey)
}

func withJcs() error {
	var failed []string
	for _, one := range parse[[]struct{ Name, Input, Bytes string }]("jcs.json") {
		made, err := jcs.Transform([]byte(one.Input))
		if err != nil || string(made) != one.Bytes {
			failed = append(failed, one.Name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("not %s", strings.Join(failed, ", "))
	}
	return nil
}

func withWebauthn() error {
	for _, one := range parse[[]struct {
		Credential json.RawMessage `json:"credential"`
		Challenge  string          `json:"challenge"`
		RpId       string          `json:"rp_id"`
		Origin     string          `json:"origin"`
		PublicKey  string          `json:"public_key"`
	}]("passkeys.json") {
		parsed, err := protocol.ParseCredentialRequestResponseBytes(one.Credential)
		if err != nil {
			return err
		}
		key, err := base64.RawURLEncoding.DecodeString(one.PublicKey)
		if err != nil {
			return err
		}
		err = parsed.Verify(one.Challenge, one.RpId, "", []string{one.Origin}, nil, nil, protocol.TopOriginImplicitVerificationMode, false, true, true, key, protocol.SignaturePolicy{})
		if err != nil {
			return err
		}
	}
	return nil
}

func withCedar() error {
	type entity = cedar.EntityUID
	for _, one := range parse[[]struct {
		Policies                   string
		Principal, Action, Resource json.RawMessage
		Context                    cedar.Record
		Entities                   cedar.EntityMap
		Decision                   string
		Uids                       map[string]struct{ Type, Id string }
	}]("cedar.json") {
		policies, err := cedar.NewPolicySetFromBytes("rules", []byte(one.Policies))
		if err != nil {
			return err
		}
		uid := func(name string) entity {
			return cedar.NewEntityUID(cedar.EntityType(one.Uids[name].Type), cedar.String(one.Uids[name].Id))
		}
		request := cedar.Request{Principal: uid("principal"), Action: uid("action"), Resource: uid("resource"), Context: one.Context}
		decision, _ := cedar.Authorize(policies, one.Entities, request)
		if decision.String() != one.Decision {
			return fmt.Errorf("%s instead of %s", decision, one.Decision)
		}
	}
	return nil
}

func withSigstore() error {
	found, err := bundle.LoadJSONFromPath(filepath.Join(samples, "bundle.json"))
	if err != nil {
		return err
	}
	block, _ := pem.Decode(read("key.pem"))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return err
	}
	checker, err := signature.LoadVerifier(key, crypto.Hash(0))
	if err != nil {
		return err
	}
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(checker, time.Time{}, time.Time{}), nil
	})
	own, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	if err != nil {
		return err
	}
	inputs := verify.WithArtifact(bytes.NewReader(read("inputs.txt")))
	_, err = own.Verify(found, verify.NewPolicy(inputs, verify.WithKey()))
	return err
}

func main() {
	for _, tool := range []struct {
		name  string
		check func() error
	}{
		{"sumdb 0.38.0", withSumdb},
		{"torchwood 0.9.0", withTorchwood},
		{"tessera client 1.0.4", withTessera},
		{"go-securesystemslib 0.11.1", withSecuresystemslib},
		{"in-toto attestation 1.2.0", withInToto},
		{"gowebpki/jcs 1.0.1", withJcs},
		{"go-webauthn 0.18.2", withWebauthn},
		{"cedar-go 1.9.2", withCedar},
		{"go-cose 1.3.0", withGoCose},
		{"sigstore-go 1.3.0", withSigstore},
	} {
		said := "ok"
		if err := tool.check(); err != nil {
			said = strings.Split(err.Error(), "\n")[0]
		}
		fmt.Printf("%s: %s\n", tool.name, said)
	}
}
