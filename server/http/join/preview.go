package join

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/program/portalsettings"
)

// Preview answers with the join page of a program of the organization's with a draft of settings, in a frame of this
// server. Its form cannot be sent. c is a request that its site has confined.
func (p *Pages) Preview(c echo.Context, orgID, programID string, draft portalsettings.Changes) error {
	v := &visit{Visit: p.site.Visit(c), pages: p, draft: true}
	program, err := queries.ProgramGet(v.Ctx(), p.Pool, db.ProgramGetParams{ID: programID, OrgID: orgID})
	if err != nil {
		return err
	}
	if err := v.setProgram(program); err != nil {
		return err
	}
	if v.settings, err = v.settings.With(draft); err != nil {
		return err
	}
	site.FramedHere(c.Response().Header())
	return v.page(http.StatusOK, site.Form{Values: map[string]string{}})
}
