package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/inbound/importer"
	"rail/server/inbound/importer/source"
	"rail/server/locale/plain"
	"rail/server/problem"
	"rail/server/work"
)

// uploadImport stores the files of an import while they arrive, and guesses what each has.
func uploadImport(v *visit) error {
	if err := v.moversOnly(); err != nil {
		return err
	}
	name, content, err := v.Parts.Next()
	if errors.Is(err, io.EOF) {
		return v.again(problem.Invalid("files", "Choose at least one file."), newImport)
	}
	if err != nil {
		return err
	}
	var m db.Import
	err = v.unit().Within(v.Ctx(), func(u *work.Unit) (err error) {
		m, err = v.console.Imports.Start(v.Ctx(), u, importer.Order{
			ProgramID: v.program.ID, Source: importer.CSV, DryRun: true, EmitEvents: v.value("emit_events") != "", Open: true,
		})
		return err
	})
	if err != nil {
		return v.again(v.oneImport(err), newImport)
	}
	for n := int32(0); err == nil; n++ {
		if n == importer.MaxFiles {
			err = problem.Invalid("files", "These are more than %d files.", importer.MaxFiles)
			break
		}
		if err = v.storeFile(m.ID, importer.File{Number: n, Name: name}, content); err == nil {
			name, content, err = v.Parts.Next()
		}
	}
	if errors.Is(err, io.EOF) {
		return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID+"/files"))
	}
	return v.abandoned(m.ID, err)
}

// abandoned ends an import whose upload failed, and shows the form again.
func (v *visit) abandoned(id string, why error) error {
	if errors.Is(why, site.ErrLarge) {
		why = problem.Invalid("files", "The files are larger than %d MB together. Use rail import csv for larger ones.",
			importer.MaxUpload>>20)
	}
	ctx := context.WithoutCancel(v.Ctx())
	err := v.unit().Within(ctx, func(u *work.Unit) error {
		return v.console.Imports.Abandon(ctx, u, id, "Its files were not completely uploaded.")
	})
	return v.again(errors.Join(why, err), newImport)
}

// storeFile stores a file in parts.
func (v *visit) storeFile(id string, f importer.File, content io.Reader) error {
	part := make([]byte, importer.PartSize)
	for n := int32(0); ; n++ {
		size, err := io.ReadFull(content, part)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if size == 0 && n > 0 {
			return nil
		}
		if n == 0 {
			f.Kind = importer.KindOf(f.Name, part[:size])
		}
		err = v.unit().Within(v.Ctx(), func(u *work.Unit) error {
			return v.console.Imports.Upload(v.Ctx(), u, id, f, n, part[:size])
		})
		if err != nil || last {
			return err
		}
	}
}

// kindNames are the kinds of files in words.
var kindNames = map[source.Kind]string{
	source.KindPartner: "Partners", source.KindLink: "Links", source.KindCoupon: "Coupons", source.KindCustomer: "Customers",
	source.KindSale: "Sales", source.KindCommission: "Commissions", source.KindPayout: "Payouts",
}

// importFile is an uploaded file on the page of its columns.
type importFile struct {
	importer.File

	Head    []byte
	Headers []string
	Used    map[string]string // the header of each field
	Lacks   []string          // the needs without a column
	Fault   string            // why it cannot be read
	Lines   [][]string        // the first ones
}

// Ready reports whether the file can be read or is left out.
func (f importFile) Ready() bool { return f.Kind == "" || f.Fault == "" && len(f.Lacks) == 0 }

// What returns the kind in words.
func (f importFile) What() string {
	if f.Kind == "" {
		return "Left out"
	}
	return kindNames[f.Kind]
}

// inspect reads the headers of a file. A file that is left out is read as if it had partners.
func inspect(f importer.File, head []byte) importFile {
	out := importFile{File: f, Head: head}
	kind := f.Kind
	if kind == "" {
		kind = source.KindPartner
	}
	reader := source.CSV{}
	if len(f.Mapping) > 0 {
		reader.Mapping = map[source.Kind]map[string]string{kind: f.Mapping}
	}
	var err error
	if out.Headers, out.Used, err = reader.Headers(kind, bytes.NewReader(head)); err != nil {
		out.Fault = sentence(err)
		return out
	}
	if f.Kind != "" {
		out.Lacks = append(importer.Lacks(kind, out.Used), reader.Unclear(kind, bytes.NewReader(head))...)
	}
	out.Lines, _ = reader.Preview(kind, bytes.NewReader(head), previewLines) // a preview may be empty
	return out
}

