package verify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/webhook"
	"rail/server/outbound/webhook/vectors"
	"rail/server/outbound/webhook/verify"
)

const (
	secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	other  = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
	body   = `{"id":"evt_1","note":"zoë & <co>"}`
)

var at = time.Unix(1767225600, 0)

func TestSignature(t *testing.T) {
	good := webhook.RailSignature(at, []byte(body), secret)
	v1 := good[strings.Index(good, "v1="):]
	foreign := webhook.RailSignature(at, []byte(body), other)
	for _, c := range []struct {
		name   string
		header []string
		body   string
		now    time.Time
		ok     bool
	}{
		{"as sent", []string{good}, body, at, true},
		{"two, new first", []string{webhook.RailSignature(at, []byte(body), other, secret)}, body, at, true},
		{"unknown pairs", []string{good + ",x=1,v0=2"}, body, at, true},
		{"upper-case hex", []string{"t=1767225600,v1=" + strings.ToUpper(v1[3:])}, body, at, true},
		{"any order", []string{v1 + ",t=1767225600"}, body, at, true},
		{"a space after the comma", []string{"t=1767225600, " + v1}, body, at, true},
		{"299 s late", []string{good}, body, at.Add(299 * time.Second), true},
		{"300 s early", []string{good}, body, at.Add(-300 * time.Second), true},
		{"301 s late", []string{good}, body, at.Add(301 * time.Second), false},
		{"301 s early", []string{good}, body, at.Add(-301 * time.Second), false},
		{"a byte changed", []string{good}, strings.Replace(body, "1", "2", 1), at, false},
		{"a newline more", []string{good}, body + "\n", at, false},
		{"no body", []string{good}, "", at, false},
		{"t changed", []string{strings.Replace(good, "600,", "601,", 1)}, body, at, false},
		{"another secret's", []string{foreign}, body, at, false},
		{"cut to 63", []string{good[:len(good)-1]}, body, at, false},
		{"65 digits", []string{good + "0"}, body, at, false},
		{"empty v1", []string{"t=1767225600,v1="}, body, at, false},
		{"v0 only", []string{strings.Replace(good, "v1", "v0", 1)}, body, at, false},
		{"no t", []string{v1}, body, at, false},
		{"two t", []string{good + ",t=1"}, body, at, false},
		{"t twice", []string{good + ",t=1767225600"}, body, at, false},
		{"empty", []string{""}, body, at, false},
		{"none", nil, body, at, false},
		{"twice", []string{good, good}, body, at, false},
		{"no comma", []string{"t=1767225600" + v1}, body, at, false},
		{"a NUL", []string{"t=1767225600\x00," + v1}, body, at, false},
		{"t with a space", []string{"t= 1767225600," + v1}, body, at, false},
		{"t negative", []string{"t=-1," + v1}, body, at, false},
		{"t too long", []string{"t=99999999999999999999," + v1}, body, at, false},
	} {
		h := http.Header{"Rail-Signature": c.header}
		require.Equal(t, c.ok, verify.Signature(h, []byte(c.body), secret, c.now) == nil, c.name)
	}
}

func TestHostile(t *testing.T) {
	for _, header := range vectors.Hostile(at, uint64(time.Now().UnixNano()), 10_000) {
		require.Error(t, verify.Signature(http.Header{"Rail-Signature": {header}}, []byte(body), secret, at), "%q", header)
	}
}

func TestStandard(t *testing.T) {
	signature := webhook.StandardSignature("evt_1", at, []byte(body), secret)
	headers := func(id, when, signature string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", when)
		h.Set("webhook-signature", signature)
		return h
	}
	for _, c := range []struct {
		name string
		h    http.Header
		ok   bool
	}{
		{"as sent", headers("evt_1", "1767225600", signature), true},
		{
			"rotated", headers("evt_1", "1767225600", webhook.StandardSignature("evt_1", at, []byte(body), other, secret)), true,
		},
		{"id changed", headers("evt_2", "1767225600", signature), false},
		{"time changed", headers("evt_1", "1767225601", signature), false},
		{"time with a space", headers("evt_1", " 1767225600", signature), false},
		{"v1a", headers("evt_1", "1767225600", strings.Replace(signature, "v1", "v1a", 1)), false},
		{"unpadded", headers("evt_1", "1767225600", strings.TrimRight(signature, "=")), false},
		{
			"url alphabet", headers("evt_1", "1767225600", strings.NewReplacer("+", "-", "/", "_").Replace(signature)+"x"),
			false,
		},
		{"none", http.Header{}, false},
	} {
		require.Equal(t, c.ok, verify.Standard(c.h, []byte(body), secret, at) == nil, c.name)
	}
}

func ExampleSignature() {
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || verify.Signature(r.Header, sent, secret, at) != nil {
			http.Error(w, "bad signature", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body))
	r.Header.Set("Rail-Signature", webhook.RailSignature(at, []byte(body), secret))
	w := httptest.NewRecorder()
	receiver.ServeHTTP(w, r)
	fmt.Println(w.Code)
	// Output: 204
}

func ExampleStandard() {
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", "1767225600")
	h.Set("webhook-signature", webhook.StandardSignature("evt_1", at, []byte(body), secret))
	fmt.Println(verify.Standard(h, []byte(body), secret, at))
	// Output: <nil>
}
