package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/pflag"

	"rail/server/http/docs/offline"
)

// docsHelp describes the files of rail docs export.
func docsHelp() string {
	return `The pages are the guides, the API reference and the operator's pages of this binary, with a search. Open index.html in a
browser, or serve the folder by any web server. The pages load nothing from other hosts. The same binary writes the same
files.`
}

// docsExport writes the documentation into an empty folder.
func docsExport(*pflag.FlagSet) action {
	return func(_ context.Context, env *Env, args []string) error {
		folder := args[0]
		if err := empty(folder); err != nil {
			return err
		}
		files, err := offline.Files()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			file := filepath.Join(folder, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, files[name], 0o644); err != nil {
				return err
			}
		}
		return env.print(map[string]any{"folder": folder, "files": len(files)},
			line("%d files are written: open %s", len(files), filepath.Join(folder, "index.html")))
	}
}

// empty refuses a folder that has files. It may be absent.
func empty(folder string) error {
	if folder == "" {
		return errors.New("the name of the folder is empty")
	}
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is not a folder", folder)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name an empty or a new folder", folder)
	}
	return nil
}
