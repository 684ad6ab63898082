package bar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// haDSN is the address of a database on whichever node is the primary.
func haDSN(nodes []*node, database string) string {
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.addr+":5432")
	}
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Host: strings.Join(hosts, ","), Path: "/" + database,
		RawQuery: "target_session_attrs=read-write&sslmode=disable",
	}
	return u.String()
}

// member is a node as Patroni describes it.
type member struct {
	Name, Role, State string
	Timeline          int
}

// members asks a node for the state of all nodes; it fails if the node does not answer.
func (n *node) members(ctx context.Context) ([]member, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+":8008/cluster", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	var out struct{ Members []member }
	return out.Members, json.NewDecoder(res.Body).Decode(&out)
}

// leads reports whether the node is the primary and holds the leader's key.
func (n *node) leads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+":8008/primary", nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return errors.Join(res.Body.Close()) == nil && res.StatusCode == http.StatusOK
}

// promoted reports whether the node's PostgreSQL is a primary. It holds the leader's key a moment before, while it
// still confirms what the old one writes.
func (n *node) promoted(ctx context.Context) (primary bool) {
	conn, err := pgx.Connect(ctx, "postgres://postgres@"+n.addr+"/postgres?sslmode=disable&connect_timeout=2")
	if err != nil {
		return false
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is lost
	return conn.QueryRow(ctx, "SELECT NOT pg_is_in_recovery()").Scan(&primary) == nil && primary
}

// elected waits until another node than the failed one is the primary.
func elected(ctx context.Context, nodes []*node, failed *node) (*node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patient, errors.New("no other node was elected"))
	defer cancel()
	for {
		for _, n := range nodes {
			if n != failed && n.leads(ctx) && n.promoted(ctx) {
				return n, nil
			}
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// healthy waits until one node is the primary, both others follow it, and one of them confirms commits. It returns
// the primary.
func healthy(ctx context.Context, nodes []*node) (*node, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var last []member
		for _, n := range nodes {
			members, err := n.members(ctx)
			if err == nil && follow(members) && n.leads(ctx) {
				return n, nil
			}
			if err == nil {
				last = members
			}
		}
		if pause(ctx, 200*time.Millisecond) != nil {
			return nil, fmt.Errorf("the nodes do not come together: %v", last)
		}
	}
}

// follow reports whether three members are on one timeline, with a standby that confirms commits.
func follow(members []member) bool {
	confirming := false
	for _, m := range members {
		if m.State != "running" && m.State != "streaming" || m.Timeline != members[0].Timeline {
			return false
		}
		confirming = confirming || m.Role == "sync_standby"
	}
	return confirming && len(members) == 3
}
