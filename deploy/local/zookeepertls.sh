# shellcheck shell=bash
# ZooKeeper 3.9 with its own TLS port, which only its Netty connections have: for tests that reach it so. It is started
# only when it is named. The plain port is for the readiness check. Sourced by `stack`.
#
# $CANAL_RELAY_ZOOKEEPER_CLIENT_AUTH says whether clients must show a certificate: need (as by default there), want or none.

zookeepertls_install() { java_install zookeeper; }

zookeepertls_prepare() {
  local dir=$1
  choose_port "$dir/tls-port"
  {
    server_certificate "$dir/server.p12" &&
      keytool -exportcert -rfc -alias stack -keystore "$dir/server.p12" -storepass "$STORE_PASSWORD" -file "$dir/ca.pem"
  } >>"$dir/server.log" 2>&1 || return 1
  mkdir -p "$dir/data"
  {
    zookeeper_config "$dir"
    cat <<EOF
secureClientPortAddress=127.0.0.1
secureClientPort=$(<"$dir/tls-port")
serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory
ssl.clientAuth=${CANAL_RELAY_ZOOKEEPER_CLIENT_AUTH:-need}
ssl.keyStore.location=$dir/server.p12
ssl.keyStore.password=$STORE_PASSWORD
ssl.trustStore.location=$dir/ca.pem
EOF
  } >"$dir/zoo.cfg"
}

zookeepertls_command() { zookeeper_command "$1"; }

zookeepertls_answers() {
  [ "$(reply zookeepertls 4 ruok)" = 4 ] && port_answers "$(<"$(dir_of zookeepertls)/tls-port")"
}
