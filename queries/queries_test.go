package queries_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/schema"
)

// unbound lists the statements that name no organization, each with its reason.
var unbound = map[string]string{
	// The look-up that finds the organization of a request.
	"APIKeyByHash":      "the hash of a secret token identifies the organization",
	"APIKeySetLastUsed": "the id is that of the key that APIKeyByHash has just found",
	// The operator's commands work on the whole database.
	"APIKeyRevoke":        "asked by the operator's command only, who may revoke any key",
	"LinkSetRateOverride": "asked by the operator's command only, for any link",
	// The portal's sign-in and cookie.
	"MagicLinkUse":           "the hash of a secret token identifies the partner",
	"PortalSession":          "the hash of a secret token identifies the partner",
	"PortalSessionExtend":    "the hash is that of the caller's own token",
	"PortalPartners":         "whoever signs in by an address names no organization; the mail goes to the address alone",
	"PortalOtherPartners":    "the address is one that the caller has proven",
	"PortalOtherPartnerLock": "the address is one that the caller has proven",
	"PortalSessionTake":      "the hash is that of the caller's own token",
	"PortalSessionEnd":       "the hash is that of the caller's own token",
	// The console's sign-in and cookie.
	"UsersExist":         "asked of the whole database, when it is set up",
	"UsersOfEmail":       "whoever signs in by an address names no organization; the password does",
	"UsersPerEmail":      "how many hashes a wrong password costs is the same for all addresses",
	"UsersOfSubject":     "whom the operator's OpenID provider means is a user of some organization",
	"UserSession":        "the hash of a secret token identifies the user",
	"UserSessionEnd":     "the hash is that of the caller's own token",
	"UserLinkFind":       "the hash of a secret token identifies the link",
	"UserLinkUse":        "the hash of a secret token identifies the link",
	"SetUpLinksVoid":     "the link that sets up has no organization yet",
	"InvitationsOfEmail": "the operator's OpenID provider has verified the address of who was invited",
	"UsersAcrossOrgs":    "asked by the operator's command only, for any user",
	"UserSecretsSealed":  "the server's own key seals for every organization",
	"UserSecretsReseal":  "the id is one that UserSecretsSealed has just listed",
	"UserSessionsPurge":  "removes what has expired, whosever it is",
	"UserLinksPurge":     "removes what has expired, whosever it is",
	// The public redirect.
	"LinkBySlug": "the redirect has no key; slugs are server-made and of one namespace",
	// Jobs work on the whole database.
	"ImportTake":                 "the job advances the imports of all organizations",
	"TallyForget":                "rows are removed in every organization",
	"TallyFold":                  "rows change in every organization",
	"IdempotencyPurge":           "removes what has expired, whosever it is",
	"LedgerMark":                 "a place in the whole ledger",
	"BalancesStale":              "the fold passes over the whole ledger",
	"BalanceFold":                "the id is one that BalancesStale has just listed",
	"CommissionsToMature":        "holding periods end in every organization",
	"CommissionsToApprove":       "the delay runs out in every organization",
	"PartnersToBan":              "bans are due in every organization",
	"TestClockDue":               "the clock is the server's, and work is due in every organization",
	"TestClockLockInserts":       "the clock is the server's, and nothing may be live in any organization",
	"TestClockConflicts":         "the clock is the server's, and nothing may be live in any organization",
	"PayoutsDue":                 "the day comes in every organization",
	"ProgramsToBatch":            "the month ends in every organization",
	"PayoutsToSend":              "the day comes in every organization",
	"RailPayoutsToPoll":          "an operator's rail has payouts of every organization; a connected one is named by its id",
	"RailPayoutsToSubmit":        "the same",
	"RailPayoutsToWatch":         "the same",
	"BatchesToSendAutomatically": "the job sends the payouts of all organizations",
	"ReportDaysToSum":            "days end in every program",
	"ReportSpansToSum":           "spans end in every program",
	"ReportUnmark":               "the program is one that the job has just listed",
	"ReportDeleteSums":           "the program is one that the job has just listed",
	"ReportDeleteDay":            "the program is one that the job has just listed",
	"ReportSumDay":               "the program is one that the job has just listed",
	"TaxProgramsToRequire":       "every organization may ask for forms",
	"PayoutInFlight":             "asked by the operator's command only, for any payout",
	"APIKeyRehash":               "the id is that of the key that APIKeyByHash has just found",
	"PayoutDetailsSealed":        "the server's own key seals for every organization",
	"PayoutDetailsReseal":        "the id is one that PayoutDetailsSealed has just listed",
	"InboxClaim":                 "the worker works for every organization",
	"InboxPurge":                 "removes what has expired, whosever it is",
	"AliasesPurge":               "removes what has expired, whosever it is",
	"OptOutsPurge":               "removes what has expired, whosever it is",
	"InboxSealed":                "the server's own key seals for every organization",
	"InboxReseal":                "the id is one that InboxSealed has just listed",
	"ConnectionReconcile":        "nights come in every organization",
	"ConnectionsOfStripe":        "asked by the operator's command only, for all connections",
	"ConnectionAcrossOrgs":       "asked by the operator's command, and by processors, whose address knows no organization",
	"ConnectionsActive":          "the server asks which addresses exist; whose they are is read with each",
	"PublishableKeyFind":         "the key identifies the organization",
	"PublishableHostAllowed":     "a browser asks before it sends a key; the answer is for its own pages only",
	"PublishableKeyAcrossOrgs":   "asked by the operator's command only, for any key",
	"JoinProgram":                "the address of a join page knows no organization",
	"JoinRequestFind":            "the token is secret and identifies the organization",
	"JoinRequestsPurge":          "removes what has expired, whosever it is",
	"PortalImagePublic":          "whoever has the address of a logo sees it",
	"PortalCardPublic":           "the page that it is about is public",
	"PayoutAttentionCounts":      "metrics of the whole server",
	"PayoutRailState":            "metrics of the whole server",
	"PortalThemePublic":          "the look of a program is public",
	"ProgramOrganization":        "asked by the operator's command only, for any program",
	"ProgramsWithImports":        "asked by the operator's command only, for all programs",
	"ConnectionSecretsSealed":    "the server's own key seals for every organization",
	"PayoutRailsReseal":          "the id is one that PayoutRailsSealed has just listed",
	"PayoutRailAcrossOrgs":       "an operator's command finds the organization by it",
	"PayoutRailsToFollow":        "the job follows the rails of all organizations",
	"PayoutRailsSealed":          "rotation of the secret key reads all organizations",
	"StatementKeysPublished":     "the public keys of all organizations are public",
	"StatementKeyPublished":      "public keys are public",
	"StatementKeysTotal":         "public keys are public",
	"StatementProgram":           "the ledger of a program's statements is public",
	"StatementKeysSealed":        "rotation of the secret key reads all organizations",
	"StatementKeyReseal":         "the id is one that StatementKeysSealed has just listed",
	"ConnectionSecretsReseal":    "the id is one that ConnectionSecretsSealed has just listed",
	"ImportKeysSealed":           "rotation of the secret key reads all organizations",
	"ImportKeyReseal":            "the id is one that ImportKeysSealed has just listed",
	"ImportRowsPurge":            "the job deletes old rows of every organization",
	"ImportKeysPurge":            "the job deletes old rows of every organization",
	"ImportAcrossOrgs":           "asked by the operator's command only, for any import",
	"WebhookSecretsSealed":       "the server's own key seals for every organization",
	"WebhookSecretsReseal":       "the id is one that WebhookSecretsSealed has just listed",
	"IdempotencySealed":          "the server's own key seals for every organization",
	"APIKeysExist":               "asked of the whole database, when it learns its secret key",
	"SealedValues":               "the server's own key seals for every organization",
	"MailsTake":                  "the worker sends for every organization",
	"MailRetryLater":             "the mail is one that MailsTake has just given",
	"MailFinish":                 "the mail is one that MailsTake has just given",
	"MailReturn":                 "the mail is one that MailsTake has just given",
	"PartnerUnsubscribe":         "the token of a mail is secret and identifies the partner",
	"PartnerByMailToken":         "the token of a mail is secret and identifies the partner",
	"CampaignCountOpen":          "the address bears the server's mark",
	"CampaignLockUnopened":       "the address bears the server's mark",
	"CampaignsScheduled":         "the time comes in every organization",
	"CampaignsSending":           "the worker sends for every organization",
	"SequencesIdle":              "days pass in every organization",
	"SequencesActive":            "the time comes in every organization",
	"MailsAbandoned":             "workers die with mails of every organization",
	"MailsPurge":                 "removes what has expired, whosever it is",
	"MagicLinksPurge":            "removes what has expired, whosever it is",
	"PortalSessionsPurge":        "removes what has expired, whosever it is",
	"WebhookCancelDisabled":      "endpoints are turned off in every organization",
	"WebhookClaim":               "the sender sends for every organization",
	"WebhookNext":                "the lease is one that WebhookClaim has just given",
	"WebhookResults":             "the leases are the sender's own",
	"WebhookDisable":             "the sender has a lease of the endpoint",
	"ReferralsForget":            "removes what is past its retention, whosever it is",
	"TaxFormsExpire":             "forms run out in every organization",
	"BatchAcrossOrgs":            "asked by the operator's command only, for any batch",
	"PayoutRuns":                 "batches are made in every organization",
	"ReferralsExpire":            "the window runs out in every organization",
	"RefundsExpire":              "the wait runs out in every organization",
	"BalancesUnfold":             "undoes the folds of another cluster, whosever they are",
	// Metrics cover the whole database, and identify no organization.
	"Backlog":      "what waits in every organization",
	"PayoutTotals": "counts the payouts of every organization",
	// The counters of a flow's conditions. The same transaction has read the customer or
	// sign-up of the program and partner with the organization; org_id in each part would
	// prevent its index-only scan.
	"SalePartnerCounters": "the program and the partner were read under the organization",
	// The risk sweep covers every organization.
	"RiskPrograms":          "lists every program that is monitored",
	"PartnerAddressesPurge": "removes what has expired, whosever it is",
	// The audit checks the whole database.
	"AuditM01": "audit", "AuditM02": "audit", "AuditM03": "audit", "AuditM04": "audit", "AuditM05": "audit",
	"AuditM06": "audit",
	"AuditM07": "audit", "AuditM08": "audit", "AuditM09": "audit", "AuditM10": "audit", "AuditM12": "audit",
	"AuditM13": "audit", "AuditM16": "audit", "AuditM18": "audit", "AuditM19": "audit", "AuditRefunds": "audit",
	"AuditRows": "audit", "AuditRails": "audit", "AuditRailIDs": "audit", "AuditSends": "audit", "AuditM20": "audit", "AuditOutcome": "audit",
	"AuditM11": "audit", "AuditM15": "audit", "AuditM21": "audit", "AuditM22": "audit", "AuditM25": "audit",
	"AuditM33": "audit", "AuditM34": "audit", "AuditLeftOut": "audit",
	"AuditCurrencies": "audit", "AuditReportDays": "audit", "AuditReportLevels": "audit", "AuditTallies": "audit",
	"AuditPartnersSince": "audit", "AuditExternalIDs": "audit", "AuditMerges": "audit", "AuditStatementNumbers": "audit", "AuditStatementChain": "audit",
	"AuditStatements": "audit", "AuditStatementMissing": "audit", "AuditStatementLines": "audit", "AuditCredits": "audit",
}

