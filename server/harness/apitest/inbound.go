package apitest

import (
	"context"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/inbound/connection"
	"rail/server/secret"
	"rail/server/work"
)

// Connected is a connection with the secret that signs its events.
type Connected struct {
	db.ProcessorConnection
	Signing string
}

// Connect connects a program to the generic processor, as the operator's command
// does, in place of a former connection. The options change what is connected.
func (s *Server) Connect(program string, options ...func(*connection.Input)) Connected {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	in := connection.Input{ProgramID: program, Processor: connection.Generic, Live: true, Replace: true}
	for _, o := range options {
		o(&in)
	}
	var c Connected
	u := work.NewRun(s.Pool, work.Actor{Kind: work.Operator, ID: "test"}, s.Clock.Now()).For(s.Org)
	require.NoError(s.T, u.Within(context.Background(), func(u *work.Unit) (err error) {
		c.ProcessorConnection, c.Signing, err = connection.Service{Keeper: keeper}.Connect(context.Background(), u, in)
		return err
	}))
	return c
}
