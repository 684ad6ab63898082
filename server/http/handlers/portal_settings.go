package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/http/join"
	"rail/server/http/site/look"
	"rail/server/opt"
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
	b := r.Body
	u := work.From(ctx)
	changed, err := portalsettings.Update(ctx, u, r.ID, portalsettings.Changes{
		Join:         (*db.JoinMode)(b.Join),
		AccentColor:  b.AccentColor,
		Introduction: b.Introduction,
		Offer:        b.Offer,
		ReplyTo:      b.ReplyTo,
		Logo:         as(b.Logo, func(l api.PortalLogo) string { return l.Data }),
		Questions:    questionsOf(b.Questions),
		AutoApprove:  as(b.AutoApprove, autoApprovalOf),
		LinkHosts:    b.LinkHosts,
		EmbedHosts:   b.EmbedHosts,
		MaxLinks:     b.MaxLinks,
	})
	if err != nil {
		return nil, err
	}
	shown, err := s.toPortalSettings(ctx, u, changed)
	return api.UpdatePortalSettings200JSONResponse(shown), err
}

// as converts an optional value.
func as[A, B any](n nullable.Nullable[A], form func(A) B) nullable.Nullable[B] {
	value, err := n.Get()
	switch {
	case !n.IsSpecified():
		return nil
	case err != nil:
		return nullable.NewNullNullable[B]()
	}
	return nullable.NewNullableWithValue(form(value))
}

// questionsOf fills in the optional members of questions.
func questionsOf(given []api.PortalQuestionInput) []api.PortalQuestion {
	if given == nil {
		return nil
	}
	return mapped(given, func(q api.PortalQuestionInput) api.PortalQuestion {
		return api.PortalQuestion{
			Key:      q.Key,
			Label:    q.Label,
			Type:     q.Type,
			Required: opt.Value(q.Required),
			Options:  append([]string{}, q.Options...),
		}
	})
}

// autoApprovalOf converts the rule of automatic approval.
func autoApprovalOf(a api.AutoApprovalInput) api.AutoApproval { return api.AutoApproval(a) }

func (s *Server) toPortalSettings(
	ctx context.Context, u *work.Unit, p portalsettings.Settings,
) (api.PortalSettings, error) {
	door, err := joining.PageName(ctx, u.Short(), p.OrgID, p.ProgramID)
	out := api.PortalSettings{
		Object: "portal_settings", ProgramID: p.ProgramID, Join: api.JoinMode(p.Join),
		JoinURL: s.BaseURL + join.PathOf(door), AccentColor: p.AccentColor,
		Introduction: p.Introduction, Offer: p.Offer, ReplyTo: p.ReplyTo, Questions: p.Questions, AutoApprove: p.AutoApprove,
		LinkHosts: p.LinkHosts, MaxLinks: p.MaxLinks, EmbedHosts: p.EmbedHosts, UpdatedAt: p.UpdatedAt,
	}
	if p.LogoVersion != nil {
		out.LogoURL = new(s.BaseURL + look.LogoPath(p.ProgramID, *p.LogoVersion))
	}
	return out, err
}
