package middleware

import (
	"fmt"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"rail/server/http/docs/static"
)

// Compress sends what h answers in gzip or zstd to those who accept it, from 1 kB on
// and at the fastest level: some 60 microseconds for a list of 20, of which a fifth is
// left. What is compressed already (package static) passes as it is.
//
// The length of an answer with a secret beside text of an attacker's choice can
// give the secret away, letter by letter (BREACH). It takes a secret that stays the
// same, and a victim who asks for the answer again and again. Pages of the portal are
// such answers; they mask the token of their forms anew each time. Secrets of the API
// and of sign-in links are shown in one answer, the one that makes them.
func Compress(h http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(static.MinPacked), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.SetContentType(false))
	if err != nil {
		return nil, fmt.Errorf("compression: %w", err)
	}
	return wrap(h), nil
}
