# shellcheck shell=bash
# A second MySQL and a second MariaDB, for tests that make them replicas of the first. They are started only when they
# are named. Sourced by `stack`.

mysql2_install() { mysql_install; }
mysql2_prepare() { mysql_prepare "$1"; }
mysql2_answers() { database_answers mysql2; }
mysql2_command() {
  mysql_command "$1"
  COMMAND+=(--server-id=12)
}

mariadb2_install() { mariadb_install; }
mariadb2_prepare() { mariadb_prepare "$1"; }
mariadb2_answers() { database_answers mariadb2; }
mariadb2_command() {
  mariadb_command "$1"
  COMMAND+=(--server-id=3 --log-slave-updates)
}
