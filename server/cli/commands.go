package cli

import (
	"slices"

	"rail/server/inbound/connection"
)

// The titles of groups used elsewhere.
const develop = "Developing against Rail"

// groups returns the table in the order of the help.
func groups() []group {
	return []group{serverGroup(), tenantsGroup(), processorsGroup(), moneyGroup(), dataGroup(), developGroup()}
}

// commands returns the commands of all groups.
func commands() (all []command) {
	for _, g := range groups() {
		all = slices.Concat(all, g.commands)
	}
	return all
}

// serverGroup has the commands about the server.
func serverGroup() group {
	return group{title: "Running the server", families: map[string]string{
		"config": "the configuration in the environment", "job": "run background jobs manually",
		"migrate": "migrate the database to another schema version", "upgrade": "check an upgrade of an older database",
	}, commands: []command{
		{
			name: "serve", about: "run the server", setUp: serve, more: serveHelp, lasting: true, records: true,
			examples: "rail serve\nRAIL_ADDR=:80 RAIL_BASE_URL=https://rail.example rail serve --migrate",
		},
		{
			name: "config check", about: "report every mistake in the configuration; status 1 if there is one",
			setUp: configCheck, examples: "rail config check\nrail config check --connect",
		},
		{
			name: "config init", args: "FILE", about: "write a file with all variables and their descriptions",
			setUp: configInit, examples: "rail config init rail.env",
		},
		{
			name: "config show", about: "show every variable with its effective value and source; secrets as stars",
			setUp: configShow, examples: "rail config show\nrail config show --json",
		},
		{
			name: "health", about: "check whether a running server can answer requests; status 1 if it cannot",
			setUp: health, examples: "rail health\nrail health --url https://rail.example/readyz",
		},
		{
			name: "status", about: "show queues, failures, and the last backup and audit on one screen",
			setUp: showStatus, examples: "rail status\nrail status --json",
		},
		{
			name: "migrate up", about: "migrate the database to this binary's schema", setUp: migrateUp, records: true,
			examples: "rail migrate up",
		},
		{
			name: "migrate down", about: "revert the last migration; its data is lost", setUp: migrateDown,
			examples: "rail migrate down --yes\nrail migrate down --steps 2 --yes",
		},
		{
			name: "migrate version", about: "show the database's schema version", setUp: migrateVersion,
			examples: "rail migrate version --json",
		},
		{
			name: "upgrade check", about: "report what rail migrate up would do; status 1 if something blocks it",
			setUp: upgradeCheck, examples: "rail upgrade check\nrail upgrade check --json",
		},
		{
			name: "job run", args: "NAME", about: "run a background job once, now", setUp: jobRun, more: jobHelp, words: jobNames,
			examples: "rail job run mature-commissions\nrail job run auto-payouts --now 2026-10-01T00:00:00Z",
		},
		{
			name: "version", about: "show the versions of the binary, the contract and the schema", setUp: showVersion,
			examples: "rail version",
		},
	}}
}

// tenantsGroup has the commands about organizations, their keys, and console users.
func tenantsGroup() group {
	return group{title: "Organizations, keys and people", families: map[string]string{
		"org": "organizations and their limits", "key": "API keys", "pubkey": "publishable keys for pages",
		"user": "users of the console",
	}, commands: slices.Concat([]command{
		{
			name: "org create", about: "add an organization", setUp: orgCreate,
			examples: `rail org create --name "Acme" --owner-email ada@acme.example`,
		},
		{name: "org list", about: "list the organizations", setUp: orgList, examples: "rail org list"},
		{
			name: "org plan", args: "ORG_ID", about: "show or change the limits of an organization", setUp: orgPlan,
			more: planHelp, examples: "rail org plan org_06h2\nrail org plan org_06h2 --flow-quota 20 --fraud-monitoring on",
		},
		{
			name: "key create", about: "create an API key and show it once", setUp: keyCreate,
			examples: "rail key create --scope read,write\nrail key create --scope read --test --rate-limit 5",
		},
		{name: "key list", about: "list an organization's API keys", setUp: keyList, examples: "rail key list --json"},
		{name: "key revoke", args: "KEY_ID", about: "revoke an API key", setUp: keyRevoke, examples: "rail key revoke key_06h2"},
		{
			name: "pubkey create", about: "create a publishable key for a program's pages", setUp: pubkeyCreate,
			examples: "rail pubkey create --program prg_06h2 --host shop.example,*.shop.example",
		},
		{
			name: "pubkey list", about: "list a program's publishable keys in full", setUp: pubkeyList,
			examples: "rail pubkey list --program prg_06h2",
		},
		{
			name: "pubkey revoke", args: "KEY_ID", about: "revoke a publishable key", setUp: pubkeyRevoke,
			examples: "rail pubkey revoke pub_06h2",
		},
	}, users())}
}

