// Package disk tells how much room a folder's disk has.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Least is how much room a server needs to start: PostgreSQL's log of writes alone takes that much within minutes.
const Least = 200 << 20

// Scarce is the room below which somebody should be told, in bytes and as a part of the disk.
const (
	Scarce     = 1 << 30
	ScarcePart = 0.1
)

// Room is what a disk has, in bytes. Free is what the account of this process may use.
type Room struct{ Free, Size uint64 }

// Of returns the room of the disk that a folder is on, or would be made on.
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

// IsScarce reports whether somebody should be told: a tenth of a large disk is enough for long, so both bounds count.
func (r Room) IsScarce() bool {
	return r.Free < Scarce || r.Free < 10*Scarce && float64(r.Free) < ScarcePart*float64(r.Size)
}

// String returns what is left, as a message has it.
func (r Room) String() string {
	if r.Free < Scarce {
		return fmt.Sprintf("%d MB", r.Free>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(r.Free)/(1<<30))
}
