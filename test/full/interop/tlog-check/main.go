// Command tlog-check reads a log with other people's libraries, so that their understanding of the
// specifications is held against the service's: Tessera's fsck, and Go's own sumdb/note and sumdb/tlog.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	log.SetFlags(0)
	switch args := os.Args[2:]; os.Args[1] {
	case "fsck":
		check(args[0], args[1])
	case "prove":
		prove(args[0], args[1])
	case "open":
		openNote(args)
	case "sign":
		sign(args[0])
	case "vectors":
		vectors(args[0])
	default:
		log.Fatalf("no command %q", os.Args[1])
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// check runs Tessera's fsck over the log at a URL.
func check(logURL, vkey string) {
	verifier := must(f_note.NewVerifier(vkey))
	source := must(client.NewHTTPFetcher(must(url.Parse(logURL)), nil))
	hash := func(bundle []byte) ([][]byte, error) {
		entries := &api.EntryBundle{}
		if err := entries.UnmarshalText(bundle); err != nil {
			return nil, err
		}
		hashes := make([][]byte, 0, len(entries.Entries))
		for _, entry := range entries.Entries {
			hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
		}
		return hashes, nil
	}
	if err := fsck.New(verifier.Name(), verifier, source, hash, fsck.Opts{N: 4}).Check(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("whole")
}

// tiles reads tiles of height 8 as c2sp.org/tlog-tiles names them; tlog's own paths begin with the height.
type tiles struct{ prefix string }

func (tiles) Height() int { return 8 }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(wanted))
	for i, tile := range wanted {
		body, err := get(t.prefix + "/tile/" + strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		data[i] = body
	}
	return data, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func get(address string) ([]byte, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	return io.ReadAll(response.Body)
}

// prove opens the checkpoint with sumdb/note, and has sumdb/tlog prove records and older trees from the tiles,
// which it checks on the way, and check the proofs that the log makes itself.
func prove(prefix, vkey string) {
	verifiers := note.VerifierList(must(note.NewVerifier(vkey)))
	open := func(text []byte) (int64, tlog.Hash) {
		opened := must(note.Open(text, verifiers))
		lines := strings.Split(opened.Text, "\n")
		return must(strconv.ParseInt(lines[1], 10, 64)), must(tlog.ParseHash(lines[2]))
	}
	size, root := open(must(get(prefix + "/checkpoint")))
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tiles{prefix})
	for older := int64(1); older <= size; older += 1 + size/50 {
		olderRoot := must(tlog.TreeHash(older, reader))
		proof := must(tlog.ProveTree(size, older, reader))
		if err := tlog.CheckTree(proof, size, root, older, olderRoot); err != nil {
			log.Fatalf("tree of %d: %v", older, err)
		}
	}
	for index := int64(0); index < size; index += 1 + size/50 {
		leaf := must(reader.ReadHashes([]int64{tlog.StoredHashIndex(0, index)}))[0]
		proof := must(tlog.ProveRecord(size, index, reader))
		if err := tlog.CheckRecord(proof, size, root, index, leaf); err != nil {
			log.Fatalf("record %d: %v", index, err)
		}
		checkOwn(string(must(get(fmt.Sprintf("%s/proof/%d", prefix, index+1)))), index, leaf, open)
	}
	fmt.Println("proved")
}

// checkOwn checks a proof in the form of c2sp.org/tlog-proof.
func checkOwn(text string, index int64, leaf tlog.Hash, open func([]byte) (int64, tlog.Hash)) {
	head, checkpoint, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	if lines[0] != "c2sp.org/tlog-proof@v1" || lines[1] != fmt.Sprintf("index %d", index) {
		log.Fatalf("no proof of %d: %s", index, text)
	}
	var proof tlog.RecordProof
	for _, line := range lines[2:] {
		proof = append(proof, must(tlog.ParseHash(line)))
	}
	size, root := open([]byte(checkpoint))
	if err := tlog.CheckRecord(proof, size, root, index, leaf); err != nil {
		log.Fatalf("the log's own proof of %d: %v", index, err)
	}
}

// openNote opens the note on stdin with the keys of vkeys, all of which have to have signed it, and prints its text.
func openNote(vkeys []string) {
	var verifiers []note.Verifier
	for _, vkey := range vkeys {
		verifiers = append(verifiers, must(f_note.NewVerifier(vkey)))
	}
	opened := must(note.Open(must(io.ReadAll(os.Stdin)), note.VerifierList(verifiers...)))
	if len(opened.Sigs) != len(vkeys) {
		log.Fatalf("%d of %d keys have signed the note", len(opened.Sigs), len(vkeys))
	}
	fmt.Print(opened.Text)
}

// sign makes a key for notes and one for cosignatures, prints their vkeys, and the text on stdin signed with both.
func sign(name string) {
	signingKey, vkey, err := note.GenerateKey(nil, name)
	if err != nil {
		log.Fatal(err)
	}
	cosigner := must(f_note.NewSignerForCosignatureV1(signingKey))
	text := string(must(io.ReadAll(os.Stdin)))
	signed := must(note.Sign(&note.Note{Text: text}, must(note.NewSigner(signingKey)), cosigner))
	fmt.Printf("%s\n%s\n%s", vkey, must(f_note.VKeyToCosignatureV1(vkey)), signed)
}

// vectors prints, for a tree of the records "0", "1", ..., every root, proof of a record and proof of an older tree.
func vectors(count string) {
	var hashes []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			found[i] = hashes[index]
		}
		return found, nil
	})
	for size := int64(1); size <= must(strconv.ParseInt(count, 10, 64)); size++ {
		record := []byte(strconv.FormatInt(size-1, 10))
		hashes = append(hashes, must(tlog.StoredHashes(size-1, record, reader))...)
		fmt.Println("root", size, must(tlog.TreeHash(size, reader)))
		for index := int64(0); index < size; index++ {
			fmt.Println("record", size, index, must(tlog.ProveRecord(size, index, reader)))
			fmt.Println("tree", size, index+1, must(tlog.ProveTree(size, index+1, reader)))
		}
	}
}
