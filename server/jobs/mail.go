package jobs

import (
	"context"
	"time"

	"rail/server/clock"
	"rail/server/outbound/campaign"
	"rail/server/outbound/sequence"
)

// sendMail sends the mails of the outbox. Transactions that write a mail do not wait for a mail server.
func sendMail(m Means) Job {
	return Job{
		Name: "send-mail", About: "send the mails of the outbox", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error { return m.Mail.Run(ctx, now) },
	}
}

// sendCampaigns moves campaigns on. Without a way to send mail they wait, and go out once there is one.
func sendCampaigns(m Means) Job {
	return Job{
		Name: "send-campaigns", About: "send the campaigns whose time has come", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.Mail.Transport == nil {
				return nil
			}
			return campaign.Run(ctx, m.Pool, now)
		},
	}
}

// advanceSequences moves partners on to their next mail, where it can be sent.
func advanceSequences(m Means) Job {
	return Job{
		Name: "advance-sequences", About: "send the mails of sequences that are due", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.Mail.Transport == nil {
				return nil
			}
			return sequence.Run(ctx, m.Pool, now)
		},
	}
}
