package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/app"
	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/secret"
)

// The server embedded in another program, called through the generated Go client: it creates a program, and
// reads an error's code for an invalid one.
func Example() {
	ctx := context.Background()
	pool, done := pgtest.Scratch(ctx)
	defer done()
	cfg, err := config.Load(map[string]string{
		"RAIL_BASE_URL": "https://rail.example", "RAIL_SECRET_KEY": strings.Repeat("01", 32),
	})
	check(err)
	a, err := app.New(cfg, pool, clock.System{}, slog.New(slog.DiscardHandler))
	check(err)
	web := httptest.NewServer(a.Handler())
	defer web.Close()

	key := newKey(ctx, pool, cfg) // rail key create, or the output of `rail serve --first-run`
	client, err := api.NewClientWithResponses(web.URL,
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	check(err)

	program, err := client.CreateProgramWithResponse(ctx, api.ProgramCreate{
		Name: "Acme partners", WebsiteURL: "https://acme.example", Currency: "EUR",
	})
	check(err)
	fmt.Println(program.StatusCode(), program.JSON201.Name, program.JSON201.Currency)

	refused, err := client.CreateProgramWithResponse(ctx, api.ProgramCreate{
		Name: "Acme partners", WebsiteURL: "https://acme.example", Currency: "euro",
	})
	check(err)
	var why api.ErrorEnvelope
	check(json.Unmarshal(refused.Body, &why))
	fmt.Println(refused.StatusCode(), why.Error.Code, *why.Error.Param)
	// Output:
	// 201 Acme partners EUR
	// 400 parameter_invalid currency
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newKey adds an organization with an API key, and returns the key.
func newKey(ctx context.Context, pool *pgxpool.Pool, cfg config.Config) string {
	keeper, err := secret.New(cfg.SecretKey)
	check(err)
	now, org, token := clock.System{}.Now(), ident.New(ident.Organization), auth.NewToken(true)
	check(db.New().OrganizationInsert(ctx, pool, db.OrganizationInsertParams{ID: org, Name: "Acme", CreatedAt: now}))
	check(db.New().APIKeyInsert(ctx, pool, db.APIKeyInsertParams{
		ID: ident.New(ident.APIKey), OrgID: org, UserID: ident.New(ident.User), Hash: keeper.HashAPIKey(token),
		Last4: token[len(token)-4:], Livemode: true, Scopes: []string{"write"}, RateLimit: auth.DefaultRateLimit,
		Version: "2026-08-21", CreatedAt: now,
	}))
	return token
}
