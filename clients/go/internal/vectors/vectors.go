// Package vectors reads the vectors that all clients run. Only tests use it.
package vectors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Read reads a file of vectors into a value.
func Read(t *testing.T, name string, into any) {
	t.Helper()
	folder := os.Getenv("KEYSHELF_VECTORS")
	if folder == "" {
		_, file, _, _ := runtime.Caller(0)
		folder = filepath.Join(filepath.Dir(file), "../../../vectors")
	}
	data, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// Equal compares what a value is in JSON with what is expected.
func Equal(t *testing.T, actual, expected any) {
	t.Helper()
	if a, e := canonical(t, actual), canonical(t, expected); a != e {
		t.Errorf("\nactual   %s\nexpected %s", a, e)
	}
}

// canonical writes JSON with sorted members.
func canonical(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var parsed any
	if err := json.Unmarshal(data, &parsed); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}
