package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"keyshelf.example/keyshelf/internal/files"
)

// maxSlots is how many processes may share a directory.
const maxSlots = 64

// ErrNoSlot says that as many processes as possible use a directory.
var ErrNoSlot = fmt.Errorf("%d processes use it already", maxSlots)

// fileID is a part of a name: an id of the service, and nothing that leads elsewhere.
var fileID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// Store keeps snapshots and ledgers in a directory, so that they survive a restart. A process has a slot of its own there, the first
// one that is free. So a process that starts again finds what it wrote.
type Store struct {
	directory, slot string
	lock            *os.File
}

// OpenStore takes a slot of a directory, which is made if there is none.
func OpenStore(directory string) (*Store, error) {
	for number := 0; number < maxSlots; number++ {
		slot := filepath.Join(directory, fmt.Sprintf("slot-%d", number))
		if err := os.MkdirAll(slot, 0o700); err != nil {
			return nil, err
		}
		lock, err := files.Lock(filepath.Join(slot, "lock"))
		if err == nil {
			return &Store{directory, slot, lock}, nil
		}
		if !errors.Is(err, files.ErrLocked) {
			return nil, err
		}
	}
	return nil, ErrNoSlot
}

// Close frees the slot.
func (store *Store) Close() error { return store.lock.Close() }

// path names a file of an instance in the slot.
func (store *Store) path(kind, id, ending string) (string, error) {
	if !fileID.MatchString(id) {
		return "", fmt.Errorf("keyshelf: %q is no id of an instance", id)
	}
	return filepath.Join(store.slot, kind+"-"+id+ending), nil
}

func (store *Store) ledgerPath(id string) (string, error) { return store.path("ledger", id, ".jsonl") }

// write replaces what is stored of an instance.
func (store *Store) write(id string, stored *record) error {
	path, err := store.path("snapshot", id, ".json")
	if err != nil {
		return err
	}
	content, err := stored.encode()
	if err != nil {
		return err
	}
	return files.Replace(path, content)
}

// newest is what the service said last about an instance, in any slot: that it ended the access counts too. It returns nil
// if nothing is stored. A file that cannot be read is as if absent; one of this slot gets the name .bad.
func (store *Store) newest(instance string) *record {
	paths, _ := filepath.Glob(filepath.Join(globbed(store.directory), "slot-*", "snapshot-*.json"))
	var found *record
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		read := recordIn(data)
		if read == nil {
			if filepath.Dir(path) == store.slot {
				_ = os.Rename(path, path+".bad")
			}
			continue
		}
		if read.Instance == instance && (found == nil || read.saidAt() > found.saidAt()) {
			found = read
		}
	}
	return found
}

var special = regexp.MustCompile(`[*?\[\]\\]`)

// globbed escapes what has a meaning in a pattern. A backslash of Windows is a separator, and escapes nothing there.
func globbed(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return special.ReplaceAllString(path, `\$0`)
}
