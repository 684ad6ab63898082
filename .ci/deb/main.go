// Command deb writes a Debian package as an nfpm configuration describes it. nfpm's own command also links the
// formats of other distributions; this one links Debian's only.
//
//	deb CONFIG OUTPUT
//
// ${NAME} in the configuration is the value of an environment variable. SOURCE_DATE_EPOCH sets the times of the files.
package main

import (
	"fmt"
	"os"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: deb CONFIG OUTPUT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "deb:", err)
		os.Exit(1)
	}
}

func write(config, output string) error {
	c, err := nfpm.ParseFileWithEnvMapping(config, os.Getenv)
	if err != nil {
		return err
	}
	info, err := c.Get("deb")
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	if err := packager.Package(info, file); err != nil {
		return err
	}
	return file.Close()
}
