// Package disk measures the free space of a folder's disk.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Least is the free space that a server needs to start: PostgreSQL's WAL alone takes that much within minutes.
const Least = 200 << 20

// Scarce is the free space below which the operator should be warned, in bytes and as a part of the disk.
const (
	Scarce     = 1 << 30
	ScarcePart = 0.1
)

// Room is the space of a disk, in bytes. Free is the part that this process's account may use.
type Room struct{ Free, Size uint64 }

// Of returns the room of the disk of a folder, which need not exist.
func Of(dir string) (Room, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Room{}, err
	}
	var fsys syscall.Statfs_t
	for err = syscall.Statfs(dir, &fsys); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &fsys)
	}
	if err != nil {
		return Room{}, fmt.Errorf("room in %s: %w", dir, err)
	}
	block := uint64(fsys.Bsize)
	return Room{Free: fsys.Bavail * block, Size: fsys.Blocks * block}, nil
}

// IsScarce reports whether the free space is below both limits of Scarce: a tenth of a large disk lasts long.
func (r Room) IsScarce() bool {
	return r.Free < Scarce || r.Free < 10*Scarce && float64(r.Free) < ScarcePart*float64(r.Size)
}

// String returns the free space for messages.
func (r Room) String() string {
	if r.Free < Scarce {
		return fmt.Sprintf("%d MB", r.Free>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(r.Free)/(1<<30))
}
