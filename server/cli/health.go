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

// healthTimeout is longer than the probe itself takes to give up on a database.
const healthTimeout = 3 * time.Second

// health asks a running server whether it can answer requests. Images with nothing but the
// binary have no curl for that.
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

// ownServer returns where the server of this configuration is reached from its own machine, with the name that its
// certificate has, "" for none.
func ownServer(env *Env) (base, name string, err error) {
	addr, name := config.Address(env.Environ)
	base, err = localAddress(addr, name != "")
	return base, name, err
}

// localAddress returns the URL at which a server that listens on addr is reached
// from its own machine.
func localAddress(addr string, tls bool) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || port == "0" {
		return "", usagef("RAIL_ADDR %q tells no port: give --url", addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1" // an image may know no localhost
	}
	scheme := "http://"
	if tls {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// ask fails unless the address answers 200 in time, with the reason that the answer gives. At
// most 1 KiB of it is read: the address may be anybody's. A server of this machine is asked by the name that its
// certificate has, and believed.
func ask(ctx context.Context, address, name string) error {
	// A probe that hangs is a failed one; whoever runs it has a limit too.
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