// users returns the commands about console users.
func users() []command {
	return []command{
		{
			name: "user create", about: "create a user of the console, and a link to set the password", setUp: userCreate,
			more: userHelp, examples: "rail user create --email ada@acme.example --name Ada --role owner",
		},
		{
			name: "user first-link", about: "create a link to the page that creates the first user of the console", setUp: userFirstLink,
			more: firstLinkHelp, examples: "rail user first-link\nrail user first-link --org org_06h2",
		},
		{name: "user list", about: "list an organization's users", setUp: userList, examples: "rail user list"},
		{
			name: "user role", args: "USER", about: "change a user's role", setUp: userRole, more: userHelp,
			examples: "rail user role ada@acme.example --role manager",
		},
		{
			name: "user reset", args: "USER", about: "create a link for a user who cannot sign in", setUp: userReset,
			more: userHelp, examples: "rail user reset ada@acme.example\nrail user reset ada@acme.example --factor",
		},
		{
			name: "user disable", args: "USER", about: "end a user's sessions and block new ones", setUp: userDisable,
			examples: "rail user disable ada@acme.example",
		},
		{
			name: "user enable", args: "USER", about: "let a disabled user sign in again", setUp: userEnable,
			examples: "rail user enable ada@acme.example",
		},
	}
}

// processorsGroup has the commands about payment processors.
func processorsGroup() group {
	return group{title: "Payment processors", families: map[string]string{
		"processor": "connections to payment processors", "stripe": "commands for Stripe",
		"imports": "imports from other products",
	}, commands: []command{
		{
			name: "processor connect", args: "PROCESSOR", about: "connect a program to a payment processor",
			setUp: processorConnect, more: processorHelp, words: func() []string { return connection.Processors },
			examples: "rail processor connect stripe --program prg_06h2 --api-key -\nrail processor connect generic --program prg_06h2",
		},
		{
			name: "processor list", about: "list a program's connections to payment processors", setUp: processorList,
			examples: "rail processor list --program prg_06h2",
		},
		{
			name: "processor check", args: "CONNECTION_ID", about: "check a connection; status 1 if it accepts no events",
			setUp: processorCheck, examples: "rail processor check pco_06h2",
		},
		{
			name: "processor disconnect", args: "CONNECTION_ID", about: "end a connection permanently", setUp: processorDisconnect,
			examples: "rail processor disconnect pco_06h2",
		},
		{
			name: "import", args: "SOURCE", about: "import a program from another product, after a report",
			setUp: importFrom, more: importHelp, words: importSources,
			examples: "rail import rewardful --program prg_06h2 --api-key -\nrail import csv --program prg_06h2 --files export --run",
		},
		{
			name: "imports run", args: "IMPORT_ID", about: "write an import whose report is ready", setUp: importRun,
			examples: "rail imports run imp_06h2",
		},
		{
			name: "imports undo", args: "IMPORT_ID", about: "remove the objects that an import wrote and nothing else uses",
			setUp: importUndo, examples: "rail imports undo imp_06h2",
		},
		{
			name: "imports show", args: "IMPORT_ID", about: "show an import with its counts and balances", setUp: importShow,
			examples: "rail imports show imp_06h2",
		},
		{
			name: "imports balances", args: "IMPORT_ID", about: "list the unpaid money of partners, at the source and in Rail",
			setUp: importBalances, examples: "rail imports balances imp_06h2",
		},
		{
			name: "imports problems", args: "IMPORT_ID", about: "list the problems of an import", setUp: importProblems,
			examples: "rail imports problems imp_06h2 --json",
		},
		{
			name: "stripe backfill", about: "read past events from Stripe since a day, and record missing ones",
			setUp: stripeBackfill, more: backfillHelp, examples: "rail stripe backfill --since 2026-01-31",
		},
	}}
}

