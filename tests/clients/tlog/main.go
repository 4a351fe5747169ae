// Reads a log as any client of transparency logs does: checks its checkpoint, reads every entry
// through tiles and checks each against the checkpoint, checks the proofs of the API, and that the
// log continues an older checkpoint.
//
//	tlog URL VERIFIER_KEY [OLDER_CHECKPOINT]
//
// Prints one line of JSON: the signed checkpoint, and all entries.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type result struct {
	Checkpoint string   `json:"checkpoint"`
	Entries    []string `json:"entries"`
}

// The parts of the API's answers that matter here; bytes are base64 in its JSON.
type proof struct {
	Root     []byte   `json:"root"`
	LeafHash []byte   `json:"leafHash"`
	Hashes   [][]byte `json:"hashes"`
}

func (p proof) path() []tlog.Hash {
	path := make([]tlog.Hash, len(p.Hashes))
	for i, hash := range p.Hashes {
		copy(path[i][:], hash)
	}
	return path
}

func call(url, method string, request map[string]int64) (answer proof, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	response, err := http.Post(url+"/writ.audit.v1.AuditService/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s %s", method, response.Status, text)
	}
	return answer, json.Unmarshal(text, &answer)
}

func open(signed, key string) (torchwood.Checkpoint, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return torchwood.Checkpoint{}, err
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return torchwood.Checkpoint{}, err
	}
	checkpoint, err := torchwood.ParseCheckpoint(opened.Text)
	if err == nil && checkpoint.Origin != verifier.Name() {
		err = fmt.Errorf("the origin is %q and the key's name %q", checkpoint.Origin, verifier.Name())
	}
	return checkpoint, err
}

func checkProofs(url string, tree tlog.Tree, entries []string) error {
	for i, entry := range entries {
		answer, err := call(url, "GetInclusionProof", map[string]int64{"position": int64(i) + 1, "size": tree.N})
		if err != nil {
			return err
		}
		hash := tlog.RecordHash([]byte(entry))
		if err := tlog.CheckRecord(answer.path(), tree.N, tree.Hash, int64(i), hash); err != nil {
			return fmt.Errorf("the API's proof of position %d: %w", i+1, err)
		}
	}
	return nil
}

func checkGrowth(ctx context.Context, url string, tiles torchwood.TileReader, older, newer tlog.Tree) error {
	hashes := torchwood.TileHashReaderWithContext(ctx, newer, tiles)
	ours, err := tlog.ProveTree(newer.N, older.N, hashes)
	if err != nil {
		return fmt.Errorf("a consistency proof from tiles: %w", err)
	}
	if err := tlog.CheckTree(ours, newer.N, newer.Hash, older.N, older.Hash); err != nil {
		return fmt.Errorf("the consistency proof from tiles: %w", err)
	}
	answer, err := call(url, "GetConsistencyProof", map[string]int64{"fromSize": older.N, "toSize": newer.N})
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(answer.path(), newer.N, newer.Hash, older.N, older.Hash); err != nil {
		return fmt.Errorf("the API's consistency proof: %w", err)
	}
	return nil
}

func read(url, key, older string) (out result, err error) {
	ctx := context.Background()
	tiles, err := torchwood.NewTileFetcher(url + "/log/")
	if err != nil {
		return out, err
	}
	signed, err := tiles.ReadEndpoint(ctx, "checkpoint")
	if err != nil {
		return out, err
	}
	out.Checkpoint = string(signed)
	checkpoint, err := open(out.Checkpoint, key)
	if err != nil {
		return out, err
	}
	client, err := torchwood.NewClient(tiles)
	if err != nil {
		return out, err
	}
	for _, entry := range client.AllEntries(ctx, checkpoint.Tree, 0) {
		out.Entries = append(out.Entries, string(entry))
	}
	if err := client.Err(); err != nil {
		return out, err
	}
	if int64(len(out.Entries)) != checkpoint.N {
		return out, fmt.Errorf("%s entries are missing", strconv.FormatInt(checkpoint.N-int64(len(out.Entries)), 10))
	}
	if err := checkProofs(url, checkpoint.Tree, out.Entries); err != nil {
		return out, err
	}
	if older == "" {
		return out, nil
	}
	before, err := open(older, key)
	if err != nil {
		return out, err
	}
	return out, checkGrowth(ctx, url, tiles, before.Tree, checkpoint.Tree)
}

func main() {
	older := ""
	if len(os.Args) > 3 {
		older = os.Args[3]
	}
	out, err := read(os.Args[1], os.Args[2], older)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		os.Exit(1)
	}
}
