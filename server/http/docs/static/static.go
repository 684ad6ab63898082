// Package static serves texts that do not change while the server runs. It compresses
// each text once, on the first request, and gives it an ETag.
package static

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MinPacked is the size in bytes from which New compresses a text.
const MinPacked = 1024

// Text is a text with its media type and Cache-Control.
type Text struct {
	kind, cache string
	forms       func() (forms, error)
}

// forms holds the text by Content-Encoding. The key "" is the uncompressed text.
type forms struct {
	etag string // without the quotes
	by   map[string][]byte
}

// New returns a text of the media type kind. cache is the Cache-Control header of its
// responses. The first request calls body.
func New(kind, cache string, body func() ([]byte, error)) *Text {
	return &Text{kind, cache, sync.OnceValues(func() (forms, error) {
		plain, err := body()
		if err != nil {
			return forms{}, err
		}
		f := formsOf(plain)
		if len(plain) < MinPacked {
			return f, nil
		}
		if f.by["gzip"], err = gzipped(plain); err != nil {
			return forms{}, err
		}
		f.by["zstd"], err = zstandard(plain)
		return f, err
	})}
}

// Zipped returns a text whose body is gzip data. The first request decompresses it once,
// for clients that do not accept gzip.
func Zipped(kind, cache string, packed func() ([]byte, error)) *Text {
	return &Text{kind, cache, sync.OnceValues(func() (forms, error) {
		body, err := packed()
		if err != nil {
			return forms{}, err
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return forms{}, err
		}
		plain, err := io.ReadAll(z)
		f := formsOf(plain)
		f.by["gzip"] = body
		return f, err
	})}
}

// formsOf returns the uncompressed form. 96 bits of the hash are enough to distinguish
// versions of one text.
func formsOf(plain []byte) forms {
	sum := sha256.Sum256(plain)
	return forms{hex.EncodeToString(sum[:12]), map[string][]byte{"": plain}}
}

// gzipped uses the best compression, because each text is compressed only once.
func gzipped(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(plain); err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// zstandard compresses in the caller's goroutine, so that it leaves no goroutine running.
func zstandard(plain []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer w.Close() //nolint:errcheck // nothing was written to it
	return w.EncodeAll(plain, nil), nil
}

// Serve answers a GET or HEAD request with the text in the encoding that the client
// prefers. It answers 304 if ifNoneMatch names the text in any encoding. Strong ETags
// must differ between encodings, so each encoding has a different ETag.
func (t *Text) Serve(w http.ResponseWriter, accept, ifNoneMatch string) error {
	f, err := t.forms()
	if err != nil {
		return err
	}
	encoding := f.choose(accept)
	h := w.Header()
	h.Set("ETag", f.tag(encoding))
	h.Set("Cache-Control", t.cache)
	h.Set("Vary", "Accept-Encoding")
	if f.matches(ifNoneMatch) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("Content-Type", t.kind)
	h.Set("Content-Length", strconv.Itoa(len(f.by[encoding])))
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(f.by[encoding])
	return err
}

// tag returns the ETag of the text in an encoding.
func (f forms) tag(encoding string) string {
	if encoding == "" {
		return `"` + f.etag + `"`
	}
	return `"` + f.etag + "-" + encoding + `"`
}

// matches reports whether an If-None-Match header names one of the ETags. RFC 9110
// requires a weak comparison.
func (f forms) matches(header string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == "*" {
			return true
		}
		for encoding := range f.by {
			if tag == f.tag(encoding) {
				return true
			}
		}
	}
	return false
}

// choose returns the encoding of the text with the highest weight in an Accept-Encoding
// header, or "" for the uncompressed text. If zstd and gzip have the same weight, it
// returns zstd, because zstd is smaller.
func (f forms) choose(header string) string {
	best, most := "", 0.0
	for item := range strings.SplitSeq(header, ",") {
		name, weight := coding(item)
		if _, ok := f.by[name]; ok && name != "" && (weight > most || weight == most && weight > 0 && name == "zstd") {
			best, most = name, weight
		}
	}
	return best
}

// coding returns the name and weight of one item of an Accept-Encoding header. The
// weight 0 means "not acceptable". An invalid weight is 0.
func coding(item string) (name string, weight float64) {
	name, parameter, found := strings.Cut(item, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if !found {
		return name, 1
	}
	q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q=")
	weight, err := strconv.ParseFloat(q, 64)
	if !ok || err != nil || weight < 0 || weight > 1 {
		return name, 0
	}
	return name, weight
}

// accepts is the context key of the header.
type accepts struct{}

// Accepting returns a context with the Accept-Encoding header of a request, for handlers
// that do not receive the request.
func Accepting(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, accepts{}, header)
}

// Accepted returns the header that Accepting stored in ctx, or "".
func Accepted(ctx context.Context) string {
	header, _ := ctx.Value(accepts{}).(string)
	return header
}