// moneyGroup has the commands about payouts.
func moneyGroup() group {
	return group{title: "Payouts and rates", families: map[string]string{
		"payouts": "payouts exported to files", "link": "single links of partners",
		"payout-rail": "connections to services that move money", "statement-key": "keys that sign statements",
	}, commands: []command{
		{
			name: "payout-rail connect", args: "KIND", about: "connect a program to a service that moves money",
			setUp: payoutRailConnect, more: payoutRailHelp, words: func() []string { return railKinds },
			examples: "rail payout-rail connect paypal --program prg_06h2 --client-id AY… --client-secret-file secret.txt\n" +
				"rail payout-rail connect webhook --program prg_06h2 --url https://pay.example/rail --methods wise,bank_transfer",
		},
		{
			name: "payout-rail limit", args: "RAIL_ID", about: "change what a rail may send without a person's confirmation",
			setUp: payoutRailLimit, examples: "rail payout-rail limit prl_06h2 --batch 500000 --day 1000000",
		},
		{
			name: "payout-rail list", about: "list a program's connections to services that move money", setUp: payoutRailList,
			examples: "rail payout-rail list --program prg_06h2",
		},
		{
			name: "payout-rail check", args: "RAIL_ID", about: "check a rail; status 1 if it cannot send payouts",
			setUp: payoutRailCheck, examples: "rail payout-rail check prl_06h2",
		},
		{
			name: "payout-rail disconnect", args: "RAIL_ID", about: "end a rail permanently", setUp: payoutRailDisconnect,
			examples: "rail payout-rail disconnect prl_06h2",
		},
		{
			name: "statement-key rotate", about: "replace the key that signs an organization's statements",
			setUp: statementKeyRotate, more: statementKeyHelp, examples: "rail statement-key rotate --org org_06h2",
		},
		{
			name: "statement-key list", about: "list the public keys of an organization's statements",
			setUp: statementKeyList, examples: "rail statement-key list --json",
		},
		{
			name: "verify", args: "FILE...", about: "check signed statements; status 1 if one is wrong", setUp: verifyStatements,
			more: verifyHelp, examples: "rail verify statement.json --keys https://rail.example\n" +
				"rail verify 2026-*.json --keys rail-keys.json",
		},
		{
			name: "payouts export", about: "write the unpaid payouts of a batch to a file for PayPal, Wise or a bank",
			setUp: payoutsExport, more: exportHelp,
			examples: "rail payouts export --batch batch_06h2 --format wise > september.csv",
		},
		{
			name: "payouts paid", args: "PAYOUT_ID_OR_BATCH_ID", about: "mark exported payouts as paid",
			setUp: payoutsPaid, more: paidHelp, examples: "rail payouts paid batch_06h2\nrail payouts paid pyt_06h2 --external-id TR-7",
		},
		{
			name: "payouts fail", args: "PAYOUT_ID",
			about: "mark an exported payout, or one stuck at a payment rail, as failed",
			setUp: payoutsFail, examples: `rail payouts fail pyt_06h2 --reason "The account is closed."`,
		},
		{
			name: "link rate-override", args: "LINK_ID", about: "set a link's rate, which overrides every rule",
			setUp:    linkRateOverride,
			examples: "rail link rate-override lnk_06h2 --percent 2500\nrail link rate-override lnk_06h2 --clear",
		},
	}}
}

