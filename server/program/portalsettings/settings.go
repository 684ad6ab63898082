// Package portalsettings has how a program shows itself to its partners and to those who
// want to become one: its look, what the join page says and asks, who is approved without
// a review, and where partners' own links and the portal may stand. A program that was
// told nothing has the defaults, and no row.
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

// defaultLinks is how many links of their own partners may have unless told.
const defaultLinks = 20

// Settings are those of one program. Its JSON is what the audit log keeps.
type Settings struct {
	ProgramID    string               `json:"-"`
	OrgID        string               `json:"-"`
	Join         db.JoinMode          `json:"join"`
	AccentColor  *string              `json:"accent_color"`
	LogoVersion  *string              `json:"logo_version"` // names the image; nil for none
	Introduction *string              `json:"introduction"`
	ReplyTo      *string              `json:"reply_to"`
	Questions    []api.PortalQuestion `json:"questions"`
	AutoApprove  *api.AutoApproval    `json:"auto_approve"` // nil for nobody
	LinkHosts    []string             `json:"link_hosts"`   // beside the website's own
	MaxLinks     int64                `json:"max_links"`
	EmbedHosts   []string             `json:"embed_hosts"`
	UpdatedAt    *clock.Time          `json:"-"` // nil while all are the defaults
}

// Of returns the settings of a program of the organization's.
func Of(ctx context.Context, tx pgtx.DBTX, orgID, programID string) (Settings, error) {
	s := Settings{
		ProgramID: programID, OrgID: orgID, Join: db.JoinModeOpen, Questions: []api.PortalQuestion{},
		LinkHosts: []string{}, MaxLinks: defaultLinks, EmbedHosts: []string{},
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

// read takes everything over from a row.
func (s *Settings) read(row db.PortalSetting) error {
	s.Join, s.AccentColor, s.LogoVersion = row.Joining, row.AccentColor, row.LogoVersion
	s.Introduction, s.ReplyTo = row.Introduction, row.ReplyTo
	s.LinkHosts, s.MaxLinks, s.EmbedHosts, s.UpdatedAt = row.LinkHosts, row.MaxLinks, row.EmbedHosts, &row.UpdatedAt
	if err := json.Unmarshal(row.Questions, &s.Questions); err != nil || row.AutoApprove == nil {
		return err
	}
	return json.Unmarshal(row.AutoApprove, &s.AutoApprove)
}

// save writes the settings, over those that are there.
func (s Settings) save(ctx context.Context, tx pgtx.DBTX) error {
	questions, err := json.Marshal(s.Questions)
	if err != nil {
		return err
	}
	var rule []byte
	if s.AutoApprove != nil {
		if rule, err = json.Marshal(s.AutoApprove); err != nil {
			return err
		}
	}
	return queries.PortalSettingsSave(ctx, tx, db.PortalSettingsSaveParams{
		ProgramID: s.ProgramID, OrgID: s.OrgID, Joining: s.Join, AccentColor: s.AccentColor, LogoVersion: s.LogoVersion,
		Introduction: s.Introduction, ReplyTo: s.ReplyTo, Questions: questions, AutoApprove: rule,
		LinkHosts: s.LinkHosts, MaxLinks: s.MaxLinks, EmbedHosts: s.EmbedHosts, UpdatedAt: opt.Value(s.UpdatedAt),
	})
}
