package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/join"
	"rail/server/http/site/branding"
	"rail/server/program/joining"
	"rail/server/program/portalsettings"
	"rail/server/work"
)

// RetrievePortalSettings returns the portal settings of a program.
func (s *Server) RetrievePortalSettings(ctx context.Context,
	r api.RetrievePortalSettingsRequestObject) (api.RetrievePortalSettingsResponseObject, error) {
	u := work.From(ctx)
	if err := u.CheckProgram(r.ID); err != nil {
		return nil, err
	}
	if _, err := queries.ProgramExists(ctx, u.Short(), db.ProgramExistsParams{ID: r.ID, OrgID: u.OrgID}); err != nil {
		return nil, err
	}
	found, err := portalsettings.Of(ctx, u.Short(), u.OrgID, r.ID)
	if err != nil {
		return nil, err
	}
	shown, err := s.toPortalSettings(ctx, u, found)
	return api.RetrievePortalSettings200JSONResponse(shown), err
}

// UpdatePortalSettings changes the portal settings of a program.
func (s *Server) UpdatePortalSettings(ctx context.Context,
	r api.UpdatePortalSettingsRequestObject) (api.UpdatePortalSettingsResponseObject, error) {
	u := work.From(ctx)
	changed, err := portalsettings.Update(ctx, u, r.ID, join.ChangesOf(*r.Body))
	if err != nil {
		return nil, err
	}
	shown, err := s.toPortalSettings(ctx, u, changed)
	return api.UpdatePortalSettings200JSONResponse(shown), err
}

func (s *Server) toPortalSettings(
	ctx context.Context, u *work.Unit, p portalsettings.Settings,
) (api.PortalSettings, error) {
	name, err := joining.PageName(ctx, u.Short(), p.OrgID, p.ProgramID)
	return api.PortalSettings{
		Object:       "portal_settings",
		ProgramID:    p.ProgramID,
		Join:         api.JoinMode(p.Join),
		JoinURL:      s.BaseURL + join.PathOf(name),
		AccentColor:  p.AccentColor,
		SecondColor:  p.SecondColor,
		Typeface:     api.Typeface(p.Typeface),
		Corners:      api.Corners(p.Corners),
		LogoURL:      s.imageURL(p.ProgramID, p.LogoVersion),
		LogoDarkURL:  s.imageURL(p.ProgramID, p.LogoDarkVersion),
		Headline:     p.Headline,
		HeroURL:      s.imageURL(p.ProgramID, p.HeroVersion),
		Introduction: p.Introduction,
		Offer:        p.Offer,
		Benefits:     p.Benefits,
		Faq:          p.FAQ,
		Calculator:   p.Calculator,
		ReplyTo:      p.ReplyTo,
		Questions:    p.Questions,
		AutoApprove:  p.AutoApprove,
		LinkHosts:    p.LinkHosts,
		MaxLinks:     p.MaxLinks,
		EmbedHosts:   p.EmbedHosts,
		Leaderboard:  p.Leaderboard,
		UpdatedAt:    p.UpdatedAt,
	}, err
}

// imageURL returns the address of a program's image; nil for none.
func (s *Server) imageURL(programID string, version *string) *string {
	if version == nil {
		return nil
	}
	return new(s.BaseURL + branding.ImagePath(programID, *version))
}