// dataGroup has the commands about the whole database.
func dataGroup() group {
	return group{title: "Data", families: map[string]string{
		"archive": "restore to any point in time", "secrets": "the secret key that seals values", "sample": "a program with sample data",
	}, commands: []command{
		{
			name: "audit", about: "check the data against its invariants; status 1 if one is violated", setUp: runAudit,
			more: auditHelp, examples: "rail audit\nrail audit --since-last --json",
		},
		{
			name: "backup", args: "FILE", about: "write the database, while servers use it, and its secret key into a file",
			setUp: backUp, more: backupHelp, examples: "rail backup /backups/rail-$(date +%F).rail",
		},
		{
			name: "export", about: "write a program's objects as CSV or NDJSON, all or those that changed", setUp: exportProgram,
			more: exportProgramHelp, examples: "rail export --program prg_06h2 --out /exports/acme\n" +
				"rail export --program prg_06h2 --out /exports/acme --format ndjson --since 5211",
		},
		{
			name: "archive base", about: "make a base backup in the archive now", setUp: archiveBase, more: archiveHelp,
			examples: "rail archive base",
		},
		{
			name: "archive list", about: "show the times that the archive can restore", setUp: archiveList, more: archiveHelp,
			examples: "RAIL_ARCHIVE_DIR=/backups/archive rail archive list",
		},
		{
			name: "restore", args: "FILE_OR_ARCHIVE", about: "fill an empty database from a backup or an archive, and check it",
			setUp: restore, more: restoreHelp, examples: "RAIL_DATA_DIR=/srv/rail rail restore /backups/rail-2026-11-01.rail\n" +
				"RAIL_DATA_DIR=/srv/rail rail restore /backups/archive --to 2026-11-01T12:00:00Z",
		},
		{
			name: "restore key", args: "FILE", about: "show the secret key in a backup", setUp: restoreKey,
			examples: "rail restore key /backups/rail-2026-11-01.rail",
		},
		{
			name: "secrets rotate", about: "seal the values of a former secret key with the current one",
			setUp: secretsRotate, more: rotateHelp, examples: "rail secrets rotate",
		},
		{
			name: "secrets adopt", about: "record the given secret key for a database that has none recorded",
			setUp: secretsAdopt, more: adoptHelp, examples: "rail secrets adopt --yes",
		},
		{name: "sample load", about: "load the sample program", setUp: sampleLoad, examples: "rail sample load"},
		{name: "sample clear", about: "delete every sample row", setUp: sampleClear, examples: "rail sample clear"},
	}}
}

// developGroup has the commands for developers.
func developGroup() group {
	return group{title: develop, families: map[string]string{"docs": "the guides, the reference and the operator's pages"}, commands: []command{
		{
			name: "listen", about: "send an organization's events to your own machine as they happen", setUp: listen,
			more: listenHelp, lasting: true,
			examples: "rail listen --forward-to http://localhost:3000/hooks\n" +
				"rail listen --url https://rail.example --key - --forward-to http://localhost:3000/hooks --events sale.created --print-body",
		},
		{
			name: "trigger", args: "EVENT_TYPE", about: "send the example of an event, signed as rail listen signs", setUp: trigger,
			more: triggerHelp, words: eventTypes, examples: "rail trigger sale.created --forward-to http://localhost:3000/hooks",
		},
		{
			name: "demo", about: "run the main job against a running server, and print each call as a line to paste", setUp: runDemo,
			pasted: true, more: demoHelp, examples: "rail demo\nrail demo --url https://rail.example --key -",
		},
		{
			name: "mcp", about: "connect an MCP client, such as an AI assistant, to a server", setUp: serveMCP, more: mcpHelp,
			lasting: true, examples: "rail mcp --url https://rail.example --key-file rail.key\nrail mcp --write",
		},
		{
			name: "doctor", args: "[URL]",
			about: "check a page that loads rail.js, or old links that were imported; status 1 if something is wrong",
			setUp: examine, more: doctorHelp,
			examples: "rail doctor https://shop.example/\nrail doctor\nrail doctor --program prg_06h2 https://shop.example/",
		},
		{
			name: "man", args: "FOLDER", about: "write the manual pages of all commands into a folder", setUp: manual,
			examples: "rail man /usr/local/share/man/man1",
		},
		{
			name: "docs export", args: "FOLDER", about: "write the documentation as pages that need no server, into an empty folder",
			setUp: docsExport, more: docsHelp, examples: "rail docs export /srv/docs",
		},
	}}
}
