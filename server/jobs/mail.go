package jobs

import (
	"context"
	"time"

	"rail/server/clock"
)

// sendMail sends what the outbox holds.
func sendMail(m Means) Job {
	return Job{
		Name: "send-mail", About: "send the mails of the outbox", Every: 5 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error { return m.Mail.Run(ctx, now) },
	}
}
