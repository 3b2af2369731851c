//go:build !windows

package files

import (
	"os"
	"syscall"
)

// Lock locks a file. The system ends the lock with the process, however that ends.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, ErrLocked
	}
	return file, nil
}