const (
	// previewLines is how many lines of a file the page shows, previewCell and previewName how
	// many characters of a cell and of a file's name.
	previewLines, previewCell, previewName = 3, 40, 28
	// manyHeaders is how many headers a select has; for more, they are typed.
	manyHeaders = 60
)

// Cells returns the cells of a line in short.
func (f importFile) Cells(line []string) []string {
	out := make([]string, len(line))
	for i, text := range line {
		out[i] = plain.Short(strings.TrimSpace(text), previewCell)
	}
	return out
}

// columnsData holds the data of the page about the columns of files.
type columnsData struct {
	Import imported
	Files  []importFile
	At     int
	Tabs   site.Tabs
	Steps  site.Steps
	Kind   site.Input
	Fields []columnChoice
	Many   bool // the file has many headers
	Open   bool // not all files are ready
}

// columnChoice is a field of Rail with the header that is used.
type columnChoice struct {
	source.Field

	Input  site.Input
	Sample string // the cell of the first line
	Lacks  bool   // the file needs a column for it
}

// Why says why a column is needed; "" if it is not.
func (c columnChoice) Why() string {
	switch {
	case !c.Required:
		return ""
	case strings.Contains(c.Need, "("): // one of several fields
		return "one is needed for " + c.Need
	}
	return "needed"
}

// File is the file that is shown.
func (d columnsData) File() importFile { return d.Files[d.At] }

// Last reports whether the file is the last one.
func (d columnsData) Last() bool { return d.At == len(d.Files)-1 }

// filesOf returns the uploaded files of an import.
func (v *visit) filesOf(m imported) ([]importFile, error) {
	u := v.unit()
	files, err := v.console.Imports.Files(v.Ctx(), u, m.ID)
	out := make([]importFile, 0, len(files))
	for _, f := range files {
		head, err := v.console.Imports.Head(v.Ctx(), u, m.ID, f.Number)
		if err != nil {
			return nil, err
		}
		out = append(out, inspect(f, head))
	}
	return out, err
}

// withFiles calls a page of the import in the address with its uploaded files. An import that does not wait for columns
// is shown instead.
func (v *visit) withFiles(page func(imported, []importFile) error) error {
	m, err := v.importOf()
	if err != nil {
		return err
	}
	if !importer.Filling(m.Import) {
		return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID))
	}
	files, err := v.filesOf(m)
	if err != nil {
		return err
	}
	return page(m, files)
}

// importColumns shows a file with the columns that are used.
func importColumns(v *visit) error { return v.withFiles(v.showColumns) }

func (v *visit) showColumns(m imported, files []importFile) error {
	d := columnsData{Import: m, Files: files, Steps: importSteps(m.Import, true)}
	if len(files) == 0 {
		return v.show(sheet{"import-files", "/imports", "Columns", d})
	}
	d.At = max(0, slices.IndexFunc(files, func(f importFile) bool { return !f.Ready() }))
	d.Open = slices.ContainsFunc(files, func(f importFile) bool { return !f.Ready() })
	number := cleaned(v.QueryParam("file"))
	if v.Form != nil {
		number = v.value("file")
	}
	if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(files) {
		d.At = n
	}
	d.complete(v)
	return v.show(sheet{"import-files", "/imports", "Columns", d})
}

