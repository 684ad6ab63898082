# Sourced by make lint: makes sure that promtool is there, which judges the alert rules. The order: what is installed, what
# was fetched before, Debian's package of Prometheus, which is unpacked into .rail and not installed. Its Go module would
# compile for minutes, since it links the clients of every cloud.

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
