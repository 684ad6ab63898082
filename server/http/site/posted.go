package site

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// maxForm is the largest form that is read, in bytes.
const maxForm = 32 << 10

// Refusals of a form, which Explain describes.
var (
	ErrForged = errors.New("site: the form is not of this session")
	ErrForm   = errors.New("site: the form cannot be read")
	ErrLarge  = errors.New("design: the file is too large")
)

// Guard ties a site's forms to the session whose page they are on.
type Guard struct {
	// Purpose tells the forms of one site from those of another.
	Purpose string
}

// Token returns the form_token of a session's forms, which no other site knows. It is masked with as many random
// bytes, which come with it: pages are compressed, and the lengths of many pages with the same token would reveal it.
func (g Guard) Token(session string) string {
	sum := g.sum(session)
	out := make([]byte, len(sum), 2*len(sum))
	_, _ = rand.Read(out) // never fails: crypto/rand aborts the program instead
	for i, mask := range out {
		out = append(out, mask^sum[i])
	}
	return base64.RawURLEncoding.EncodeToString(out)
}

// holds reports whether a form's token is one of the session's.
func (g Guard) holds(session, token string) bool {
	given, err := base64.RawURLEncoding.DecodeString(token)
	sum := g.sum(session)
	if err != nil || len(given) != 2*len(sum) {
		return false
	}
	for i, mask := range given[:len(sum)] {
		given[len(sum)+i] ^= mask
	}
	return hmac.Equal(given[len(sum):], sum)
}

// sum derives the form's token from the session's. It is a keyed hash: a page's source reveals nothing of the cookie.
func (g Guard) sum(session string) []byte {
	m := hmac.New(sha256.New, []byte(session))
	m.Write([]byte(g.Purpose))
	return m.Sum(nil)
}

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
