package portal

import (
	"net/http"
	"strconv"
	"strings"

	"rsc.io/qr"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/program/tracking"
)

// quiet is the width of the zone around a code, in its squares.
const quiet = 4

// qrPicture answers with the code of a link as a picture of lines, for pages and for print.
func qrPicture(v *visit) error {
	code, err := v.code()
	if err != nil {
		return err
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	return v.Blob(http.StatusOK, "image/svg+xml", []byte(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `+side+` `+side+`"><path fill="#fff" d="M0 0h`+side+`v`+side+`H0z"/>`+
			`<path d="`+modules(code)+`"/></svg>`))
}

// modules returns the black squares of a code as the path of an SVG, with the quiet zone around them.
func modules(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				path.WriteString("M" + strconv.Itoa(x+quiet) + " " + strconv.Itoa(y+quiet) + "h1v1h-1z")
			}
		}
	}
	return path.String()
}

// qrFile answers with the same of dots, to keep.
func qrFile(v *visit) error {
	code, err := v.code()
	if err != nil {
		return err
	}
	return site.SendFile(v, "qr.png", "image/png", code.PNG())
}

// code returns the QR code of the link in the address; own is the partner's default link.
func (v *visit) code() (*qr.Code, error) {
	address, err := v.linkAddress(v.QueryParam("link"))
	if err != nil {
		return nil, err
	}
	return qr.Encode(address, qr.M)
}

// linkAddress is where a link of the partner leads.
func (v *visit) linkAddress(id string) (string, error) {
	if id == "own" {
		return v.ownLink()
	}
	l, err := v.link(id)
	return tracking.Readable(tracking.URL(l.DestinationURL, l.Param, l.Value)), err
}

// link returns one of the partner's links. Another partner's link is a 404.
func (v *visit) link(id string) (db.Link, error) {
	l, err := queries.LinkGet(v.Ctx(), v.portal.Pool, db.LinkGetParams{ID: id, OrgID: v.partner.OrgID})
	if err == nil && l.PartnerID != v.partner.ID {
		err = problem.NotFound("")
	}
	return l, err
}
