package site

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
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
	got, err := base64.RawURLEncoding.DecodeString(token)
	sum := g.sum(session)
	if err != nil || len(got) != 2*len(sum) {
		return false
	}
	for i, mask := range got[:len(sum)] {
		got[len(sum)+i] ^= mask
	}
	return hmac.Equal(got[len(sum):], sum)
}

// sum derives the form's token from the session's. It is a keyed hash: a page's source reveals nothing of the cookie.
func (g Guard) sum(session string) []byte {
	m := hmac.New(sha256.New, []byte(session))
	m.Write([]byte(g.Purpose))
	return m.Sum(nil)
}
