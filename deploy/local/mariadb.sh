# shellcheck shell=bash
# MariaDB 10.11, from Debian bookworm. Sourced by `stack`.

MARIADB_SUITE=bookworm

mariadb_install() { debian_install $MARIADB_SUITE mariadb-server-core; }

mariadb_prepare() {
  local dir=$1
  mariadb_config "$dir" >"$dir/my.cnf"
  database_accounts >"$dir/accounts.sql"
  [ -e "$dir/initialized" ] && return 0
  say "making MariaDB's data folder"
  rm -rf "$dir/data"
  mkdir -p "$dir/data"
  mariadb_program "$dir"
  mariadb_system_tables | "${COMMAND[@]}" --bootstrap --skip-log-bin \
    --innodb-flush-log-at-trx-commit=0 >>"$dir/server.log" 2>&1 && : >"$dir/initialized"
}

# mariadb_system_tables: what the package's own mariadb-install-db feeds the server.
mariadb_system_tables() {
  local share=$CACHE/debian-$MARIADB_SUITE-mariadb-server-core/usr/share/mysql
  printf '%s;\n' "CREATE DATABASE IF NOT EXISTS mysql" "USE mysql" "SET @auth_root_socket = NULL"
  cat "$share"/mysql_system_tables.sql "$share"/mysql_performance_tables.sql \
    "$share"/mysql_system_tables_data.sql "$share"/maria_add_gis_sp_bootstrap.sql \
    "$share"/mysql_sys_schema.sql
}

mariadb_config() {
  local root=$CACHE/debian-$MARIADB_SUITE-mariadb-server-core
  database_common "$1"
  cat <<EOF
server-id = 2
binlog-format = ROW
character-set-server = utf8mb4
basedir = $root/usr
plugin-dir = $root/usr/lib/mysql/plugin
lc-messages-dir = $root/usr/share/mysql
character-sets-dir = $root/usr/share/mysql/charsets
EOF
}

mariadb_program() {
  debian_command debian-$MARIADB_SUITE-mariadb-server-core usr/sbin/mariadbd
  COMMAND+=("--defaults-file=$1/my.cnf")
}

mariadb_command() {
  mariadb_program "$1"
  COMMAND+=("--init-file=$1/accounts.sql")
}

mariadb_answers() { database_answers mariadb; }
