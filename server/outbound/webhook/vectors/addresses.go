// Package vectors has test vectors for webhooks: addresses, and signatures computed elsewhere. The tests and the
// bar share them.
package vectors

// Refused are addresses that no endpoint may have.
var Refused = []string{
	// The local machine, in every spelling of an IPv4 address that some parser accepts.
	"http://127.0.0.1/", "http://127.0.0.2/", "http://127.1/", "http://0/", "http://0.0.0.0/", "http://2130706433/",
	"http://0X7F000001/", "http://0x7f.1/",
	"http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://127.0.0.1.5/", "http://4294967297/",
	// Names that resolve locally.
	"http://localhost/", "http://LOCALHOST/", "http://foo.localhost/", "http://ip6-localhost/", "http://db/",
	"http://kubernetes.default.svc.cluster.local/",
	"http://localhost.localdomain/", "http://LocalHost.LocalDomain./", "http://localhost4.localdomain4/",
	"http://localhost6.localdomain6/", "http://router.lan/",
	"http://wiki.corp/", "http://nas.home/", "http://db.private/", "http://wiki.intranet/",
	"http://printer.local/", "http://intranet/", "http://nas.home.arpa/",
	"http://metadata.google.internal/computeMetadata/v1/", "http://instance-data/latest/meta-data/",
	// Cloud metadata services, which expose credentials.
	"http://instance-data.ec2.internal/", "http://169.254.169.254/latest/meta-data/", "http://169.254.169.123/",
	"http://0xa9fea9fe/", "http://0251.0376.0251.0376/",
	"http://169.16689662/", "http://192.0.0.192/latest/", "http://[fd00:ec2::254]/latest/meta-data/",
	"http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/",
	"http://[2002:a9fe:a9fe::1]/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://3232235521/",
	// Ranges that are not public hosts.
	"http://100.64.0.1/", "http://192.0.0.1/",
	"http://192.88.99.1/", "http://198.19.255.255/", "http://203.0.113.7/", "http://239.255.255.250:1900/",
	"http://255.255.255.255/",
	// IPv6, and IPv4 within it.
	"http://[::1]/", "http://[0000::1]/", "http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:ffff:7f00:0001]/",
	"http://[::ffff:8.8.8.8]/", "http://[::7f00:1]/",
	"http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b:1::a9fe:a9fe]/",
	"http://[2002:c0a8:1::]/",
	"http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[fd12:3456:789a::1]/", "http://[fe80::1%25eth0]/",
	"http://[fe80::a9fe:a9fe%251]/", "http://[fec0::1]/",
	"http://[ff0e::1]/", "http://[100::1]/", "http://[3fff::1]/", "http://[2001:2::1]/", "http://[::1", "http://::1/",
	"http://[::%31]/",
	// Addresses with a misleading host.
	"http://user:pass@example.com/", "http://@example.com/", "http://127.0.0.1:80@example.com/",
	"http://example.com%40127.0.0.1/", "http://example.com#@127.0.0.1/",
	"http://example.com\\@127.0.0.1/", "http:///127.0.0.1/", "//127.0.0.1/", "example.com/hook",
	"http://127.0.0.1%00.example.com/", "http://%31%32%37.0.0.1/",
	"http://127.0.0.1\n.example.com/", " http://example.com/", "http://exa mple.com/", "http://example.com:80:90/",
	"http://[::1]example.com/", "http://", "http://..",
	"http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://xn--/", "http://exa\u0000mple.com/",
	"file:///etc/passwd", "ftp://example.com/", "javascript:alert(1)", "ws://example.com/",
	"http+unix://%2Fvar%2Frun%2Fdocker.sock/",
	// Ports of other services, and the server's own host in capitals.
	"http://example.com:0/", "http://example.com:25/", "http://example.com:6379x/", "http://example.com:65536/",
	"http://example.com:-1/", "http://example.com:080/",
	"http://example.com:+80/", "http://example.com:/", "https://RAIL.example.org/hook",
}

// Accepted are addresses that an endpoint may have, even if their name does not resolve.
var Accepted = []string{
	"https://example.com/hooks", "http://example.com/hooks", "https://EXAMPLE.com/Hooks?x=1&y=%2F",
	"https://hooks.example.co.uk:8443/a/b", "https://example.com./hooks",
	"https://8.8.8.8/hook", "https://1.1.1.1:8080/", "https://100.63.255.255/", "https://100.128.0.1/",
	"https://172.15.255.255/", "https://172.32.0.1/",
	"https://169.253.255.255/", "https://[2606:4700:4700::1111]/", "https://[2001:4860:4860::8888]:8443/x",
	"https://bücher.example.com/",
	"https://xn--bcher-kva.example.com/", "https://127.0.0.1.example.com/", "https://localhost.example.com/",
	"https://internal.example.com/",
	"https://7f000001.example.com/", "https://hooks.test/in", "https://merchant.example/hook", "https://foo.invalid/",
}
