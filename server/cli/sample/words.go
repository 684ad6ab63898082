package sample

import "strings"

// Parts of names, pages and devices. RFC 2606 reserves the domains for examples, so that mail to sample partners
// reaches no one. A repeated word is drawn more often.
var (
	firstNames = strings.Fields(`Maya Jonas Priya Luca Amelie Kenji Sofia Noah Aisha Mateo Freya Oliver Yuki Chloe
		Rafael Ingrid Samuel Leila Viktor Hannah
		Diego Nina Tariq Emma Haruto Clara Felix Zoe Marcus Elena Arjun Ida Theo Camille Omar Grace Pablo Astrid Daniel Mei
		Julien Rosa Anders Fatima Ben Linnea Hugo Naomi Ravi Alice Tomas Sakura Isaac Marta Leo Ana Erik Salma Finn Lucia`)
	lastNames = strings.Fields(`Tanaka Weber Sharma Rossi Dubois Novak Garcia Lindqvist Okafor Silva Andersen Brooks
		Sato Martin Costa Haugen Cohen Rahimi Petrov Schmidt
		Morales Kowalski Hassan Clarke Ito Bergmann Fischer Laurent Reed Popescu Patel Nilsson Moreau Farouk Murphy Herrera
		Dahl Wright Chen
		Lefebvre Romano Eriksen Mansour Carter Holm Vidal Yamamoto Nair Bennett Horvath Suzuki Adler Nowak Almeida`)
	companies = []string{"Studio", "Media", "Labs", "Collective", "Digital", "Press"}
	domains   = []string{"example.com", "example.org", "example.net"}

	partnerCountries  = strings.Fields("US US US US GB GB CA DE DE FR JP JP NL ES IT SE BR IN AU")
	customerCountries = strings.Fields("US US US US US US GB GB CA CA AU DE DE DE FR FR NL ES IT JP JP")
	languages         = map[string]string{
		"DE": "de", "FR": "fr", "JP": "ja", "ES": "es", "IT": "it", "SE": "sv", "BR": "pt", "NL": "nl",
	}
	// euro are the countries whose customers pay in euros; see isEuro.
	euro = "DE FR NL ES IT"

	pages  = []string{"/", "/templates", "/students", "/pricing", "/meeting-notes"}
	labels = map[string]string{
		"/templates": "Template gallery", "/students": "Student offer", "/pricing": "Plans",
		"/meeting-notes": "Meeting notes tour",
	}

	// User agents of 2024, with the kind that Rail derives from them.
	devices = []struct{ kind, agent string }{
		{
			"desktop",
			"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
		},
		{
			"desktop",
			"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
		},
		{"desktop", "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"},
		{
			"mobile",
			"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
		},
		{
			"mobile",
			"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
		},
		{
			"tablet",
			"Mozilla/5.0 (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
		},
	}
	// "" is a visit without a referer.
	referers = []string{
		"https://video.example/", "https://news.example/", "https://blog.example/", "https://search.example/", "",
	}
	campaigns = []string{"", "", "", "launch", "back-to-school", "review", "newsletter"}
)

// slug joins words in the form of handles and paths: in lower case, with hyphens.
func slug(words ...string) string { return strings.ToLower(strings.Join(words, "-")) }
