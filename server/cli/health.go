package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/server/app/config"
)

// healthTimeout exceeds the probe's own timeout for the database.
const healthTimeout = 3 * time.Second

// health asks a running server whether it can answer requests. Minimal container images have no curl for that.
func health(fs *pflag.FlagSet) action {
	at := fs.String("url", "", "`URL` to ask; /readyz of RAIL_ADDR on this machine unless given")
	return func(ctx context.Context, env *Env, _ []string) error {
		address, name := *at, ""
		if address == "" {
			local, of, err := ownServer(env)
			if err != nil {
				return err
			}
			address, name = local+"/readyz", of
		}
		if err := checkWeb("--url", address); err != nil {
			return err
		}
		if err := ask(ctx, address, name); err != nil {
			return err
		}
		return env.print(map[string]string{"url": address, "status": "ok"}, line("ok"))
	}
}

// ownServer returns the local address of the configured server, with the name of its certificate, "" for none.
func ownServer(env *Env) (base, name string, err error) {
	addr, name := config.Address(env.Environ)
	base, err = localAddress(addr, name != "")
	return base, name, err
}

// localAddress returns the local URL of a server that listens on addr.
func localAddress(addr string, tls bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || port == "0" {
		return "", usagef("RAIL_ADDR %q has no port: give --url", addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // an image may not resolve localhost
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// ask fails unless the address answers 200 in time, with the answer's reason. It reads at most 1 KiB, since the
// address may be a foreign server. A local server is asked under its certificate's name, without verification.
func ask(ctx context.Context, address, name string) error {
	// A hanging probe has failed; its caller has a timeout too.
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	spoken := &tls.Config{ServerName: name, InsecureSkipVerify: name != ""} //nolint:gosec // of this machine alone
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: spoken}}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", address, res.StatusCode, strings.TrimSpace(string(body)))
	}
	return nil
}
