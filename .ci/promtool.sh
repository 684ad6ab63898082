# Sourced by make lint: finds promtool, which checks the alert rules. The order: an installed one, an earlier download,
# Debian's package of Prometheus, unpacked into .rail without installation. Its Go module would compile for minutes,
# because it links the clients of every cloud.

debian_promtool() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
  echo 'promtool is missing: unpacking it from the package prometheus into .rail' >&2
  mkdir -p .rail/prometheus
  (cd .rail/prometheus && apt-get download -q prometheus >&2 && dpkg -x prometheus_*.deb . && rm prometheus_*.deb)
}

export PATH="$PATH:$PWD/.rail/prometheus/usr/bin"
if ! command -v promtool >/dev/null && ! debian_promtool; then
  echo 'promtool is not installed: the alert rules are not tested' >&2
fi
