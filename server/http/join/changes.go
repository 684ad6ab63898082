package join

import (
	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/program/portalsettings"
)

// ChangesOf returns the changes of the settings in a request's body.
func ChangesOf(b api.PortalSettingsUpdate) portalsettings.Changes {
	return portalsettings.Changes{
		Join:         (*db.JoinMode)(b.Join),
		AccentColor:  b.AccentColor,
		SecondColor:  b.SecondColor,
		Typeface:     (*db.Typeface)(b.Typeface),
		Corners:      (*db.Corners)(b.Corners),
		Headline:     b.Headline,
		Introduction: b.Introduction,
		Offer:        b.Offer,
		ReplyTo:      b.ReplyTo,
		Logo:         as(b.Logo, func(i api.PortalLogo) string { return i.Data }),
		LogoDark:     as(b.LogoDark, func(i api.PortalLogo) string { return i.Data }),
		Hero:         as(b.Hero, func(i api.PortalHero) string { return i.Data }),
		Benefits:     b.Benefits,
		FAQ:          b.Faq,
		Calculator:   b.Calculator,
		Questions:    questionsOf(b.Questions),
		AutoApprove:  as(b.AutoApprove, func(a api.AutoApprovalInput) api.AutoApproval { return api.AutoApproval(a) }),
		LinkHosts:    b.LinkHosts,
		EmbedHosts:   b.EmbedHosts,
		MaxLinks:     b.MaxLinks,
		Leaderboard:  b.Leaderboard,
	}
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
func questionsOf(inputs []api.PortalQuestionInput) []api.PortalQuestion {
	if inputs == nil {
		return nil
	}
	out := make([]api.PortalQuestion, len(inputs))
	for i, q := range inputs {
		out[i] = api.PortalQuestion{
			Key:      q.Key,
			Label:    q.Label,
			Type:     q.Type,
			Required: opt.Value(q.Required),
			Options:  append([]string{}, q.Options...),
		}
	}
	return out
}
