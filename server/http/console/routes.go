package console

import "maps"

// routes are all paths of the console. A pattern is found as by net/http's ServeMux.
func routes() map[string]route {
	all := map[string]route{
		"/console/": {do: notFound},
		"/console":  {do: start},
	}
	for _, some := range []map[string]route{
		accountRoutes,
		applicationRoutes,
		commissionRoutes,
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

// menu are the pages of a program.
var menu = []struct {
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
