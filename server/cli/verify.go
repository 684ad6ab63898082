package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	// OrderLine is the number of the line of --order, 0 if there is none; nil without --order and in a file without lines.
	OrderLine *int     `json:"order_line"`
	Faults    []string `json:"faults"`
	// Unchecked is the reason for a signature that was not checked, or nil.
	Unchecked *string `json:"unchecked"`
}

// verifyStatements checks signed statements against published keys. It needs neither a database nor a configuration.
func verifyStatements(fs *pflag.FlagSet) action {
	from := fs.String("keys", "",
		"`URL_OR_FILE` of the keys; without it those of "+urlVariable+", or of RAIL_ADDR on this machine")
	order := fs.String("order", "", "`ORDER_ID` of a receipt, to find its line")
	return func(ctx context.Context, env *Env, files []string) error {
		out := make([]verified, len(files))
		docs := make([]proof.Document, len(files))
		for i, file := range files {
			var err error
			out[i] = verified{File: file, Faults: []string{}}
			if docs[i], err = statementIn(file); err != nil {
				out[i].Faults = append(out[i].Faults, err.Error())
			}
		}
		keys, err := publishedKeys(ctx, env, *from, docs)
		if err != nil {
			return err
		}
		failed := false
		for i, r := range proof.CheckEach(docs, keys.Keys) {
			out[i].add(r, docs[i], keys, *order)
			failed = failed || len(out[i].Faults) > 0 || out[i].Unchecked != nil
		}
		if err := env.print(out, func() []string { return verifiedTable(out, *order) }); err != nil {
			return err
		}
		if failed {
			return errFindings
		}
		return nil
	}
}

// add writes the result of a check. A file that is no statement has its fault already.
func (v *verified) add(r proof.Result, d proof.Document, keys proof.Keys, order string) {
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
		switch text := err.Error(); {
		case errors.Is(err, proof.ErrUnchecked):
			v.Unchecked = &text
		case errors.Is(err, proof.ErrKey) && keys.HasMore:
			v.Unchecked = new(fmt.Sprintf("statement %s: %s: key %s is not in the file, which has only the newest keys",
				r.Number, proof.ErrUnchecked, d.KeyID))
		default:
			v.Faults = append(v.Faults, text)
		}
	}
	if order != "" && d.Lines != nil {
		n, err := d.FindOrder(order)
		if err != nil {
			v.Faults = append(v.Faults, err.Error())
		}
		v.OrderLine = &n
	}
}

// verifiedTable returns a line for each good file, and one for each fault.
func verifiedTable(all []verified, order string) (rows []string) {
	for _, v := range all {
		if len(v.Faults) == 0 && v.Unchecked == nil {
			rows = append(rows, v.File+"\tok\t"+v.sentence(order))
		}
		if v.Unchecked != nil {
			rows = append(rows, v.File+"\tunchecked\t"+*v.Unchecked)
		}
		for _, fault := range v.Faults {
			rows = append(rows, v.File+"\twrong\t"+fault)
		}
	}
	return rows
}

// sentence describes a statement without a fault.
func (v verified) sentence(order string) string {
	parts := []string{v.Number, "without lines"}
	if v.Lines != nil {
		parts[1] = counted(*v.Lines, "line")
	}
	if v.Follows != nil {
		parts = append(parts, "follows "+*v.Follows)
	}
	switch {
	case order == "":
	case v.OrderLine == nil:
		parts = append(parts, "so the order was not looked up")
	case *v.OrderLine > 0:
		parts = append(parts, fmt.Sprintf("the order is on line %d", *v.OrderLine))
	default:
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

// publishedKeys reads the keys of documents from a file or a server. The address of a server is completed.
func publishedKeys(ctx context.Context, env *Env, from string, docs []proof.Document) (proof.Keys, error) {
	if from == "" {
		base, err := remote{url: new(string)}.base(env)
		if err != nil {
			return proof.Keys{}, usagef("give --keys, or set %s", urlVariable)
		}
		from = base
	}
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return proof.Keys{}, unavailable(err)
		}
		keys, err := proof.ParseKeys(text)
		if err != nil {
			return keys, unavailable(fmt.Errorf("%s: %w", from, err))
		}
		return keys, nil
	}
	if err := checkWeb("--keys", from); err != nil {
		return proof.Keys{}, err
	}
	if !strings.HasSuffix(from, ".json") {
		from = strings.TrimSuffix(from, "/") + keysPath
	}
	keys, err := fetchedKeys(ctx, from, docs)
	if err != nil {
		return keys, unavailable(err)
	}
	return keys, nil
}

// unavailable is the error of a command that has no keys: no statement is wrong.
func unavailable(err error) error {
	return fmt.Errorf("the statements %w: %w", proof.ErrUnchecked, err)
}

// fetchedKeys reads the file at an address. If the server has more keys, it is asked for those of the documents that are
// not in the file.
func fetchedKeys(ctx context.Context, address string, docs []proof.Document) (proof.Keys, error) {
	text, err := fetched(ctx, address)
	if err != nil {
		return proof.Keys{}, err
	}
	all, err := proof.ParseKeys(text)
	if err != nil {
		return all, fmt.Errorf("%s: %w", address, err)
	}
	if !all.HasMore {
		return all, nil
	}
	ids := map[string]bool{"": true}
	for _, k := range all.Keys {
		ids[k.ID] = true
	}
	for _, d := range docs {
		if ids[d.KeyID] {
			continue
		}
		ids[d.KeyID] = true
		one := address + "?id=" + url.QueryEscape(d.KeyID)
		if text, err = fetched(ctx, one); err != nil {
			return all, err
		}
		found, err := proof.ParseKeys(text)
		if err != nil && !errors.Is(err, proof.ErrNoKeys) {
			return all, fmt.Errorf("%s: %w", one, err)
		}
		all.Keys = append(all.Keys, found.Keys...)
	}
	all.HasMore = false
	return all, nil
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
line, and the exit status is 1. So it is if the keys cannot be read: the statement is then unchecked, not wrong.

With a file of keys the check needs no network: save /.well-known/rail-keys.json once, since keys are never deleted. The
check proves that the organization signed exactly this statement. It cannot prove that every sale was recorded.
`
}
