package importer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
)

// followSample is the number of imported links that are followed in a program.
const followSample = 5

// LinkVisit is an imported link after a visit by its old address. Reason says why the visit does not credit its
// partner; with Inactive, the reason is the partner's status, which is intended.
type LinkVisit struct {
	Address, Partner string // Partner is the email
	Reason           string // empty if the partner is credited
	Inactive         bool
}

// errRollback rolls back a visit.
var errRollback = errors.New("importer: rolled back")

// Follow visits a sample of a program's imported links by their old addresses, as the program's page would report it,
// and rolls the visits back.
func (s *Service) Follow(ctx context.Context, u *work.Unit, programID string) ([]LinkVisit, error) {
	program, err := u.Program(ctx, programID)
	if err != nil {
		return nil, err
	}
	sample, err := queries.ImportLinkSample(ctx, u.DB(), db.ImportLinkSampleParams{
		ProgramID: programID, OrgID: u.OrgID, Lim: followSample,
	})
	if err != nil {
		return nil, err
	}
	var all []LinkVisit
	for _, at := range sample {
		f := LinkVisit{
			Address: tracking.URL(at.Link.DestinationURL, at.Link.Param, at.Link.Value), Partner: at.PartnerEmail,
		}
		if at.PartnerStatus != db.PartnerStatusActive {
			f.Reason, f.Inactive = fmt.Sprintf("Its partner is %s, so its visits are not credited.", at.PartnerStatus), true
		} else if f.Reason, err = s.follow(ctx, u, program, at.Link, f.Address); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// follow visits an address and returns why its link's partner is not credited, or "".
func (s *Service) follow(
	ctx context.Context, u *work.Unit, program db.Program, l db.Link, address string,
) (string, error) {
	if !slices.Contains(program.URLParams, l.Param) {
		return fmt.Sprintf("The parameter %s is not one of the program's url_params (%s); add it.",
			l.Param, strings.Join(program.URLParams, ", ")), nil
	}
	param, value := valueIn(address, program.URLParams)
	var click db.Click
	err := u.Within(ctx, func(u *work.Unit) error {
		k, err := tracking.Service{Keeper: s.Keeper}.Click(ctx, u, program.ID, value, tracking.Visit{
			Param: param, VisitorToken: ident.New(ident.Click), LandingURL: address,
		})
		if err != nil {
			return err
		}
		if click, err = queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: k.ID, OrgID: u.OrgID}); err != nil {
			return err
		}
		return errRollback
	})
	if refusal, is := errors.AsType[*problem.Error](err); is && refusal.Status() < 500 {
		return refusal.Message, nil
	}
	if !errors.Is(err, errRollback) {
		return "", err
	}
	if click.PartnerID != l.PartnerID {
		return fmt.Sprintf("%s=%s credits the partner %s, and the link belongs to %s.", param, value, click.PartnerID,
			l.PartnerID), nil
	}
	return "", nil
}

// valueIn returns the first of a program's parameters that an address has, and its value, as rail.js reads them.
func valueIn(address string, params []string) (param, value string) {
	at, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	query := at.Query()
	for _, param := range params {
		if value := query.Get(param); value != "" {
			return param, value
		}
	}
	return "", ""
}
