package app

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"rail/server/app/config"
	"rail/server/telemetry/disk"
)

// folder is a folder on this machine that the server fills.
type folder struct{ name, variable, dir string }

// folders returns the folders that a configured server fills. With an external database, mails may be written
// into the first.
func folders(cfg config.Config) (all []folder) {
	if _, err := os.Stat(cfg.DataDir); err == nil || cfg.DatabaseURL == "" {
		all = append(all, folder{"data", "RAIL_DATA_DIR", cfg.DataDir})
	}
	if cfg.ArchiveDir != "" {
		all = append(all, folder{"archive", "RAIL_ARCHIVE_DIR", cfg.ArchiveDir})
	}
	return all
}

// least is the free space that a server needs to start. Tests require more than any disk has.
var least uint64 = disk.Least

// Room returns an error if the disk of the private database is nearly full, so that a server would soon fail.
func Room(cfg config.Config) error {
	if cfg.DatabaseURL != "" {
		return nil
	}
	room, err := disk.Of(cfg.DataDir)
	if err != nil || room.Free >= least {
		return err
	}
	return fmt.Errorf("the disk of RAIL_DATA_DIR (%s) has %s free, and a server needs %s to start: free some space, "+
		"or set RAIL_DATA_DIR to another disk", cfg.DataDir, room, disk.Room{Free: least})
}

// disks collects the free space of the folders.
type disks []folder

var (
	diskFree = prometheus.NewDesc("rail_disk_free_bytes", "Free space on the disk of a folder: data or archive.",
		[]string{"folder"}, nil)
	diskSize = prometheus.NewDesc("rail_disk_size_bytes", "Size of that disk.", []string{"folder"}, nil)
)

// Describe names the metrics.
func (disks) Describe(out chan<- *prometheus.Desc) {
	out <- diskFree
	out <- diskSize
}

// Collect measures the free space. A missing folder has no metrics.
func (d disks) Collect(out chan<- prometheus.Metric) {
	for _, f := range d {
		room, err := disk.Of(f.dir)
		if err != nil {
			continue
		}
		out <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(room.Free), f.name)
		out <- prometheus.MustNewConstMetric(diskSize, prometheus.GaugeValue, float64(room.Size), f.name)
	}
}
