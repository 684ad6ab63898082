package importer

import (
	"context"
	"fmt"

	"rail/gen/db"
	"rail/server/outbound/mail"
	"rail/server/work"
)

// notify mails the person who started an import that it is done, has failed or is undone; for an import by a key or a
// command that is the owner of the account.
func (s *Service) notify(ctx context.Context, u *work.Unit, m db.Import) error {
	if !s.Mail.Ready() {
		return nil
	}
	to, err := queries.ImportReader(ctx, u.DB(), db.ImportReaderParams{OrgID: m.OrgID, UserID: m.UserID})
	if err != nil || to == "" {
		return work.IgnoreNoRows(err)
	}
	program, err := u.Program(ctx, m.ProgramID)
	if err != nil {
		return err
	}
	c := CountsOf(m)
	how := map[db.ImportStatus]string{
		db.ImportStatusDone: fmt.Sprintf("%d partners, %d customers, %d sales and %d commissions were imported.",
			c["partners"].New, c["customers"].New, c["sales"].New, c["commissions"].New),
		db.ImportStatusFailed: "It could not continue. The console says why.",
		db.ImportStatusUndone: "It was undone.",
	}[m.Status]
	return s.Mail.Queue(ctx, u.Later(), m.OrgID,
		mail.ImportEnded(to, m.ID+" "+string(m.Status), program.Name, string(m.Status), how, m.ProblemsCount), u.Now)
}
