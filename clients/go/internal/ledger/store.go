package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"keyshelf.example/keyshelf/internal/clocks"
	"keyshelf.example/keyshelf/internal/files"
)

const (
	// maxSize is how large a file may get before it is rewritten when it is settled.
	maxSize = 1 << 20
	// flushWithin is how long a record may be in the memory of the machine alone.
	flushWithin = 100 * time.Millisecond
)

// store is the file of a journal, which one process uses. A nil one keeps nothing.
type store struct {
	path   string
	clock  clocks.Clock
	failed func(error)

	mutex sync.Mutex
	file  *os.File
	size  int64
	// written is how large it was when it was last replaced: keys stay in it.
	written int64
	// isStale says that the file has to be replaced before a record is added: it is of another journal, or a record was cut off
	// in it.
	isStale, isFlushing, isNamed, isClosed bool
}

// openStore reads what is stored, and sets aside what is no journal. Nothing is written before the first record.
func openStore(path string, clock clocks.Clock, failed func(error)) (opened *store, read *journal, isDamaged bool, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, err
	}
	read, isDamaged = journalIn(content)
	if read == nil && len(content) > 0 {
		if err := os.Rename(path, path+".bad"); err != nil {
			return nil, nil, false, err
		}
	}
	return &store{path: path, clock: clock, failed: failed}, read, isDamaged, nil
}

// append adds records to those of a journal. They have reached the operating system when it returns nil; otherwise nothing
// was added.
func (one *store) append(to *journal, now int64, records []record) error {
	if one == nil {
		return nil
	}
	if one.needsReplacement() {
		if err := one.replace(to, now); err != nil {
			return err
		}
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	if one.isClosed {
		return os.ErrClosed
	}
	lines := make([]any, 0, len(records)+1)
	if one.file == nil {
		// A product that consumes nothing has no file.
		lines = append(lines, to.header())
		if err := one.reopen(os.O_CREATE); err != nil {
			return err
		}
	}
	for _, each := range records {
		lines = append(lines, each)
	}
	text, err := textOf(lines...)
	if err != nil {
		return err
	}
	if _, err := one.file.Write(text); err != nil {
		// The part of a record that a full disk took must not precede the next one.
		one.isStale = one.file.Truncate(one.size) != nil
		return err
	}
	one.size += int64(len(text))
	if !one.isFlushing {
		one.isFlushing = true
		one.clock.After(flushWithin, one.flush)
	}
	return nil
}

func (one *store) needsReplacement() bool {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	return one.isStale
}

func (one *store) reopen(flag int) (err error) {
	one.file, err = os.OpenFile(one.path, os.O_APPEND|os.O_WRONLY|flag, 0o600)
	return err
}

func (one *store) flush() {
	one.mutex.Lock()
	one.isFlushing = false
	one.mutex.Unlock()
	if err := one.sync(); err != nil {
		one.failed(err)
	}
}

// sync returns when all that was added is on the disk.
func (one *store) sync() error {
	if one == nil {
		return nil
	}
	one.mutex.Lock()
	file, isNamed := one.file, one.isNamed
	one.isNamed = one.isNamed || file != nil
	one.mutex.Unlock()
	if file == nil {
		return nil
	}
	// A file that was replaced or closed meanwhile was flushed before that.
	if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	if isNamed {
		return nil
	}
	return files.SyncFolder(filepath.Dir(one.path))
}

// replace replaces what is stored by all that a journal says.
func (one *store) replace(by *journal, now int64) error {
	if one == nil {
		return nil
	}
	text, err := by.text(now)
	if err != nil {
		return err
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	if one.isClosed {
		return os.ErrClosed
	}
	one.isStale = true
	// Windows replaces no file that is open.
	if err := one.end(); err != nil {
		return err
	}
	if err := files.Replace(one.path, text); err != nil {
		return err
	}
	if err := one.reopen(0); err != nil {
		return err
	}
	one.isStale, one.isNamed, one.size, one.written = false, true, int64(len(text)), int64(len(text))
	return nil
}

// isLarge reports whether it should be replaced when it is settled.
func (one *store) isLarge() bool {
	if one == nil {
		return false
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	return one.size > maxSize && one.size > 2*one.written
}

// end flushes and closes the file, if it is open.
func (one *store) end() error {
	if one.file == nil {
		return nil
	}
	err := one.file.Sync()
	if closed := one.file.Close(); err == nil {
		err = closed
	}
	one.file = nil
	return err
}

func (one *store) close() error {
	if one == nil {
		return nil
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.isClosed = true
	return one.end()
}
