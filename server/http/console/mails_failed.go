package console

import (
	"rail/gen/api"
	"rail/server/http/site"
)

const failedMailsPath = mailsPath + "/failed"

// failedMails shows the organization's mails that could not be delivered.
func failedMails(v *visit) error {
	turn, err := site.TurnOf(v.QueryParams())
	if err != nil {
		return err
	}
	reply, err := v.console.api.ListMailsWithResponse(v.Ctx(),
		&api.ListMailsParams{StartingAfter: turn.After, EndingBefore: turn.Before})
	if err != nil {
		return err
	}
	list := reply.JSON200
	return v.show(sheet{"mails-failed", mailsPath, "Failed emails", site.Listed(v.Request().URL, turn,
		pageOf(list.Data, list.HasMore, list.TotalCount), func(m api.Mail) string { return m.ID }, list.Data)})
}

func failedMailTable(v *visit) error {
	return v.fileOf("listMails", "failed-mails", v.query(), []field{
		timeField("When", "created_at"),
		plainField("To", "recipient"),
		plainField("Subject", "subject"),
		wordField("Purpose", "purpose"),
		plainField("Attempts", "attempts"),
		plainField("Why it failed", "error"),
		rowID,
	})
}

// retryMail sends one of them once more.
func retryMail(v *visit) error {
	if err := v.send("retryMail", nil, nil, v.PathValue("mail")); err != nil {
		return v.again(err, failedMails)
	}
	return v.done(v.at(failedMailsPath), "The email is sent again. If it fails again, it reappears here.")
}
