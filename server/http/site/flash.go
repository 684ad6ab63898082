package site

import (
	"encoding/base64"
	"time"
)

const (
	flashAge = time.Minute
	maxFlash = 1000 // bytes of a notice
)

// SetNotice stores a sentence in the flash cookie, for the next page.
func (v *Visit) SetNotice(text string) {
	if len(text) > maxFlash {
		text = text[:maxFlash]
	}
	v.site.Flash.Set(v, base64.RawURLEncoding.EncodeToString([]byte(text)), flashAge)
}

// Notice returns the sentence that the previous page stored, and clears it; "" for none.
func (v *Visit) Notice() string {
	sent := v.site.Flash.Value(v)
	if sent == "" {
		return ""
	}
	v.site.Flash.Clear(v)
	text, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil {
		return ""
	}
	return plain(string(text))
}
