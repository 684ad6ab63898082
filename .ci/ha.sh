# Sourced by the Makefile: installs the requirements of make ha except PostgreSQL, as root by apt-get.

have_ha() {
  local program
  for program in patroni etcd ip setpriv; do
    command -v "$program" >/dev/null || return 1
  done
}

if ! have_ha; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo 'Patroni or etcd is missing: installing them with apt-get' >&2
    apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q patroni etcd-server etcd-client iproute2 >&2
  fi
  if ! have_ha; then
    echo 'make ha needs patroni, etcd, ip and setpriv, and root for network namespaces' >&2
    exit 1
  fi
fi