var (
	header  = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+$`)
	comment = regexp.MustCompile(`--[^\n]*`)
	spaces  = regexp.MustCompile(`\s+`)
	view    = regexp.MustCompile(`(?s)CREATE VIEW (\w+) AS(.*?);\n`)
	table   = regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)[^\n]*;`)
	// use matches a table that a statement reads or writes, with its alias.
	use = regexp.MustCompile(`(?i)\b(FROM|JOIN|INTO|UPDATE|USING|,)\s+(\w+)\b(?:\s+(?:AS\s+)?([a-z]\w*))?`)
	// columns matches the columns of an INSERT, which may have the names of tables.
	columns = regexp.MustCompile(`(?i)(INSERT INTO \w+) \([^)]*\)`)
	insert  = regexp.MustCompile(`(?i)INSERT INTO (\w+) \(([^)]*)\) (?:VALUES \(|SELECT )(.*)`)
	// program matches the check, made once, that binds a list to its organization.
	program = regexp.MustCompile(`EXISTS \(SELECT 1 FROM programs (\w) WHERE (\w)\.id = @program_id AND (\w)\.org_id = @org_id\)`)
)

// statements returns every query without comments, on one line.
func statements(t testing.TB) map[string]string {
	files, err := fs.Glob(os.DirFS("."), "*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string]string{}
	for _, name := range append(files, "../gen/db/lists.sql") {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		text := string(raw)
		at := header.FindAllStringSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			query := text[m[2]:m[3]]
			require.NotContains(t, out, query, "%s: a name twice", name)
			out[query] = strings.TrimSpace(spaces.ReplaceAllString(comment.ReplaceAllString(text[m[1]:end], ""), " "))
		}
	}
	return out
}

