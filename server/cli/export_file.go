package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"rail/server/http/handlers"
	"rail/server/http/middleware"
)

// exportFile is a file of an export, under another name until the export is complete.
type exportFile struct {
	name    string
	file    *os.File
	out     *bufio.Writer
	csv     *csv.Writer
	columns []string
	rows    int64
}

// create begins a file beside the one of an earlier export.
func (x *exporter) create(name string) (*exportFile, error) {
	file, err := os.CreateTemp(x.folder, "."+name+".*") // 0600
	if err != nil {
		return nil, err
	}
	f := &exportFile{name: name, file: file, out: bufio.NewWriter(file)}
	f.csv = csv.NewWriter(f.out)
	f.csv.UseCRLF = true
	x.files = append(x.files, f)
	return f, nil
}

// header writes the names of the columns.
func (f *exportFile) header(columns []string) error {
	f.columns = columns
	return f.csv.Write(columns)
}

// row writes an object as a line of CSV, as the API's table of its list has it.
func (f *exportFile) row(o handlers.Exported) error {
	own := len(f.columns) - len(o.Further)
	cells := make([]string, len(f.columns))
	for i, name := range f.columns {
		value := o.Members[name]
		if i >= own {
			value, _ = json.Marshal(o.Further[i-own]) // a text
		}
		cells[i] = middleware.Cell(value)
	}
	f.rows++
	return f.csv.Write(cells)
}

// object writes an object as a line of JSON.
func (f *exportFile) object(o any) error {
	f.rows++
	e := json.NewEncoder(f.out)
	e.SetEscapeHTML(false)
	return e.Encode(o)
}

// textOf returns a member of an object that is a text.
func textOf(o handlers.Exported, name string) (text string, err error) {
	err = json.Unmarshal(o.Members[name], &text)
	return text, err
}

// keep completes all files and then the manifest, so that a manifest describes the files beside it.
func (x *exporter) keep() error {
	for _, f := range x.files {
		x.Files = append(x.Files, exportedFile{f.name, f.rows})
	}
	manifest, err := x.create("manifest.json")
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(x.exported, "", "  ")
	if err != nil {
		return err
	}
	_, _ = manifest.out.Write(append(text, '\n')) // close reports the error
	for _, f := range x.files {
		if err := f.close(); err != nil {
			return err
		}
	}
	for _, f := range x.files {
		if err := os.Rename(f.file.Name(), filepath.Join(x.folder, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// close writes what is left to the disk.
func (f *exportFile) close() error {
	f.csv.Flush()
	return errors.Join(f.csv.Error(), f.out.Flush(), f.file.Sync(), f.file.Close())
}

// discard removes the files of an export that failed.
func (x *exporter) discard() {
	for _, f := range x.files {
		_ = f.file.Close() // it may be closed
		_ = os.Remove(f.file.Name())
	}
}
