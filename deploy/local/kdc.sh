# shellcheck shell=bash
# shellcheck disable=SC2034 # `stack` uses COMMAND
# MIT Kerberos: the KDC of the realm STACK.TEST, for tests that log in to Kafka with tickets. It is started only when it
# is named. Sourced by `stack`.

KDC_FOLDER=debian-bookworm-krb5-admin-server

kdc_install() { debian_install bookworm krb5-admin-server; }

kdc_prepare() {
  local dir=$1
  kdc_config "$dir"
  [ -e "$dir/initialized" ] && return 0
  rm -rf "$dir/data" "$dir/stash"
  mkdir -p "$dir/data"
  {
    kdc_program "$dir" kdb5_util && "${COMMAND[@]}" create -s -r STACK.TEST -P stack-secret &&
      kdc_program "$dir" kadmin.local &&
      "${COMMAND[@]}" -r STACK.TEST -q "addprinc -pw broker-secret kafka/localhost" &&
      "${COMMAND[@]}" -r STACK.TEST -q "addprinc -pw relay-secret relay"
  } >>"$dir/server.log" 2>&1 </dev/null && : >"$dir/initialized"
}

kdc_config() {
  local dir=$1 port plugins
  port=$(<"$dir/port")
  plugins=$(echo "$CACHE/$KDC_FOLDER"/usr/lib/*-linux-gnu/krb5/plugins/kdb)
  cat >"$dir/krb5.conf" <<EOF
[libdefaults]
 default_realm = STACK.TEST
 dns_lookup_kdc = false
 udp_preference_limit = 1
[realms]
 STACK.TEST = {
  kdc = 127.0.0.1:$port
  database_module = stack
 }
[dbmodules]
 db_module_dir = $plugins
 stack = {
  db_library = db2
  database_name = $dir/data/principal
 }
EOF
  cat >"$dir/kdc.conf" <<EOF
[kdcdefaults]
 kdc_listen = 127.0.0.1:$port
 kdc_tcp_listen = 127.0.0.1:$port
[realms]
 STACK.TEST = {
  key_stash_file = $dir/stash
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }
EOF
}

# kdc_program DIR PROGRAM: set COMMAND to one of Kerberos' programs.
kdc_program() {
  debian_command "$KDC_FOLDER" "usr/sbin/$2"
  COMMAND=(env "KRB5_CONFIG=$1/krb5.conf" "KRB5_KDC_PROFILE=$1/kdc.conf" "${COMMAND[@]}")
}

kdc_command() {
  kdc_program "$1" krb5kdc
  COMMAND+=(-n -r STACK.TEST)
}

kdc_answers() { port_answers "$(port_of kdc)"; }
