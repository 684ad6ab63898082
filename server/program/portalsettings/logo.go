package portalsettings

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"rail/server/problem"
)

// LogoMost is the largest logo, in bytes.
const LogoMost = 200_000

// image is a logo that was read.
type image struct {
	kind, version string
	body          []byte
}

// readLogo reads an image of the body's. What it is its bytes tell: nobody's word on it is
// taken, as browsers are told to believe ours.
func readLogo(data string) (image, error) {
	body, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return image{}, problem.Invalid("logo.data", "logo.data is not base64.")
	}
	if len(body) > LogoMost {
		return image{}, problem.Invalid("logo.data", "The logo has %d bytes; it may have %d.", len(body), LogoMost)
	}
	kind := kindOf(body)
	if kind == "" {
		return image{}, problem.Invalid("logo.data", "The logo must be an image: PNG, JPEG, WebP or GIF.")
	}
	sum := sha256.Sum256(body)
	return image{kind, hex.EncodeToString(sum[:8]), body}, nil
}

// kindOf returns the media type of an image, or "" for anything else.
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
