package mail

import (
	"rail/gen/db"
	"rail/server/clock"
)

// Start is the time of the tests.
var Start = start

// Page returns the HTML of a program's mail, or of a mail of Rail without a reader.
func Page(base string, m Message, reader *db.MailReaderRow) (string, error) {
	s := Sender{Name: "Rail", BaseURL: base}
	html, _, err := s.layout().both(s.content(stored(m), reader, m.Values), reader)
	return html, err
}

// BulkPage returns the HTML of a campaign's mail.
func BulkPage(base, subject, markdown string, reader *db.MailReaderRow, values Values) (string, error) {
	s := Sender{Name: "Rail", BaseURL: base}
	m := db.Mail{Subject: subject, Body: markdown, PartnerID: new("part_1"), CreatedAt: clock.Time{}}
	html, _, err := s.layout().both(s.content(m, reader, values), reader)
	return html, err
}
