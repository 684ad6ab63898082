package portalsettings

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"rail/server/problem"
)

// MaxLogoBytes is the maximum size of a logo.
const MaxLogoBytes = 200_000

// image is a decoded logo.
type image struct {
	kind, version string
	body          []byte
}

// readLogo decodes an image of a body. Its bytes determine the media type, not the caller, since browsers are
// told to trust ours.
func readLogo(data string) (image, error) {
	body, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return image{}, problem.Invalid("logo.data", "logo.data must be base64.")
	}
	if len(body) > MaxLogoBytes {
		return image{}, problem.Invalid("logo.data", "The logo has %d bytes; the maximum is %d.", len(body), MaxLogoBytes)
	}
	kind := kindOf(body)
	if kind == "" {
		return image{}, problem.Invalid("logo.data", "The logo must be an image: PNG, JPEG, WebP or GIF.")
	}
	sum := sha256.Sum256(body)
	return image{kind, hex.EncodeToString(sum[:8]), body}, nil
}

// kindOf returns the media type of an image, "" for anything else.
func kindOf(body []byte) string {
	begins := func(mark string) bool { return bytes.HasPrefix(body, []byte(mark)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(body) > 12 && string(body[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
