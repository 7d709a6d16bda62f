// Reads a static log (c2sp.org/tlog-tiles) with golang.org/x/mod/sumdb: the checkpoint's signature, every tile under its
// root, and every entry under its leaf hash.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type folder string

// The path of C2SP is that of the Go checksum database without the tile's height.
func (f folder) read(t tlog.Tile) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), strings.NewReplacer("tile/8/data/", "tile/entries/", "tile/8/", "tile/").Replace(t.Path())))
}

func (f folder) Height() int { return 8 }

func (f folder) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range tiles {
		bytes, err := f.read(tile)
		if err != nil {
			return nil, err
		}
		data = append(data, bytes)
	}
	return data, nil
}

func (f folder) SaveTiles([]tlog.Tile, [][]byte) {}

func require(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	root, vkey := folder(os.Args[1]), os.Args[2]
	verifier, err := note.NewVerifier(vkey)
	require(err)
	message, err := os.ReadFile(filepath.Join(string(root), "checkpoint"))
	require(err)
	signed, err := note.Open(message, note.VerifierList(verifier))
	require(err)
	lines := strings.Split(signed.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	require(err)
	raw, err := base64.StdEncoding.DecodeString(lines[2])
	require(err)
	tree := tlog.Tree{N: size}
	copy(tree.Hash[:], raw)
	hashes := tlog.TileHashReader(tree, root)
	var bundle []byte
	for n := int64(0); n < size; n++ {
		if n%256 == 0 {
			width := 256
			if size-n < 256 {
				width = int(size - n)
			}
			bundle, err = root.read(tlog.Tile{H: 8, L: -1, N: n / 256, W: width})
			require(err)
		}
		length := int(binary.BigEndian.Uint16(bundle))
		entry := bundle[2 : 2+length]
		bundle = bundle[2+length:]
		stored, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, n)})
		require(err)
		if stored[0] != tlog.RecordHash(entry) {
			log.Fatalf("entry %d is not what the tree has", n)
		}
	}
	fmt.Printf("%d entries\n", size)
}
