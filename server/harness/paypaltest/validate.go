package paypaltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// decimals has the number of decimals of each currency of payouts.
var decimals = map[string]int{
	"AUD": 2, "BRL": 2, "CAD": 2, "CHF": 2, "CZK": 2, "DKK": 2, "EUR": 2, "GBP": 2, "HKD": 2, "HUF": 0, "ILS": 2,
	"JPY": 0, "MXN": 2, "MYR": 2, "NOK": 2, "NZD": 2, "PHP": 2, "PLN": 2, "SEK": 2, "SGD": 2, "THB": 2, "TWD": 0,
	"USD": 2,
}

// inCountry has the currencies that only accounts of their country can pay.
var inCountry = []string{"BRL", "MYR"}

// A rule describes a member of a request. A rule without members and each is of text.
type rule struct {
	required    bool
	least, most int // characters, or elements; a most of 0 is no limit
	pattern     *regexp.Regexp
	values      []string
	members     map[string]rule
	each        *rule
}

var recipientTypes = []string{"EMAIL", "PHONE", "PAYPAL_ID", "USER_HANDLE"}

var phone = rule{members: map[string]rule{
	"country_code":     {required: true, pattern: regexp.MustCompile(`^[0-9]{1,3}$`)},
	"national_number":  {required: true, pattern: regexp.MustCompile(`^[0-9]{1,14}$`)},
	"extension_number": {pattern: regexp.MustCompile(`^[0-9]{1,15}$`)},
}}

var payoutItem = rule{members: map[string]rule{
	"recipient_type": {values: recipientTypes},
	"amount": {required: true, members: map[string]rule{
		"currency": {required: true, values: slices.Sorted(maps.Keys(decimals))},
		"value":    {required: true, least: 1},
	}},
	"note":                          {most: 4000},
	"receiver":                      {required: true, least: 1, most: 127},
	"sender_item_id":                {most: 63},
	"recipient_wallet":              {values: []string{"PAYPAL", "VENMO", "RECIPIENT_SELECTED"}},
	"alternate_notification_method": {members: map[string]rule{"phone": phone}},
	"notification_language": {
		least:   2,
		most:    10,
		pattern: regexp.MustCompile(`^[a-z]{2}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}))?$`),
	},
	"application_context": {members: map[string]rule{
		"social_feed_privacy": {least: 1, most: 15},
		"holler_url":          {least: 1, most: 1000},
		"logo_url":            {most: 1000},
	}},
	"purpose": {values: []string{
		"AWARDS", "PRIZES", "DONATIONS", "GOODS", "SERVICES", "REBATES", "CASHBACK", "DISCOUNTS", "NON_GOODS_OR_SERVICES",
	}},
}}

var createPayout = rule{members: map[string]rule{
	"sender_batch_header": {required: true, members: map[string]rule{
		"sender_batch_id": {most: 256},
		"recipient_type":  {values: recipientTypes},
		"email_subject":   {most: 255},
		"email_message":   {most: 1000},
		"note":            {most: 1000},
	}},
	"items": {required: true, least: 1, most: 15000, each: &payoutItem},
}}

// A fault list has the details of a VALIDATION_ERROR.
type faultList []detail

func (l *faultList) add(field, issue string) {
	*l = append(*l, detail{Field: strings.TrimPrefix(field, "."), Location: "body", Issue: issue})
}

// check adds the faults of a value.
func (r rule) check(field string, v any, faults *faultList) {
	switch {
	case r.members != nil:
		r.checkObject(field, v, faults)
	case r.each != nil:
		list, ok := v.([]any)
		if !ok || len(list) < r.least || len(list) > r.most {
			faults.add(field, fmt.Sprintf("Must have %d to %d elements", r.least, r.most))
			return
		}
		for i, element := range list {
			r.each.check(fmt.Sprintf("%s[%d]", field, i), element, faults)
		}
	default:
		r.checkText(field, v, faults)
	}
}

func (r rule) checkObject(field string, v any, faults *faultList) {
	object, ok := v.(map[string]any)
	if !ok {
		faults.add(field, "Must be an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, expected := r.members[name]; !expected {
			faults.add(field+"."+name, "Unknown field")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.members)) {
		member := r.members[name]
		value, present := object[name]
		switch {
		case present:
			member.check(field+"."+name, value, faults)
		case member.required:
			faults.add(field+"."+name, "Required field missing")
		}
	}
}

func (r rule) checkText(field string, v any, faults *faultList) {
	text, ok := v.(string)
	length := utf8.RuneCountInString(text)
	switch {
	case !ok:
		faults.add(field, "Must be a string")
	case length < r.least, r.most > 0 && length > r.most:
		faults.add(field, fmt.Sprintf("Length must be %d to %d", r.least, r.most))
	case r.pattern != nil && !r.pattern.MatchString(text), r.values != nil && !slices.Contains(r.values, text):
		faults.add(field, "Invalid value")
	}
}

// parse reads a submission, or returns the answer that refuses it.
func parse(body []byte) (submission, *answer) {
	var raw any
	var sub submission
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&raw) != nil || decoder.More() {
		return sub, new(fail(http.StatusBadRequest, "MALFORMED_REQUEST"))
	}
	var faults faultList
	if createPayout.check("", raw, &faults); faults != nil {
		return sub, new(invalid(faults...))
	}
	if err := json.Unmarshal(body, &sub); err != nil {
		return sub, new(fail(http.StatusBadRequest, "MALFORMED_REQUEST"))
	}
	for i := range sub.Items {
		sub.Items[i].complete(sub.Header)
		sub.Items[i].check(fmt.Sprintf("items[%d]", i), sub.Header, &faults)
	}
	if faults != nil {
		return sub, new(invalid(faults...))
	}
	for _, it := range sub.Items {
		if slices.Contains(inCountry, it.Amount.Currency) {
			return sub, new(fail(http.StatusBadRequest, "NON_HOLDING_CURRENCY"))
		}
	}
	return sub, nil
}

var (
	phoneNumber = regexp.MustCompile(`^\+?[0-9][0-9 .()-]{4,}$`)
	paypalID    = regexp.MustCompile(`^[A-Z0-9]{13}$`)
)

// check adds the faults of an item that concern several members.
func (it itemRequest) check(field string, header senderHeader, faults *faultList) {
	if _, ok := it.Amount.minor(); !ok {
		faults.add(field+".amount.value", "Amount must be positive, with the decimals of its currency")
	}
	if it.RecipientType == "" {
		faults.add(field+".recipient_type", "Required field missing")
	} else if !it.reachable() {
		faults.add(field+".receiver", "Receiver is invalid or does not match with type")
	}
	texts, length := 0, 0
	for _, text := range []string{header.Note, header.EmailMessage, it.Note} {
		if text != "" {
			texts++
			length += utf8.RuneCountInString(text)
		}
	}
	if length > 1000 && (texts > 1 || len(it.Note) > utf8.RuneCountInString(it.Note)) {
		faults.add(field+".note", "Note and message are longer than 1000 characters")
	}
	if it.RecipientWallet == "VENMO" && it.Note == "" {
		faults.add(field+".note", "Required field missing")
	}
}

// reachable reports whether the receiver has the form of its type.
func (it itemRequest) reachable() bool {
	switch it.RecipientType {
	case "EMAIL":
		address, err := mail.ParseAddress(it.Receiver)
		return err == nil && address.Address == it.Receiver
	case "PHONE":
		return phoneNumber.MatchString(it.Receiver)
	case "PAYPAL_ID":
		return paypalID.MatchString(it.Receiver)
	}
	return true
}
