package paypaltest

import (
	"maps"
	"slices"
)

// Payment is the money for one sender_item_id with one amount and one receiver. Two payments of an id differ in
// amount, currency or receiver.
type Payment struct {
	SenderItemID string
	Receiver     string
	Currency     string
	Value        string
	Minor        int64
	// Accepted is the number of accepted items, Count the number of payments that the receiver has, Open the number
	// of items that are pending, unclaimed or on hold.
	Accepted, Count, Open int
}

// Paid returns the payments of all accepted items, by sender_item_id. Money that came back does not count.
func (s *Server) Paid() []Payment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var out []Payment
	for _, id := range slices.Sorted(maps.Keys(s.sent)) {
		begin := len(out)
		for _, it := range s.sent[id] {
			n := slices.IndexFunc(out[begin:], it.belongsTo)
			if n < 0 {
				n = len(out) - begin
				out = append(out, it.payment())
			}
			out[begin+n].add(it.status)
		}
	}
	return out
}

func (it *item) belongsTo(p Payment) bool {
	return Money{p.Currency, p.Value} == it.request.Amount && p.Receiver == it.request.Receiver
}

func (it *item) payment() Payment {
	return Payment{
		SenderItemID: it.request.SenderItemID,
		Receiver:     it.request.Receiver,
		Currency:     it.request.Amount.Currency,
		Value:        it.request.Amount.Value,
		Minor:        it.minor,
	}
}

func (p *Payment) add(status Status) {
	p.Accepted++
	switch {
	case status == Success:
		p.Count++
	case !status.back():
		p.Open++
	}
}

// Item is the record of an accepted item.
type Item struct {
	SenderItemID  string
	SenderBatchID string
	BatchID       string
	ItemID        string
	BatchStatus   BatchStatus
	Status        Status
	Code          string   // the error, if there is one
	History       []Status // from Pending to Status
	Fee           Money
	// Settled is true if no further change is planned.
	Settled bool
}

// Items returns the accepted items with a sender_item_id, in the order of acceptance.
func (s *Server) Items(senderItemID string) []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var out []Item
	for _, it := range s.sent[senderItemID] {
		record := Item{
			SenderItemID:  senderItemID,
			SenderBatchID: it.batch.header.SenderBatchID,
			BatchID:       it.batch.id,
			ItemID:        it.id,
			BatchStatus:   it.batch.status,
			Status:        it.status,
			History:       slices.Clone(it.history),
			Fee:           it.fee,
			Settled:       it.status != Pending && len(it.fate) == 0,
		}
		if it.err != nil {
			record.Code = it.err.Name
		}
		out = append(out, record)
	}
	return out
}

// States returns the state of the last accepted item of each sender_item_id.
func (s *Server) States() map[string]Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	out := map[string]Status{}
	for id, sent := range s.sent {
		out[id] = sent[len(sent)-1].status
	}
	return out
}
