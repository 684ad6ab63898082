package bench

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/http/middleware"
)

// serveFloor starts a server with the minimum for a retrieve: net/http, one query by pgx, and encoding/json. It uses
// the pool of the measured server, and authenticates no caller.
func serveFloor(ctx context.Context, pool *pgxpool.Pool) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &http.Server{
		Handler: floor(pool), ReadHeaderTimeout: middleware.ReadHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	return &server{addr: l.Addr().String(), stop: func() error {
		err := web.Close()
		if last := <-ended; !errors.Is(last, http.ErrServerClosed) {
			err = errors.Join(err, last)
		}
		return err
	}}, nil
}

// floor answers with the row of a sale.
func floor(pool *pgxpool.Pool) http.Handler {
	queries := db.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/v1/sales/")
		row, err := queries.SaleGet(r.Context(), pool, db.SaleGetParams{ID: id, OrgID: org})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(row) // the load generator sees an answer that is cut off
	})
}
