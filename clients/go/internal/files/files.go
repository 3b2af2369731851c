// Package files has what survives a crash: locks that end with their process, and files that are complete at any time.
package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// ErrLocked says that another process uses a file.
var ErrLocked = errors.New("keyshelf: another process uses the file")

// Replace writes a new file and replaces the old one with it: one of them is complete at any time. No one may have the old
// one open, because Windows replaces no such file.
func Replace(path string, content []byte) error {
	fresh, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = fresh.Write(content); err == nil {
		err = fresh.Sync()
	}
	if closed := fresh.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes a new name safe. Windows cannot open a folder.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
