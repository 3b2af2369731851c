// Package journal stores the events of a buffer, in memory or in a file that survives a restart.
//
// The file has a line for itself and a line for each event. An event is appended and flushed to the disk before it
// counts as accepted. Events leave by a new file that replaces the old one. A last line without an end was cut off by a
// crash: its event was never accepted. Clients in other languages read the same file.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"keyshelf.example/keyshelf/internal/files"
)

const format = "keyshelf-usage-buffer"

// ErrLocked says that another process uses the file.
var ErrLocked = errors.New("keyshelf: another process uses the usage buffer")

type header struct {
	Format string `json:"format"`
	V      int    `json:"v"`
	Source string `json:"source"`
}

// Journal holds events in the order in which they were added. Calls must not overlap.
type Journal struct {
	Source string
	// Lines are the JSON texts of the events.
	Lines [][]byte
	path  string
	file  *os.File
	lock  *os.File
}

// Open opens a journal. Without a path it is in memory. The source of a file that exists is the file's.
func Open(path, source string) (*Journal, error) {
	journal := &Journal{Source: source, path: path}
	if path == "" {
		return journal, nil
	}
	lock, err := files.Lock(path + ".lock")
	if errors.Is(err, files.ErrLocked) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	journal.lock = lock
	if err := journal.read(); err != nil {
		journal.Close()
		return nil, err
	}
	return journal, nil
}

func (journal *Journal) read() error {
	content, err := os.ReadFile(journal.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := bytes.Split(content, []byte("\n"))
	// The text after the last line feed is incomplete.
	lines = lines[:len(lines)-1]
	if len(content) > 0 {
		var first header
		if len(lines) == 0 || json.Unmarshal(lines[0], &first) != nil || first.Format != format || first.V != 1 || first.Source == "" {
			return fmt.Errorf("keyshelf: %s is not a usage buffer of this version", journal.path)
		}
		journal.Source = first.Source
		for _, line := range lines[1:] {
			if !json.Valid(line) {
				return fmt.Errorf("keyshelf: %s has a line that is not an event", journal.path)
			}
			journal.Lines = append(journal.Lines, line)
		}
	}
	return journal.replace(journal.Lines)
}

// Append adds an event. It is stored when this returns nil; otherwise nothing was added.
func (journal *Journal) Append(line []byte) error {
	if journal.path != "" {
		if journal.file == nil {
			return os.ErrClosed
		}
		end, err := journal.file.Seek(0, 2)
		if err != nil {
			return err
		}
		if _, err = journal.file.Write(append(append([]byte{}, line...), '\n')); err == nil {
			err = journal.file.Sync()
		}
		if err != nil {
			// The part of the line that a full disk stored must not precede the next one.
			if truncated := journal.file.Truncate(end); truncated != nil {
				return fmt.Errorf("%v, and the line cannot be removed: %w", err, truncated)
			}
			return err
		}
	}
	journal.Lines = append(journal.Lines, line)
	return nil
}

// Remove removes events by their places.
func (journal *Journal) Remove(places []int) error {
	if len(places) == 0 {
		return nil
	}
	gone := make(map[int]bool, len(places))
	for _, place := range places {
		gone[place] = true
	}
	kept := make([][]byte, 0, len(journal.Lines))
	for place, line := range journal.Lines {
		if !gone[place] {
			kept = append(kept, line)
		}
	}
	if journal.path != "" {
		if err := journal.replace(kept); err != nil {
			return err
		}
	}
	journal.Lines = kept
	return nil
}

// Close closes the file, so that another process may use it.
func (journal *Journal) Close() error {
	var failed error
	for _, file := range []*os.File{journal.file, journal.lock} {
		if file != nil {
			if err := file.Close(); err != nil {
				failed = err
			}
		}
	}
	journal.file, journal.lock = nil, nil
	return failed
}

// replace writes a new file and replaces the old one with it: one of them is complete at any time.
func (journal *Journal) replace(lines [][]byte) error {
	first, err := json.Marshal(header{format, 1, journal.Source})
	if err != nil {
		return err
	}
	content := bytes.Join(append([][]byte{first}, lines...), []byte("\n"))
	if journal.file != nil {
		if err := journal.file.Close(); err != nil {
			return err
		}
		journal.file = nil
	}
	replaced := files.Replace(journal.path, append(content, '\n'))
	journal.file, err = os.OpenFile(journal.path, os.O_RDWR, 0o600)
	if replaced != nil {
		return replaced
	}
	return err
}
