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

// LocalCase is a case of local decisions.
type LocalCase struct {
	ID, Kind string
	Given    json.RawMessage
	Expected json.RawMessage
}

// LocalDecisions are the cases of local decisions: those of all clients, or of the file that KEYSHELF_LOCAL_DECISIONS names.
type LocalDecisions struct {
	Base  json.RawMessage
	Cases []LocalCase
}

// ReadLocal reads local decisions.
func ReadLocal(t *testing.T) (file LocalDecisions) {
	t.Helper()
	path := os.Getenv("KEYSHELF_LOCAL_DECISIONS")
	if path == "" {
		Read(t, "local-decisions", &file)
		return file
	}
	data, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil || len(file.Cases) == 0 {
		t.Fatal("the file has no cases", err)
	}
	return file
}

// EachLocal runs a test for each case of a kind.
func EachLocal(t *testing.T, kind string, run func(*testing.T, LocalCase)) {
	t.Helper()
	for _, one := range ReadLocal(t).Cases {
		if one.Kind != kind {
			continue
		}
		one := one
		t.Run(one.ID, func(t *testing.T) { run(t, one) })
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
