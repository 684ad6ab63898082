package jobs

import (
	"context"
	"time"

	"rail/server/clock"
	"rail/server/outbound/campaign"
	"rail/server/outbound/sequence"
)

// sendMail sends the mails of the outbox, so that transactions that queue a mail need not wait for a mail
// server.
func sendMail(m Deps) Job {
	return Job{
		Name: "send-mail", About: "send the mails of the outbox", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error { return m.Mail.Run(ctx, now) },
	}
}

// sendCampaigns advances campaigns. Without a mail server they wait until there is one.
func sendCampaigns(m Deps) Job {
	return Job{
		Name: "send-campaigns", About: "send due campaigns", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.Mail.Transport == nil {
				return nil
			}
			return campaign.Run(ctx, m.Pool, now)
		},
	}
}

// advanceSequences sends partners the next mail of their sequence, if mail is configured.
func advanceSequences(m Deps) Job {
	return Job{
		Name: "advance-sequences", About: "send due mails of sequences", Every: time.Minute,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.Mail.Transport == nil {
				return nil
			}
			return sequence.Run(ctx, m.Pool, now)
		},
	}
}
