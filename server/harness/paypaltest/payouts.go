package paypaltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// guardFor is the time in which a repeated sender_batch_id is refused.
	guardFor = 30 * 24 * time.Hour
	// pendingFor is the time until a batch is processed.
	pendingFor = 30 * time.Second
	// mostOnPage is the most items of a page, and the number if a request has none.
	mostOnPage = 1000
)

// BatchStatus is the state of a batch.
type BatchStatus string

// The states of a batch.
const (
	BatchPending    BatchStatus = "PENDING"
	BatchProcessing BatchStatus = "PROCESSING"
	BatchSuccess    BatchStatus = "SUCCESS"
	BatchDenied     BatchStatus = "DENIED"
	BatchCanceled   BatchStatus = "CANCELED"
)

// submission is the body of a request that creates a batch.
type submission struct {
	Header senderHeader  `json:"sender_batch_header"`
	Items  []itemRequest `json:"items"`
}

type senderHeader struct {
	SenderBatchID string `json:"sender_batch_id,omitempty"`
	RecipientType string `json:"recipient_type,omitempty"`
	EmailSubject  string `json:"email_subject,omitempty"`
	EmailMessage  string `json:"email_message,omitempty"`
	Note          string `json:"note,omitempty"`
}

// A batch is an accepted submission.
type batch struct {
	id        string
	header    senderHeader
	status    BatchStatus
	created   time.Time
	completed time.Time
	items     []*item
}

// submit accepts or refuses a batch.
func (s *Server) submit(r *http.Request, body []byte) answer {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	}
	if a, ok := s.limited(); ok {
		return a
	}
	sub, refused := parse(body)
	if refused != nil {
		return *refused
	}
	if b := s.latest[sub.Header.SenderBatchID]; b != nil && s.now().Before(b.created.Add(guardFor)) {
		return s.repeated(b)
	}
	if s.refusal != nil {
		return *s.refusal
	}
	if !s.afford(sub.Items) {
		return fail(http.StatusUnprocessableEntity, "INSUFFICIENT_FUNDS")
	}
	b := s.accept(sub)
	return answer{status: http.StatusCreated, body: map[string]any{
		"batch_header": map[string]any{
			"payout_batch_id":     b.id,
			"batch_status":        b.status,
			"time_created":        stamp(b.created),
			"sender_batch_header": b.header,
		},
		"links": []link{s.link("self", b.path())},
	}}
}

// limited counts a submission, and throttles it beyond the limit of the minute.
func (s *Server) limited() (answer, bool) {
	minute := s.now().Unix() / 60
	if s.posts[minute] == 0 {
		clear(s.posts)
	}
	s.posts[minute]++
	if most := s.config.PostsPerMinute; most == 0 || s.posts[minute] <= most {
		return answer{}, false
	}
	return throttled(time.Duration(60-s.now().Unix()%60) * time.Second), true
}

// repeated refuses a sender_batch_id that batch b has, with the link to it.
func (s *Server) repeated(b *batch) answer {
	d := detail{
		Field:    "SENDER_BATCH_ID",
		Location: "body",
		Issue:    "Batch with given sender_batch_id already exists",
		Link:     []link{s.link("self", b.path())},
	}
	if s.chance(s.config.Plan.HideLink, "hide link", b.header.SenderBatchID) {
		d.Link = nil
	}
	return fail(http.StatusBadRequest, "USER_BUSINESS_ERROR", d)
}

// accept books a batch and plans its states.
func (s *Server) accept(sub submission) *batch {
	key := sub.Header.SenderBatchID
	b := &batch{header: sub.Header, status: BatchPending, created: s.now()}
	if key == "" {
		b.id = s.next(13, "batch")
	} else {
		s.draws["batch "+key]++
		b.id = s.id(13, "batch", s.nameOf(key), s.draws["batch "+key])
		s.latest[key] = b
	}
	s.batches[b.id] = b
	for n, request := range sub.Items {
		s.acceptItem(b, n, request)
	}
	end, ended := s.ends[key]
	delete(s.ends, key)
	if !ended && s.chance(s.config.Plan.Deny, "deny", key) {
		end, ended = BatchDenied, true
	}
	if ended {
		s.due.plan(b.created.Add(pendingFor), func(at time.Time) { s.end(b, end, at) })
		return b
	}
	s.process(b)
	return b
}

