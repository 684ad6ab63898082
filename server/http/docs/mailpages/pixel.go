package mailpages

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/outbound/mail"
)

// PicturePath is the path of the tracking pixel.
const PicturePath = "/mail/open/:campaign/:partner/:mark"

// pixel is a transparent image of one pixel.
var pixel = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00" +
	",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")

// opened counts an opening if the server signed the address. It always returns the
// image.
func (p Pages) opened(c echo.Context) error {
	campaign, partner := c.Param("campaign"), c.Param("partner")
	if mark, ok := strings.CutSuffix(c.Param("mark"), ".gif"); ok && p.Keeper.Marked(campaign+" "+partner, mark) {
		if err := mail.CountOpen(c.Request().Context(), p.Pool, campaign, partner, p.Clock.Now()); err != nil {
			return err
		}
	}
	return Picture(c)
}

// Picture returns the image and counts nothing.
func Picture(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, "image/gif", pixel)
}
