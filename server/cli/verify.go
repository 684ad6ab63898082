package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"rail/server/money/proof"
)

const (
	// keysPath is where a server publishes the keys of its statements.
	keysPath = "/.well-known/rail-keys.json"
	// maxStatement bounds a file with a statement or with keys, in bytes.
	maxStatement = 64 << 20
)

// verified is the JSON of a checked file.
type verified struct {
	File      string `json:"file"`
	Number    string `json:"number"`
	PartnerID string `json:"partner_id"`
	// Lines is the number of checked lines; nil in a file without lines.
	Lines *int `json:"lines"`
	// Follows is the number of the given statement before this one, or nil.
	Follows *string `json:"follows"`
	// OrderLine is the number of the line of --order, 0 if there is none; nil without --order.
	OrderLine *int     `json:"order_line"`
	Faults    []string `json:"faults"`
}

// verifyStatements checks signed statements against published keys. It needs neither a database nor a configuration.
func verifyStatements(fs *pflag.FlagSet) action {
	from := fs.String("keys", "",
		"`URL_OR_FILE` of the keys; without it those of "+urlVariable+", or of RAIL_ADDR on this machine")
	order := fs.String("order", "", "`ORDER_ID` of a receipt, to find its line")
	return func(ctx context.Context, env *Env, files []string) error {
		keys, err := publishedKeys(ctx, env, *from)
		if err != nil {
			return err
		}
		out := make([]verified, len(files))
		docs := make([]proof.Document, len(files))
		for i, file := range files {
			out[i] = verified{File: file, Faults: []string{}}
			if docs[i], err = statementIn(file); err != nil {
				out[i].Faults = append(out[i].Faults, err.Error())
			}
		}
		failed := false
		for i, r := range proof.CheckEach(docs, keys) {
			out[i].add(r, docs[i], *order)
			failed = failed || len(out[i].Faults) > 0
		}
		if err := env.print(out, func() []string { return verifiedTable(out) }); err != nil {
			return err
		}
		if failed {
			return errFindings
		}
		return nil
	}
}

// add writes the result of a check. A file that is no statement has its fault already.
func (v *verified) add(r proof.Result, d proof.Document, order string) {
	if len(v.Faults) > 0 {
		return
	}
	v.Number, v.PartnerID = r.Number, r.Partner.ID
	if d.Lines != nil {
		n := len(d.Lines)
		v.Lines = &n
	}
	if r.Earlier != "" {
		v.Follows = &r.Earlier
	}
	for _, err := range r.Faults {
		v.Faults = append(v.Faults, err.Error())
	}
	if order != "" {
		n, err := d.FindOrder(order)
		if err != nil {
			v.Faults = append(v.Faults, err.Error())
		}
		v.OrderLine = &n
	}
}

// verifiedTable returns a line for each good file, and one for each fault.
func verifiedTable(all []verified) (rows []string) {
	for _, v := range all {
		if len(v.Faults) == 0 {
			rows = append(rows, v.File+"\tok\t"+v.sentence())
		}
		for _, fault := range v.Faults {
			rows = append(rows, v.File+"\twrong\t"+fault)
		}
	}
	return rows
}

// sentence describes a statement without a fault.
func (v verified) sentence() string {
	parts := []string{v.Number, "without lines"}
	if v.Lines != nil {
		parts[1] = counted(*v.Lines, "line")
	}
	if v.Follows != nil {
		parts = append(parts, "follows "+*v.Follows)
	}
	if v.OrderLine != nil && *v.OrderLine > 0 {
		parts = append(parts, fmt.Sprintf("the order is on line %d", *v.OrderLine))
	} else if v.OrderLine != nil {
		parts = append(parts, "the order is not on it")
	}
	return strings.Join(parts, ", ")
}

// statementIn reads a signed statement from a file.
func statementIn(file string) (proof.Document, error) {
	f, err := os.Open(file)
	if err != nil {
		return proof.Document{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxStatement))
	if err != nil {
		return proof.Document{}, err
	}
	d, _, err := proof.Parse(text)
	return d, err
}

// publishedKeys reads published keys from a file or a server. The address of a server is completed.
func publishedKeys(ctx context.Context, env *Env, from string) ([]proof.Key, error) {
	if from == "" {
		base, err := remote{url: new(string)}.base(env)
		if err != nil {
			return nil, usagef("give --keys, or set %s", urlVariable)
		}
		from = base
	}
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		return namedKeys(from, text)
	}
	if err := checkWeb("--keys", from); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(from, ".json") {
		from = strings.TrimSuffix(from, "/") + keysPath
	}
	text, err := fetched(ctx, from)
	if err != nil {
		return nil, err
	}
	return namedKeys(from, text)
}

func namedKeys(from string, text []byte) ([]proof.Key, error) {
	keys, err := proof.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil
}

// fetched returns the text at an address.
func fetched(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Timeout: callTime}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, errors.Unwrap(err))
	}
	defer res.Body.Close() //nolint:errcheck // only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", address, res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxStatement))
}

// verifyHelp describes the files and the meaning of a check.
func verifyHelp() string {
	return `FILE is a statement as GET /v1/payouts/{id}/statement answers it. Each file is checked for its signature, the
validity of the key at that time, and its lines. Several files of one partner are also checked for gaps. A fault is a
line, and the exit status is 1.

With a file of keys the check needs no network: save /.well-known/rail-keys.json once, since keys are never deleted. The
check proves that the organization signed exactly this statement. It cannot prove that every sale was recorded.
`
}