// process plans the processing of a batch and of its items. An item that is due earlier than usual starts the
// processing.
func (s *Server) process(b *batch) {
	wait := pendingFor
	for _, it := range b.items {
		wait = min(wait, it.fate[0].After)
	}
	s.due.plan(b.created.Add(wait), func(at time.Time) {
		if b.status != BatchPending {
			return
		}
		b.status = BatchProcessing
		s.notifyBatch(b, "PROCESSING", at)
	})
	for _, it := range b.items {
		s.planStep(it, b.created)
	}
}

// end denies or cancels a batch whose items are not processed. Its money comes back.
func (s *Server) end(b *batch, status BatchStatus, at time.Time) bool {
	if b.status != BatchPending && b.status != BatchProcessing {
		return false
	}
	b.status, b.completed = status, at
	for _, it := range b.items {
		s.deny(it, at)
	}
	if status == BatchDenied {
		s.notifyBatch(b, "DENIED", at)
	}
	return true
}

// finish completes a batch without pending items.
func (s *Server) finish(b *batch, at time.Time) {
	if b.status != BatchProcessing || slices.ContainsFunc(b.items, func(it *item) bool { return it.status == Pending }) {
		return
	}
	b.status, b.completed = BatchSuccess, at
	failed := !slices.ContainsFunc(b.items, func(it *item) bool { return it.status != Failed })
	if failed && s.chance(s.config.Plan.FailDenies, "fail denies", b.id) {
		b.status = BatchDenied
	}
	s.notifyBatch(b, string(b.status), at)
}

func (b *batch) path() string { return "/v1/payments/payouts/" + b.id }

// headerOf returns the header of a batch as a poll or an event shows it.
func (s *Server) headerOf(b *batch) map[string]any {
	currency, total := b.items[0].request.Amount.Currency, int64(0)
	fee, fees := s.config.FeeCurrency, int64(0)
	for _, it := range b.items {
		if it.request.Amount.Currency == currency {
			total += it.minor
		}
		if it.fee.Currency == fee {
			n, _ := it.fee.minor()
			fees += n
		}
	}
	header := map[string]any{
		"payout_batch_id":     b.id,
		"batch_status":        b.status,
		"time_created":        stamp(b.created),
		"sender_batch_header": b.header,
		"funding_source":      "BALANCE",
		"amount":              money(currency, total),
		"fees":                money(fee, fees),
	}
	if !b.completed.IsZero() {
		header["time_completed"] = stamp(b.completed)
	}
	return header
}

// showBatch returns a page of a batch.
func (s *Server) showBatch(r *http.Request, _ []byte) answer {
	b := s.batches[r.PathValue("id")]
	if b == nil {
		return unknownID()
	}
	var faults faultList
	page := max(1, number(r.URL.Query(), "page", 1, &faults))
	size := number(r.URL.Query(), "page_size", mostOnPage, &faults)
	if size == 0 {
		size = mostOnPage
	}
	if faults != nil {
		return invalid(faults...)
	}
	pages := (len(b.items) + size - 1) / size
	from := min((page-1)*size, len(b.items))
	items := []any{}
	for _, it := range b.items[from:min(from+size, len(b.items))] {
		if b.status != BatchPending {
			items = append(items, s.show(it, false))
		}
	}
	body := map[string]any{"batch_header": s.headerOf(b), "items": items, "links": s.pageLinks(b, page, pages, size)}
	if r.URL.Query().Get("total_required") == "true" {
		body["total_items"], body["total_pages"] = len(b.items), pages
	}
	return answer{status: http.StatusOK, body: selected(body, r.URL.Query().Get("fields"))}
}

func (s *Server) pageLinks(b *batch, page, pages, size int) []link {
	to := func(rel string, page int) link {
		return s.link(rel, fmt.Sprintf("%s?page_size=%d&page=%d", b.path(), size, page))
	}
	links := []link{to("self", page)}
	if page < pages {
		links = append(links, to("next", page+1), to("last", pages))
	}
	if page > 1 {
		links = append(links, to("first", 1), to("prev", page-1))
	}
	return links
}

// selected returns the members of a body that the parameter fields names.
func selected(body map[string]any, fields string) map[string]any {
	if fields == "" {
		return body
	}
	var names []string
	for path := range strings.SplitSeq(fields, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(path), ".")
		names = append(names, name)
	}
	maps.DeleteFunc(body, func(name string, _ any) bool { return !slices.Contains(names, name) })
	return body
}

// number returns a parameter from 0 to 1,000.
func number(query url.Values, name string, otherwise int, faults *faultList) int {
	if !query.Has(name) {
		return otherwise
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < 0 || n > 1000 {
		*faults = append(*faults, detail{Field: name, Location: "query", Issue: "Must be an integer from 0 to 1000"})
		return otherwise
	}
	return n
}

// encode returns a body as JSON.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
