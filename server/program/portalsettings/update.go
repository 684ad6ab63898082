package portalsettings

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/publishable"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Changes are changes to a program's settings; nil and unspecified members stay.
type Changes struct {
	Join                                   *db.JoinMode
	AccentColor, SecondColor               nullable.Nullable[string]
	Typeface                               *db.Typeface
	Corners                                *db.Corners
	Headline, Introduction, Offer, ReplyTo nullable.Nullable[string]
	Logo, LogoDark, Hero                   nullable.Nullable[string] // the image in base64
	Benefits                               []string
	FAQ                                    []api.PortalFAQ
	Calculator                             nullable.Nullable[api.PortalCalculator]
	Questions                              []api.PortalQuestion
	AutoApprove                            nullable.Nullable[api.AutoApproval]
	LinkHosts, EmbedHosts                  []string
	MaxLinks                               *int64
	Leaderboard                            *bool
}

// With returns the settings with the changes of a draft, which are not saved. It ignores images.
func (s Settings) With(to Changes) (Settings, error) {
	err := s.apply(to)
	return s, err
}

// Update changes the settings of a program. A change without effect writes nothing.
func Update(ctx context.Context, u *work.Unit, programID string, to Changes) (Settings, error) {
	// The lock serializes changes, also of settings without a row.
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: programID, OrgID: u.OrgID})
	if err != nil {
		return Settings{}, err
	}
	if err := u.CheckProgram(p.ID); err != nil {
		return Settings{}, err
	}
	before, err := Of(ctx, u.Tx, u.OrgID, p.ID)
	if err != nil {
		return before, err
	}
	s := before
	if err := s.apply(to); err != nil {
		return before, err
	}
	if err := s.checkGroups(ctx, u, to); err != nil {
		return before, err
	}
	if err := s.applyImages(ctx, u, to); err != nil || reflect.DeepEqual(before, s) {
		return before, err
	}
	s.UpdatedAt = &u.Now
	if err := s.save(ctx, u.Later()); err != nil {
		return before, err
	}
	return s, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ID, Action: "portal_settings.updated", TargetID: p.ID, Before: before, After: s,
	})
}

// apply sets the given members and checks all but the groups.
func (s *Settings) apply(to Changes) (err error) {
	opt.Change(&s.Join, to.Join)
	opt.Change(&s.MaxLinks, to.MaxLinks)
	opt.Change(&s.Typeface, to.Typeface)
	opt.Change(&s.Corners, to.Corners)
	opt.Change(&s.Leaderboard, to.Leaderboard)
	opt.ChangeOrClear(&s.AccentColor, to.AccentColor)
	opt.ChangeOrClear(&s.SecondColor, to.SecondColor)
	opt.ChangeOrClear(&s.Headline, to.Headline)
	opt.ChangeOrClear(&s.Introduction, to.Introduction)
	opt.ChangeOrClear(&s.Offer, to.Offer)
	opt.ChangeOrClear(&s.ReplyTo, to.ReplyTo)
	opt.ChangeOrClear(&s.Calculator, to.Calculator)
	s.AccentColor, s.SecondColor = opt.Lower(s.AccentColor), opt.Lower(s.SecondColor)
	for _, text := range []**string{&s.Headline, &s.Introduction, &s.Offer} {
		if strings.TrimSpace(opt.Value(*text)) == "" {
			*text = nil
		}
	}
	if to.LinkHosts != nil {
		if s.LinkHosts, err = publishable.Hosts("link_hosts", to.LinkHosts); err != nil {
			return err
		}
	}
	if to.EmbedHosts != nil {
		if s.EmbedHosts, err = publishable.Hosts("embed_hosts", to.EmbedHosts); err != nil {
			return err
		}
	}
	if to.Benefits != nil {
		s.Benefits = to.Benefits
	}
	if to.FAQ != nil {
		s.FAQ = to.FAQ
	}
	if to.Questions != nil {
		s.Questions = to.Questions
	}
	s.applyRule(to.AutoApprove)
	return checkQuestions(s.Questions)
}

// applyRule sets the rule of automatic approval, normalized for comparison.
func (s *Settings) applyRule(to nullable.Nullable[api.AutoApproval]) {
	if !to.IsSpecified() {
		return
	}
	if s.AutoApprove = nil; to.IsNull() {
		return
	}
	value := to.MustGet()
	s.AutoApprove = &api.AutoApproval{
		GroupIds:     opt.Distinct(value.GroupIds),
		Countries:    normalizeAll(strings.ToUpper, value.Countries),
		EmailDomains: normalizeAll(strings.ToLower, value.EmailDomains),
	}
}

// normalizeAll applies form to texts and drops duplicates.
func normalizeAll(form func(string) string, texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = form(t)
	}
	return opt.Distinct(out)
}

// checkGroups refuses groups of a new rule that belong to another program.
func (s *Settings) checkGroups(ctx context.Context, u *work.Unit, to Changes) error {
	if !to.AutoApprove.IsSpecified() || s.AutoApprove == nil {
		return nil
	}
	return u.Check(ctx, s.ProgramID, work.AudienceRefs("auto_approve.", s.AutoApprove.GroupIds, nil)...)
}

// applyImages stores or removes the given images.
func (s *Settings) applyImages(ctx context.Context, u *work.Unit, to Changes) error {
	if err := s.applyImage(ctx, u, logo, to.Logo, &s.LogoVersion); err != nil {
		return err
	}
	if err := s.applyImage(ctx, u, logoDark, to.LogoDark, &s.LogoDarkVersion); err != nil {
		return err
	}
	return s.applyImage(ctx, u, hero, to.Hero, &s.HeroVersion)
}

// applyImage stores or removes an image and sets its version.
func (s *Settings) applyImage(
	ctx context.Context, u *work.Unit, k kind, to nullable.Nullable[string], version **string,
) error {
	switch {
	case !to.IsSpecified():
		return nil
	case to.IsNull():
		*version = nil
		return queries.PortalImageDelete(ctx, u.Later(), db.PortalImageDeleteParams{
			ProgramID: s.ProgramID, OrgID: s.OrgID, Kind: k.name,
		})
	}
	value, err := k.read(to.MustGet())
	if err != nil {
		return err
	}
	*version = &value.version
	return queries.PortalImageSave(ctx, u.Later(), db.PortalImageSaveParams{
		ProgramID:   s.ProgramID,
		OrgID:       s.OrgID,
		Kind:        k.name,
		Version:     value.version,
		ContentType: value.mediaType,
		Image:       value.body,
	})
}

// checkQuestions refuses questions with the same key, and options of a question that is not a choice.
func checkQuestions(questions []api.PortalQuestion) error {
	keys := map[string]bool{}
	for i, q := range questions {
		at := func(member string) string { return fmt.Sprintf("questions[%d].%s", i, member) }
		switch {
		case keys[q.Key]:
			return problem.Invalid(at("key"), "%s is the key of another question.", at("key"))
		case q.Type != api.QuestionTypeChoice && len(q.Options) > 0:
			return problem.Invalid(at("options"), "%s: only a choice may have options.", at("options"))
		case q.Type == api.QuestionTypeChoice && len(slices.Compact(slices.Sorted(slices.Values(q.Options)))) < 2:
			return problem.Invalid(at("options"), "%s: a choice must have at least two options.", at("options"))
		}
		keys[q.Key] = true
	}
	return nil
}
