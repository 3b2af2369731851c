// A verifier that shares no code with the service: Go's packages for signed notes and transparency logs, as the Go command uses them.
// Arguments: a verifier key, and files with a proof, an older checkpoint, a consistency proof as lines, and the text of the event.
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"

	"verifier/note"
	"verifier/tlog"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func read(path string) string {
	text, err := os.ReadFile(path)
	check(err)
	return string(text)
}

func hashes(lines []string) []tlog.Hash {
	var found []tlog.Hash
	for _, line := range lines {
		hash, err := tlog.ParseHash(line)
		check(err)
		found = append(found, hash)
	}
	return found
}

func checkpoint(text string, verifiers note.Verifiers) (int64, tlog.Hash) {
	opened, err := note.Open([]byte(text), verifiers)
	check(err)
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	_, err = base64.StdEncoding.DecodeString(lines[2])
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return size, root
}

func main() {
	verifier, err := note.NewVerifier(os.Args[1])
	check(err)
	verifiers := note.VerifierList(verifier)
	parts := strings.SplitN(read(os.Args[2]), "\n\n", 2)
	head := strings.Split(parts[0], "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(head[1], "index "), 10, 64)
	check(err)
	size, root := checkpoint(parts[1], verifiers)
	leaf := tlog.RecordHash([]byte(read(os.Args[5])))
	check(tlog.CheckRecord(hashes(head[2:]), size, root, index, leaf))
	older, before := checkpoint(read(os.Args[3]), verifiers)
	check(tlog.CheckTree(hashes(strings.Fields(read(os.Args[4]))), size, root, older, before))
	fmt.Println("verified")
}
