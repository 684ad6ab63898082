// Package portalsettings has a program's settings for partners and applicants: its look, texts and questions of
// the join page, automatic approval, and the hosts of partners' links and of the embedded portal. A program
// without settings has the defaults, and no row.
package portalsettings

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
)

var queries = db.New()

// defaultLinks is the default limit of links that a partner may create.
const defaultLinks = 20

// Settings are the settings of one program. The audit log stores their JSON.
type Settings struct {
	ProgramID       string                `json:"-"`
	OrgID           string                `json:"-"`
	Join            db.JoinMode           `json:"join"`
	AccentColor     *string               `json:"accent_color"`
	SecondColor     *string               `json:"second_color"`
	Typeface        db.Typeface           `json:"typeface"`
	Corners         db.Corners            `json:"corners"`
	LogoVersion     *string               `json:"logo_version"`      // nil without a logo
	LogoDarkVersion *string               `json:"logo_dark_version"` // nil: dark mode has the logo
	Headline        *string               `json:"headline"`
	HeroVersion     *string               `json:"hero_version"` // nil without a picture
	Introduction    *string               `json:"introduction"`
	Offer           *string               `json:"offer"` // nil: the rates are described from the flows
	Benefits        []string              `json:"benefits"`
	FAQ             []api.PortalFAQ       `json:"faq"`
	Calculator      *api.PortalCalculator `json:"calculator"` // nil for none
	ReplyTo         *string               `json:"reply_to"`
	Questions       []api.PortalQuestion  `json:"questions"`
	AutoApprove     *api.AutoApproval     `json:"auto_approve"` // nil: no automatic approval
	LinkHosts       []string              `json:"link_hosts"`   // besides the website's host
	MaxLinks        int64                 `json:"max_links"`
	EmbedHosts      []string              `json:"embed_hosts"`
	Leaderboard     bool                  `json:"leaderboard"`
	UpdatedAt       *clock.Time           `json:"-"` // nil if nothing was changed
}

// Of returns the settings of a program of the organization's.
func Of(ctx context.Context, tx pgtx.DBTX, orgID, programID string) (Settings, error) {
	s := Settings{
		ProgramID:  programID,
		OrgID:      orgID,
		Join:       db.JoinModeOpen,
		Typeface:   db.TypefaceInter,
		Corners:    db.CornersSoft,
		Benefits:   []string{},
		FAQ:        []api.PortalFAQ{},
		Questions:  []api.PortalQuestion{},
		LinkHosts:  []string{},
		MaxLinks:   defaultLinks,
		EmbedHosts: []string{},
	}
	row, err := queries.PortalSettingsGet(ctx, tx, db.PortalSettingsGetParams{ProgramID: programID, OrgID: orgID})
	if errors.Is(err, pgx.ErrNoRows) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	return s, s.read(row)
}

// read copies a row into the settings.
func (s *Settings) read(row db.PortalSetting) error {
	s.Join, s.AccentColor, s.LogoVersion = row.Joining, row.AccentColor, row.LogoVersion
	s.SecondColor, s.Typeface, s.Corners = row.SecondColor, row.Typeface, row.Corners
	s.LogoDarkVersion, s.Leaderboard = row.LogoDarkVersion, row.Leaderboard
	s.Headline, s.HeroVersion, s.Benefits = row.Headline, row.HeroVersion, row.Benefits
	s.Introduction, s.Offer, s.ReplyTo = row.Introduction, row.Offer, row.ReplyTo
	s.LinkHosts, s.MaxLinks, s.EmbedHosts, s.UpdatedAt = row.LinkHosts, row.MaxLinks, row.EmbedHosts, &row.UpdatedAt
	return errors.Join(
		decode(row.Faq, &s.FAQ), decode(row.Questions, &s.Questions),
		decode(row.Calculator, &s.Calculator), decode(row.AutoApprove, &s.AutoApprove),
	)
}

// decode reads a column with JSON; NULL changes nothing.
func decode(column []byte, into any) error {
	if column == nil {
		return nil
	}
	return json.Unmarshal(column, into)
}

// encode returns the JSON of a column; NULL for nil.
func encode[T any](value *T) (column []byte, err error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value)
}

// save writes the settings, over existing ones.
func (s Settings) save(ctx context.Context, tx pgtx.DBTX) error {
	faq, wrongFAQ := encode(&s.FAQ)
	questions, wrongQuestions := encode(&s.Questions)
	calculator, wrongCalculator := encode(s.Calculator)
	rule, wrongRule := encode(s.AutoApprove)
	if err := errors.Join(wrongFAQ, wrongQuestions, wrongCalculator, wrongRule); err != nil {
		return err
	}
	return queries.PortalSettingsSave(ctx, tx, db.PortalSettingsSaveParams{
		ProgramID:       s.ProgramID,
		OrgID:           s.OrgID,
		Joining:         s.Join,
		AccentColor:     s.AccentColor,
		SecondColor:     s.SecondColor,
		Typeface:        s.Typeface,
		Corners:         s.Corners,
		LogoVersion:     s.LogoVersion,
		LogoDarkVersion: s.LogoDarkVersion,
		Headline:        s.Headline,
		HeroVersion:     s.HeroVersion,
		Introduction:    s.Introduction,
		Offer:           s.Offer,
		Benefits:        s.Benefits,
		Faq:             faq,
		Calculator:      calculator,
		ReplyTo:         s.ReplyTo,
		Questions:       questions,
		AutoApprove:     rule,
		LinkHosts:       s.LinkHosts,
		MaxLinks:        s.MaxLinks,
		EmbedHosts:      s.EmbedHosts,
		Leaderboard:     s.Leaderboard,
		UpdatedAt:       opt.Value(s.UpdatedAt),
	})
}
