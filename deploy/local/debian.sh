# shellcheck shell=bash
# shellcheck disable=SC2034 # `stack` uses COMMAND
# Servers from Debian packages, without installing them: apt resolves and downloads a package and its
# libraries with an empty idea of what is installed, `dpkg -x` unpacks them into the cache, and the
# server runs with the unpacked loader and libraries. The system is not touched, root is not needed,
# and a suite newer than the machine's own does no harm. Sourced by `stack`.

# debian_mirror: the machine's own mirror of Debian, from apt's sources; the public one by default.
debian_mirror() {
  local found=${CANAL_RELAY_DEBIAN_MIRROR:-}
  [ -n "$found" ] || found=$(
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
      grep -v '^[[:space:]]*#' | grep -oE '[a-z+]+://[^ ]+/debian/?( |$)' | head -n 1
  )
  found=${found%% *}
  found=${found%/}
  echo "${found:-https://deb.debian.org/debian}"
}

# debian_apt FOLDER ARGUMENTS...: apt-get with lists, sources and status of its own.
debian_apt() {
  local own=$1
  shift
  apt-get -q \
    -o Dir::State="$own" -o Dir::State::lists="$own/lists" -o Dir::State::status="$own/status" \
    -o Dir::Cache="$own/cache" -o Dir::Etc::sourcelist="$own/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null \
    -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User= \
    -o APT::Update::Error-Mode=any -o APT::Install-Recommends=false \
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o Acquire::Retries=0 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@"
}

# debian_libraries: from a simulated install's output, the server and the libraries it links to, but
# not what only its packaging scripts use.
debian_libraries() {
  awk '$1 == "Inst" { print $2 }' | grep -E '^lib|^zlib1g$|-server-core$|^krb5-(kdc|admin-server)$' | grep -v '^libperl'
}

# debian_install SUITE PACKAGE: unpack PACKAGE and its libraries into $CACHE/debian-SUITE-PACKAGE.
debian_install() {
  [ -d "$CACHE/debian-$1-$2" ] && return 0
  need apt-get "$2" "Debian or Ubuntu" && need dpkg "$2" "Debian or Ubuntu" || return 1
  cached "debian-$1-$2" debian_fill "$1" "$2"
}

debian_fill() {
  local suite=$1 package=$2 into=$3 mirror own keys=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$(debian_mirror)
  own=$into/apt
  mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
  : >"$own/status"
  [ -e $keys ] || { say "cannot get $package: no $keys (package debian-archive-keyring)"; return 1; }
  echo "deb [arch=$(dpkg --print-architecture) signed-by=$keys] $mirror $suite main" >"$own/sources.list"
  say "downloading $package from Debian $suite"
  export -f debian_apt debian_libraries debian_get
  fetch "$own/log" bash -c 'debian_get "$@"' - "$own" "$package" ||
    { debian_refused "$package" "$mirror" "$suite" "$own/log"; return 1; }
  debian_unpack "$package" "$own" "$into"
}

# debian_get FOLDER PACKAGE: the package and its libraries as they are now: the mirror may put other
# versions in their place at any moment, so that what fails begins with the lists again.
debian_get() {
  local names=()
  cd "$1" && rm -f ./*.deb && debian_apt "$1" update && debian_apt "$1" -s install "$2" >plan || return 1
  mapfile -t names < <(debian_libraries <plan)
  debian_apt "$1" download "${names[@]}"
}

debian_refused() {
  say "cannot download $1 from $(sed -E 's#//[^/@]*@#//#' <<<"$2") ($3): $(reason "$4") --" \
    "check the network, or name a mirror in CANAL_RELAY_DEBIAN_MIRROR"
}

debian_unpack() {
  local package=$1 own=$2 into=$3 file
  for file in "$own"/*.deb; do
    dpkg -x "$file" "$into" || { say "cannot unpack $file"; return 1; }
  done
  for file in "$own/$package"_*.deb; do
    say "unpacked $package $(dpkg-deb -f "$file" Version)"
  done
  rm -rf "$own" "$into"/usr/share/{doc,man,locale,lintian}
}

# debian_command FOLDER PROGRAM: set COMMAND to run PROGRAM of an unpacked folder.
debian_command() {
  local root=$CACHE/$1 loader library paths=""
  loader=$(find "$root/usr/lib" "$root/lib" -maxdepth 2 -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
  for library in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu "$root"/usr/lib/mysql/private; do
    [ -d "$library" ] && paths=$paths:$library
  done
  COMMAND=("$loader" --library-path "${paths#:}" "$root/$2")
}

# database_accounts: statements run at each start: an administrator and the relay's own user, made
# once and kept out of the binary log.
database_accounts() {
  cat <<EOF
SET SESSION sql_log_bin = 0;
CREATE USER IF NOT EXISTS '$ADMIN_USER'@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO '$ADMIN_USER'@'127.0.0.1' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS '$RELAY_USER'@'127.0.0.1' IDENTIFIED BY '$RELAY_PASSWORD';
GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '$RELAY_USER'@'127.0.0.1';
EOF
}

# database_common DIR: the part of my.cnf that MySQL and MariaDB share. Durability is off: a test
# database may lose its last second when the machine, not the server, goes down.
database_common() {
  local dir=$1
  mkdir -p "$dir/tmp"
  # A killed MySQL leaves a lock that it believes in while the dead process waits to be reaped.
  rm -f "$dir/data/server.sock.lock"
  cat <<EOF
[mysqld]
bind-address = 127.0.0.1
port = $(<"$dir/port")
datadir = $dir/data
tmpdir = $dir/tmp
socket = server.sock
pid-file = $dir/server.pid
secure-file-priv =
skip-name-resolve
log-bin = binlog
max-allowed-packet = 1G
innodb-flush-log-at-trx-commit = 2
sync-binlog = 0
EOF
  [ "$(id -u)" != 0 ] || echo "user = root"
}

# database_answers NAME: whether it greets a client; the greeting comes only after the init file.
database_answers() { [ "$(reply "$1" 5 '')" = 5 ]; }
