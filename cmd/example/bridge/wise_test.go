package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// fakeWise answers the calls of the bridge as Wise's documentation says. It has one balance.
type fakeWise struct {
	url string

	mu        sync.Mutex
	balance   json.Number
	calls     int
	lost      string // the next call whose path has this end does its work and gets no answer
	quotes    map[string]M
	accounts  map[int]M
	transfers []M
	payments  int
}

func newFakeWise(t *testing.T) *fakeWise {
	t.Helper()
	f := &fakeWise{quotes: map[string]M{}, accounts: map[int]M{}}
	mux := http.NewServeMux()
	for pattern, work := range map[string]func(r *http.Request, body M) (int, M){
		"POST /v3/profiles/7/quotes":                  f.quote,
		"POST /v1/accounts":                           f.account,
		"POST /v1/transfers":                          f.transfer,
		"GET /v1/transfers/{id}":                      f.show,
		"POST /v3/profiles/7/transfers/{id}/payments": f.pay,
	} {
		mux.HandleFunc(pattern, f.handle(work))
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fakeWise) handle(work func(*http.Request, M) (int, M)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer wise-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body := M{}
		if r.Method == http.MethodPost {
			d := json.NewDecoder(r.Body)
			d.UseNumber()
			if d.Decode(&body) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		f.mu.Lock()
		f.calls++
		status, answer := work(r, body)
		lost := f.lost != "" && strings.HasSuffix(r.URL.Path, f.lost)
		if lost {
			f.lost = ""
		}
		raw, _ := json.Marshal(answer)
		f.mu.Unlock()
		if lost {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(raw)
	}
}

// refused is an answer without success.
func refused(code string) (int, M) {
	return http.StatusUnprocessableEntity, M{"errors": []M{{"code": code}}}
}

func (f *fakeWise) quote(_ *http.Request, body M) (int, M) {
	if body["sourceCurrency"] != body["targetCurrency"] || body["targetAmount"] == nil {
		return refused("quote")
	}
	id := uuid.NewString()
	f.quotes[id] = M{"id": id, "status": "PENDING", "targetAmount": body["targetAmount"], "targetCurrency": body["targetCurrency"]}
	return http.StatusOK, f.quotes[id]
}

func (f *fakeWise) account(_ *http.Request, body M) (int, M) {
	details, _ := body["details"].(map[string]any)
	if body["profile"] != json.Number("7") || body["type"] != "email" || body["accountHolderName"] == "" || details["email"] == "" {
		return refused("recipient")
	}
	id := 13_000_000 + len(f.accounts)
	f.accounts[id] = M{"id": id, "currency": body["currency"], "details": M{"email": details["email"], "reference": nil}}
	return http.StatusOK, f.accounts[id]
}

func (f *fakeWise) transfer(_ *http.Request, body M) (int, M) {
	key, err := uuid.Parse(fmt.Sprint(body["customerTransactionId"]))
	if err != nil {
		return refused("customerTransactionId")
	}
	for _, t := range f.transfers {
		if t["customerTransactionId"] == key.String() {
			return http.StatusOK, t
		}
	}
	quote := f.quotes[fmt.Sprint(body["quoteUuid"])]
	var account int
	_, _ = fmt.Sscan(fmt.Sprint(body["targetAccount"]), &account)
	if quote == nil || f.accounts[account]["currency"] != quote["targetCurrency"] {
		return refused("transfer")
	}
	t := M{
		"id": 500 + len(f.transfers), "status": unfunded, "customerTransactionId": key.String(), "details": body["details"],
		"targetValue": quote["targetAmount"], "targetCurrency": quote["targetCurrency"],
		"to": f.accounts[account]["details"].(M)["email"],
	}
	f.transfers = append(f.transfers, t)
	return http.StatusOK, t
}

func (f *fakeWise) find(r *http.Request) M {
	for _, t := range f.transfers {
		if fmt.Sprint(t["id"]) == r.PathValue("id") {
			return t
		}
	}
	return nil
}

func (f *fakeWise) show(r *http.Request, _ M) (int, M) {
	if t := f.find(r); t != nil {
		return http.StatusOK, t
	}
	return http.StatusNotFound, M{}
}

func (f *fakeWise) pay(r *http.Request, body M) (int, M) {
	t := f.find(r)
	if t == nil || body["type"] != "BALANCE" || t["status"] != unfunded {
		return refused("payment")
	}
	balance, _ := f.balance.Float64()
	if value, _ := t["targetValue"].(json.Number).Float64(); balance < value {
		return http.StatusCreated, M{"type": "BALANCE", "status": "REJECTED", "errorCode": noFunds}
	}
	f.payments++
	t["status"] = "processing"
	return http.StatusCreated, M{"type": "BALANCE", "status": "COMPLETED", "errorCode": nil}
}

// set changes the fake between requests.
func (f *fakeWise) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// only returns a copy of the only transfer.
func (f *fakeWise) only(t testing.TB) M {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.transfers, 1)
	return maps.Clone(f.transfers[0])
}
