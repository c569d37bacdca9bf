# shellcheck shell=bash
# MySQL 9.7. Debian's stable suite has none, so it comes from unstable. Sourced by `stack`.

MYSQL_SUITE=unstable

mysql_install() { debian_install $MYSQL_SUITE mysql-server-core; }

mysql_prepare() {
  local dir=$1
  mysql_config "$dir" >"$dir/my.cnf"
  database_accounts >"$dir/accounts.sql"
  [ -e "$dir/initialized" ] && return 0
  say "making MySQL's data folder"
  rm -rf "$dir/data"
  mysql_program "$dir"
  "${COMMAND[@]}" --initialize-insecure --skip-log-bin \
    --innodb-flush-log-at-trx-commit=0 >>"$dir/server.log" 2>&1 && : >"$dir/initialized"
}

mysql_config() {
  local root=$CACHE/debian-$MYSQL_SUITE-mysql-server-core
  database_common "$1"
  cat <<EOF
server-id = 11
gtid-mode = ON
enforce-gtid-consistency = ON
mysqlx = OFF
basedir = $root/usr
plugin-dir = $root/usr/lib/mysql/plugin
lc-messages-dir = $root/usr/share/mysql
character-sets-dir = $root/usr/share/mysql/charsets
EOF
}

mysql_program() {
  debian_command debian-$MYSQL_SUITE-mysql-server-core usr/sbin/mysqld
  COMMAND+=("--defaults-file=$1/my.cnf")
}

mysql_command() {
  mysql_program "$1"
  COMMAND+=("--init-file=$1/accounts.sql")
}

mysql_answers() { database_answers mysql; }