// tenantTables returns the tables and views of the migrations that have an org_id.
func tenantTables(t testing.TB) []string {
	var out []string
	files, err := fs.Glob(schema.FS, "*.up.sql")
	require.NoError(t, err)
	for _, name := range files {
		raw, err := fs.ReadFile(schema.FS, name)
		require.NoError(t, err)
		for _, m := range table.FindAllStringSubmatch(string(raw), -1) {
			if regexp.MustCompile(`(?m)^\s+org_id\s`).MatchString(m[2]) {
				out = append(out, m[1])
			}
		}
		for _, m := range view.FindAllStringSubmatch(string(raw), -1) {
			if strings.Contains(m[2], "org_id") {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// usage is the use of a tenant table in a statement.
type usage struct{ table, alias, scope string }

// scope returns the text of the innermost parentheses around at.
func scope(sql string, at int) string {
	start, depth := 0, 0
	for i := at - 1; i >= 0; i-- {
		if sql[i] == ')' {
			depth++
		}
		if sql[i] == '(' {
			if depth == 0 {
				start = i + 1
				break
			}
			depth--
		}
	}
	depth = 0
	for i := at; i < len(sql); i++ {
		if sql[i] == '(' {
			depth++
		}
		if sql[i] == ')' {
			if depth == 0 {
				return sql[start:i]
			}
			depth--
		}
	}
	return sql[start:]
}

func usages(sql string, tenant []string) []usage {
	var out []usage
	sql = columns.ReplaceAllString(sql, "$1")
	for _, m := range use.FindAllStringSubmatchIndex(sql, -1) {
		u := usage{table: sql[m[4]:m[5]], scope: scope(sql, m[0])}
		if m[6] >= 0 {
			u.alias = sql[m[6]:m[7]]
		}
		if slices.Contains(tenant, u.table) && !strings.EqualFold(sql[m[2]:m[3]], "INTO") {
			out = append(out, u)
		}
	}
	return out
}

// missing returns the tables of a statement that are not bound to @org_id by a condition, by a join
// with a bound table or, in a list, by the check of the program.
func missing(sql string, tenant []string) []string {
	if strings.Contains(sql, "unnest(@org_ids::text[]) AS org_id") { // the tenant of each row
		sql = strings.ReplaceAll(sql, "= i.org_id", "= @org_id")
	}
	list := program.FindString(sql) != ""
	open := usages(sql, tenant)
	var tied []string
	for again := true; again; {
		again = false
		open = slices.DeleteFunc(open, func(u usage) bool {
			if !bound(u, list, tied) {
				return false
			}
			tied, again = append(tied, u.alias), true
			return true
		})
	}
	var out []string
	for _, u := range open {
		out = append(out, u.table+" "+u.alias)
	}
	if m := insert.FindStringSubmatch(sql); m != nil && slices.Contains(tenant, m[1]) {
		columns := strings.Split(m[2], ", ")
		// org_id comes before any value that contains a comma.
		values := strings.Split(strings.TrimRight(m[3], ");"), ", ")
		at := slices.Index(columns, "org_id")
		if at < 0 || at >= len(values) || !slices.Contains([]string{"@org_id", "unnest(@org_ids::text[])"}, values[at]) &&
			!strings.HasSuffix(values[at], ".org_id") {
			out = append(out, "insert into "+m[1])
		}
	}
	return out
}

func bound(u usage, list bool, tied []string) bool {
	name := u.alias
	if name == "" || strings.EqualFold(name, "where") || strings.EqualFold(name, "set") {
		return regexp.MustCompile(`[^.\w]org_id = @org_id`).MatchString(u.scope)
	}
	if regexp.MustCompile(`\b`+name+`\.org_id = @org_id`).MatchString(u.scope) ||
		strings.Contains(u.scope, " org_id = @org_id") {
		return true
	}
	if list && strings.Contains(u.scope, name+".program_id = @program_id") {
		return true
	}
	for _, other := range tied {
		if other == "" || other == name {
			continue
		}
		a, b := `\b`+name+`\.\w+`, `\b`+other+`\.\w+`
		if regexp.MustCompile(a + ` = ` + b + `|` + b + ` = ` + a).MatchString(u.scope) {
			return true
		}
	}
	return false
}

func TestEveryQueryNamesItsTenant(t *testing.T) {
	t.Parallel()
	tenant, all := tenantTables(t), statements(t)
	require.Contains(t, tenant, "sales")
	require.Contains(t, tenant, "api_keys")
	require.NotContains(t, tenant, "organizations")
	require.Contains(t, all, "SalePage")
	for name, sql := range all {
		lost := missing(sql, tenant)
		if _, allowed := unbound[name]; allowed {
			require.NotEmpty(t, lost, "%s is bound: take it off the list", name)
			continue
		}
		require.Empty(t, lost, "%s does not bind org_id:\n%s", name, sql)
	}
	for name := range unbound {
		require.Contains(t, all, name, "no such query: take it off the list")
	}
}

// TestMissingSees checks that missing finds unbound tables.
func TestMissingSees(t *testing.T) {
	t.Parallel()
	tenant := tenantTables(t)
	for sql, want := range map[string][]string{
		"SELECT t.* FROM sales t WHERE t.id = @id AND t.org_id = @org_id;":                                                                                     nil,
		"SELECT t.* FROM sales t WHERE t.id = @id;":                                                                                                            {"sales t"},
		"SELECT * FROM organizations WHERE id = @id;":                                                                                                          nil,
		"SELECT t.* FROM sales t JOIN partners p ON p.id = t.partner_id WHERE t.org_id = @org_id;":                                                             nil,
		"SELECT t.* FROM sales t JOIN partners p ON p.id = @partner_id WHERE t.org_id = @org_id;":                                                              {"partners p"},
		"SELECT count(*), (SELECT count(*) FROM clicks x WHERE x.link_id = @id) FROM sales t WHERE t.org_id = @org_id;":                                        {"clicks x"},
		"SELECT count(*) FROM sales t WHERE t.program_id = @program_id;":                                                                                       {"sales t"},
		"SELECT count(*) FROM sales t WHERE t.program_id = @program_id AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);": nil,
		"UPDATE sales SET a = 1 WHERE id = @id AND org_id = @org_id;":                                                                                          nil,
		"UPDATE sales SET a = 1 WHERE id = @id;":                                                                                                               {"sales SET"},
		"DELETE FROM sales WHERE id = @id;":                                                                                                                    {"sales WHERE"},
		"INSERT INTO sales (id, org_id) VALUES (@id, @org_id);":                                                                                                nil,
		"INSERT INTO sales (id, org_id, balances) VALUES (@id, @org_id, @balances);":                                                                           nil,
		"INSERT INTO sales (org_id, id) SELECT @org_id, @id FROM partners p WHERE p.id = @id;":                                                                 {"partners p"},
		"INSERT INTO sales (id, org_id) VALUES (@id, @program_id);":                                                                                            {"insert into sales"},
		"INSERT INTO sales (id) VALUES (@id);":                                                                                                                 {"insert into sales"},
	} {
		require.Equal(t, want, missing(sql, tenant), sql)
	}
}
