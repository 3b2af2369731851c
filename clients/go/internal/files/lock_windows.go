package files

import (
	"os"
	"syscall"
)

// Lock opens a file that it does not share. The system closes it with the process, however that ends.
func Lock(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	access := uint32(syscall.GENERIC_READ | syscall.GENERIC_WRITE)
	handle, err := syscall.CreateFile(name, access, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, ErrLocked
	}
	return os.NewFile(uintptr(handle), path), nil
}
