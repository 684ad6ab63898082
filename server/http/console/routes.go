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
		confirmRoutes,
		connectionRoutes,
		customerRoutes,
		deliveryRoutes,
		designRoutes,
		findRoutes,
		groupRoutes,
		homeRoutes,
		importRoutes,
		inboxRoutes,
		integrationRoutes,
		keyRoutes,
		logRoutes,
		mailRoutes,
		noteRoutes,
		partnerListRoutes,
		partnerRoutes,
		payoutRoutes,
		attentionRoutes,
		railRoutes,
		statementRoutes,
		sendRoutes,
		peopleRoutes,
		planRoutes,
		portalRoutes,
		processorRoutes,
		programRoutes,
		providerRoutes,
		purchaseRoutes,
		reportRoutes,
		resourceRoutes,
		riskRoutes,
		ruleRoutes,
		saleRoutes,
		savedRoutes,
		searchRoutes,
		sequenceRoutes,
		setupRoutes,
		signInRoutes,
		webhookRoutes,
	} {
		maps.Copy(all, some)
	}
	return all
}

// section is a part of a page that has an address for each.
type section struct{ path, name string }

// menuEntry is an entry of the menu.
type menuEntry struct{ path, name, icon string }

// entries are the pages of a program, in the groups of the menu.
var entries = []struct {
	name    string
	entries []menuEntry
}{
	{"", []menuEntry{
		{"", "Home", "house"},
		{"/setup", "Setup", "list-checks"},
		{"/reports", "Reports", "chart-line"},
	}},
	{"Partners", []menuEntry{
		{"/partners", "Partners", "users"},
		{"/applications", "Applications", "user-plus"},
		{"/groups", "Groups and tags", "tag"},
		{"/risk", "Risk", "shield-alert"},
	}},
	{"Money", []menuEntry{
		{"/customers", "Customers", "shopping-bag"},
		{"/sales", "Sales", "receipt"},
		{"/commissions", "Commissions", "hand-coins"},
		{"/payouts", "Payouts", "wallet"},
		{"/rules", "Rules", "badge-percent"},
	}},
	{"Content", []menuEntry{
		{"/portal", "Portal and join page", "palette"},
		{"/mails", "Emails", "mail"},
		{"/resources", "Resources", "folder"},
	}},
	{"Settings", []menuEntry{
		{"/settings", "Program", "settings"},
		{"/integrations", "Integrations", "plug"},
		{"/imports", "Import", "import"},
		{"/plan", "Plan", "gauge"},
	}},
	{"Developers", []menuEntry{
		{"/keys", "API keys", "key-round"},
		{"/webhooks", "Webhooks", "webhook"},
		{"/log", "Audit log", "scroll-text"},
	}},
}

// noPage answers all other paths.
func noPage(*visit) error { return site.NotFound() }
