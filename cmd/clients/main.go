// Command clients writes the clients of the API from openapi/bundle.json, and the examples of calls that /docs shows.
// It runs at the root of the repository, after cmd/bundle:
//
//	gen/clients/typescript    the client in TypeScript, without runtime.js
//	gen/clients/python        the client in Python
//	gen/client                the client in Go
//	gen/samples/samples.json  an example of each operation in each language
//
// With pack, a version and a folder, it writes the archives of a release there, as of the time in SOURCE_DATE_EPOCH.
//
// Package model reads the description. A package for each language writes its files, from the model and from a runtime
// that is written by hand.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"rail/cmd/clients/golang"
	"rail/cmd/clients/model"
	"rail/cmd/clients/python"
	"rail/cmd/clients/typescript"
)

// language is a language that clients are written in.
type language struct {
	// folder is that of the client, which is removed before it is written.
	folder string
	// files returns the files of the client by their paths in the folder.
	files func(*model.Model) (map[string][]byte, error)
}

var languages = []language{
	{"gen/clients/typescript", typescript.Files},
	{"gen/clients/python", python.Files},
	{"gen/client", golang.Files},
}

func main() {
	run := generate
	if len(os.Args) == 4 && os.Args[1] == "pack" {
		run = packRelease
	} else if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: clients [pack VERSION FOLDER]")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// packRelease packs the clients as of the time of the commit.
func packRelease() error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return pack(os.Args[2], os.Args[3], time.Unix(seconds, 0))
}

// generate writes the clients and the samples.
func generate() error {
	bundle, err := os.ReadFile("openapi/bundle.json")
	if err != nil {
		return err
	}
	m, err := model.Read(bundle)
	if err != nil {
		return err
	}
	for _, l := range languages {
		files, err := l.files(m)
		if err != nil {
			return fmt.Errorf("%s: %w", l.folder, err)
		}
		if err := os.RemoveAll(l.folder); err != nil {
			return err
		}
		for name, content := range files {
			if err := save(filepath.Join(l.folder, name), content); err != nil {
				return err
			}
		}
	}
	samples, err := writeSamples(m)
	if err != nil {
		return err
	}
	if err := save("gen/samples/samples.gen.go", []byte(samplesPackage)); err != nil {
		return err
	}
	return save("gen/samples/samples.json", samples)
}

// save writes a file and the folders above it.
func save(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