// complete adds the inputs of the file.
func (d *columnsData) complete(v *visit) {
	f := d.File()
	d.Tabs = site.Tabs{Label: "Files"}
	for i, other := range d.Files {
		d.Tabs.Links = append(d.Tabs.Links, site.Link{
			Path: v.at(fmt.Sprintf("/imports/%s/files?file=%d", d.Import.ID, i)), Name: plain.Short(other.Name, previewName), Current: i == d.At,
		})
	}
	page := frame{visit: v}
	d.Kind = page.Line("select", "kind", "The file has", string(f.Kind))
	for _, kind := range source.Kinds {
		d.Kind.Options = append(d.Kind.Options, site.Option{Value: string(kind), Label: kindNames[kind]})
	}
	d.Kind.Options = append(d.Kind.Options, site.Option{Label: "Leave this file out"})
	d.Many = len(f.Headers) > manyHeaders
	if f.Kind == "" || f.Fault != "" {
		return
	}
	for _, field := range source.Fields(f.Kind) {
		choice := columnChoice{
			Field: field, Lacks: slices.Contains(f.Lacks, field.Need),
			Input: page.Line("select", "column_"+field.Name, field.Title, f.Used[field.Name]),
		}
		at := slices.Index(f.Headers, f.Used[field.Name])
		if len(f.Lines) > 0 && at >= 0 && at < len(f.Lines[0]) {
			choice.Sample = f.Cells(f.Lines[0])[at]
		}
		d.Fields = append(d.Fields, choice)
	}
}

// assignColumns stores the kind and the columns of a file, and starts to read all files if the person asks for it.
func assignColumns(v *visit) error { return v.withFiles(v.saveColumns) }

func (v *visit) saveColumns(m imported, files []importFile) error {
	n, err := strconv.Atoi(v.value("file"))
	if err != nil || n < 0 || n >= len(files) {
		return site.NotFound()
	}
	f := files[n].File
	changed := string(f.Kind) != v.value("kind")
	f.Kind = source.Kind(v.value("kind"))
	if f.Kind != "" && kindNames[f.Kind] == "" {
		return v.again(problem.Invalid("kind", "Choose what the file has."), importColumns)
	}
	if f.Mapping = v.typedColumns(f.Kind); changed || len(f.Mapping) == 0 {
		f.Mapping = nil
	}
	seen := inspect(f, files[n].Head)
	if f.Kind != "" && !changed && seen.Fault != "" {
		return v.again(problem.Invalid("kind", "%s", seen.Fault), importColumns)
	}
	err = v.unit().Within(v.Ctx(), func(u *work.Unit) error { return v.console.Imports.Assign(v.Ctx(), u, m.ID, f) })
	if err != nil {
		return v.again(err, importColumns)
	}
	files[n] = seen
	return v.afterColumns(m, files, n, changed)
}

// typedColumns returns the chosen header of each field.
func (v *visit) typedColumns(kind source.Kind) map[string]string {
	headers := map[string]string{}
	for _, f := range source.Fields(kind) {
		if header := v.value("column_" + f.Name); header != "" {
			headers[f.Name] = header
		}
	}
	return headers
}

// afterColumns shows the next file, or starts to read all of them.
func (v *visit) afterColumns(m imported, files []importFile, n int, changed bool) error {
	page := func(file int) string { return v.at(fmt.Sprintf("/imports/%s/files?file=%d", m.ID, file)) }
	lacks := slices.IndexFunc(files, func(f importFile) bool { return !f.Ready() })
	switch {
	case changed && (v.value("do") != "start" || files[n].Kind != ""): // its fields are others
		return v.done(page(n), files[n].Name+": "+files[n].What()+".")
	case v.value("do") != "start" && !files[n].Ready():
		return v.done(page(n), "The columns are saved. "+needsOf(files[n]))
	case v.value("do") != "start":
		return v.done(page(min(n+1, len(files)-1)), "The columns of "+files[n].Name+" are saved.")
	case lacks >= 0:
		return v.done(page(lacks), needsOf(files[lacks]))
	case !slices.ContainsFunc(files, func(f importFile) bool { return f.Kind != "" }):
		return v.again(problem.Invalid("kind", "Every file is left out. Choose what at least one of them has."), importColumns)
	}
	err := v.unit().Within(v.Ctx(), func(u *work.Unit) error { return v.console.Imports.Close(v.Ctx(), u, m.ID) })
	if err != nil {
		return v.again(err, importColumns)
	}
	return v.Redirect(http.StatusSeeOther, v.at("/imports/"+m.ID))
}

// needsOf returns the columns that a file lacks, as a sentence.
func needsOf(f importFile) string {
	if f.Fault != "" {
		return f.Name + " cannot be read: leave it out, or upload it again."
	}
	return f.Name + " needs a column for " + strings.Join(f.Lacks, " and for ") + "."
}
