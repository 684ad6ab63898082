package site

import (
	"encoding/base64"
	"net/url"
	"strings"
	"time"
)

const (
	flashAge = time.Minute
	maxFlash = 1000 // bytes of a notice
	// maxUndo is the size of a form in a notice, in bytes: a cookie has at most 4,096 in all.
	maxUndo = 1800
)

// Undo is a form in a notice, which undoes what the notice says. Path is its action; "" is none.
type Undo struct {
	Path   string
	Fields url.Values
}

// SetNotice stores a sentence in the flash cookie, for the next page.
func (v *Visit) SetNotice(text string) { v.SetUndo(text, Undo{}) }

// SetUndo stores a sentence for the next page, with a form that undoes it. A form that is too large for the cookie is
// left out.
func (v *Visit) SetUndo(text string, undo Undo) {
	if len(text) > maxFlash {
		text = text[:maxFlash]
	}
	if fields := undo.Fields.Encode(); undo.Path != "" && len(undo.Path)+len(fields) <= maxUndo {
		text += "\x00" + undo.Path + "\x00" + fields
	}
	v.site.Flash.Set(v, base64.RawURLEncoding.EncodeToString([]byte(text)), flashAge)
}

// Notice returns the sentence that the previous page stored, and clears it; "" for none.
func (v *Visit) Notice() string {
	text, _ := v.TakeUndo()
	return text
}

// TakeUndo returns the sentence that the previous page stored with its form, and clears them.
func (v *Visit) TakeUndo() (string, Undo) {
	sent := v.site.Flash.Value(v)
	if sent == "" {
		return "", Undo{}
	}
	v.site.Flash.Clear(v)
	stored, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil {
		return "", Undo{}
	}
	text, form, _ := strings.Cut(string(stored), "\x00")
	path, query, _ := strings.Cut(form, "\x00")
	fields, err := url.ParseQuery(query)
	// Others can set cookies of a shared domain: the form, which has the session's token, stays within the site.
	if err != nil || !strings.HasPrefix(path, v.site.Path+"/") {
		return plain(text), Undo{}
	}
	return plain(text), Undo{path, fields}
}
