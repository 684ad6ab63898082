package console

import (
	"maps"

	"rail/server/http/site"
)

// routes returns all paths of the console.
func routes() map[string]route {
	all := map[string]route{
		"GET /console":           {Do: start},
		"GET /console/{page...}": {Do: noPage}, // with a session, so that the page has the menu
	}
	for _, some := range []map[string]route{
		accountRoutes,
		applicationRoutes,
		commissionRoutes,
		connectionRoutes,
		customerRoutes,
		deliveryRoutes,
		findRoutes,
		groupRoutes,
		homeRoutes,
		inboxRoutes,
		integrationRoutes,
		keyRoutes,
		logRoutes,
		mailRoutes,
		noteRoutes,
		partnerListRoutes,
		partnerRoutes,
		payoutRoutes,
		peopleRoutes,
		planRoutes,
		portalRoutes,
		processorRoutes,
		programRoutes,
		providerRoutes,
		reportRoutes,
		resourceRoutes,
		riskRoutes,
		ruleRoutes,
		saleRoutes,
		sequenceRoutes,
		setupRoutes,
		signInRoutes,
		webhookRoutes,
	} {
		maps.Copy(all, some)
	}
	return all
}

// section is an entry of the menu.
type section struct{ path, name string }

// sections are the pages of a program, in the groups of the menu.
var sections = []struct {
	name     string
	sections []section
}{
	{"", []section{{"", "Home"}, {"/setup", "Setup"}, {"/reports", "Reports"}}},
	{"People", []section{
		{"/partners", "Partners"}, {"/applications", "Applications"}, {"/customers", "Customers"}, {"/risk", "Risk"},
	}},
	{"Money", []section{
		{"/sales", "Sales"}, {"/commissions", "Commissions"}, {"/payouts", "Payouts"}, {"/rules", "Rules"},
	}},
	{"Content", []section{{"/mails", "Mails"}, {"/resources", "Resources"}}},
	{"Settings", []section{
		{"/settings", "Program"}, {"/portal", "Portal and join page"}, {"/groups", "Groups and tags"},
		{"/integrations", "Integrations"},
		{"/webhooks", "Webhooks"}, {"/keys", "API keys"}, {"/log", "Audit log"}, {"/plan", "Plan"},
	}},
}

// noPage answers all other paths.
func noPage(*visit) error { return site.NotFound() }
