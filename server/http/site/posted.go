package site

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// maxForm is the largest form that is read, in bytes.
const maxForm = 128 << 10

// Refusals of a form, which Explain describes.
var (
	ErrForged = errors.New("site: the form is not of this session")
	ErrForm   = errors.New("site: the form cannot be read")
	ErrLarge  = errors.New("site: the file is too large")
)

// Upload is a file that was sent with a form.
type Upload struct {
	Name string
	Body []byte
}

// ReadUpload reads a form with a file in the field file. Beside what Read refuses, it
// refuses a file of more than most bytes as ErrLarge. No file is one of no name.
func (g Guard) ReadUpload(w http.ResponseWriter, r *http.Request, session, file string, most int64) (
	Posted, Upload, error,
) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, Upload{}, ErrForm
	}
	r.Body = http.MaxBytesReader(w, r.Body, most+maxForm)
	if err := r.ParseMultipartForm(most + maxForm); err != nil { //nolint:gosec // the line above bounds it
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, Upload{}, ErrLarge
		}
		return nil, Upload{}, ErrForm
	}
	defer r.MultipartForm.RemoveAll() //nolint:errcheck // all of it is in memory
	if !g.holds(session, r.PostForm.Get("form_token")) {
		return nil, Upload{}, ErrForged
	}
	sent := r.MultipartForm.File[file]
	if len(sent) == 0 {
		return Posted(r.PostForm), Upload{}, nil
	}
	if sent[0].Size > most {
		return nil, Upload{}, ErrLarge
	}
	from, err := sent[0].Open()
	if err != nil {
		return nil, Upload{}, ErrForm
	}
	body, err := io.ReadAll(from)
	return Posted(r.PostForm), Upload{plain(sent[0].Filename), body}, err
}

// Parts are the files of a form, which are read while they arrive.
type Parts struct {
	reader *multipart.Reader
	next   *multipart.Part
	field  string
}

// Next returns the next file, whose content is read before the one after it. After the last file it returns io.EOF.
// Files that are larger together than the route allows end as ErrLarge.
func (p *Parts) Next() (name string, content io.Reader, err error) {
	for {
		part := p.next
		if p.next = nil; part == nil {
			if part, err = p.reader.NextPart(); err != nil {
				return "", nil, streamed(err)
			}
		}
		if part.FormName() == p.field && part.FileName() != "" {
			return plain(part.FileName()), stream{part}, nil
		}
	}
}

// stream reads a part of a form.
type stream struct{ part *multipart.Part }

// Read reads the next bytes.
func (s stream) Read(b []byte) (int, error) {
	n, err := s.part.Read(b)
	return n, streamed(err)
}

// streamed names the error of a form that is too large or ends too early.
func streamed(err error) error {
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return ErrLarge
	}
	return ErrForm
}

// ReadStream reads a form up to its first file in the field file. The fields of the form come before its files, of
// which all together have at most most bytes. It refuses what Read refuses.
func (g Guard) ReadStream(w http.ResponseWriter, r *http.Request, session, file string, most int64) (
	Posted, *Parts, error,
) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, nil, ErrForm
	}
	if r.ContentLength > most+maxForm {
		return nil, nil, ErrLarge
	}
	r.Body = http.MaxBytesReader(w, r.Body, most+maxForm)
	reader, err := r.MultipartReader()
	if err != nil {
		return nil, nil, ErrForm
	}
	parts, form, size := &Parts{reader: reader, field: file}, url.Values{}, 0
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, streamed(err)
		}
		if part.FormName() == file {
			parts.next = part
			break
		}
		value, err := io.ReadAll(io.LimitReader(part, maxForm))
		if size += len(value); err != nil || size >= maxForm {
			return nil, nil, ErrForm
		}
		form.Add(part.FormName(), string(value))
	}
	if !g.holds(session, form.Get("form_token")) {
		return nil, nil, ErrForged
	}
	return Posted(form), parts, nil
}

// Read reads a form and validates its token.
// Forms of other kinds, larger than 32 KiB or without a token of this session are
// refused; nothing of them is used.
func (g Guard) Read(w http.ResponseWriter, r *http.Request, session string) (Posted, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, ErrForm
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, ErrForm
	}
	if !g.holds(session, r.PostForm.Get("form_token")) {
		return nil, ErrForged
	}
	return Posted(r.PostForm), nil
}

// Posted is a form that was sent.
type Posted url.Values

// Value is one line of the form, without what cannot be typed into it.
func (p Posted) Value(name string) string { return plain(url.Values(p).Get(name)) }

// Values are the values that one name was sent with, such as the boxes that were
// ticked.
func (p Posted) Values(name string) []string {
	out := make([]string, len(p[name]))
	for i, v := range p[name] {
		out[i] = plain(v)
	}
	return out
}

// Has reports whether the form was sent with a name, such as that of a ticked box.
func (p Posted) Has(name string) bool { return url.Values(p).Has(name) }

// Typed returns the posted values, to show them again.
func (p Posted) Typed(names ...string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[n] = p.Value(n)
	}
	return out
}

// plain removes control characters and broken UTF-8 from a line. Browsers send neither, and the database refuses some
// of them.
func plain(text string) string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.TrimSpace(line)
}
