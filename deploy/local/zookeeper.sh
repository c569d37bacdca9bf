# shellcheck shell=bash
# ZooKeeper 3.9, one server. Sourced by `stack`.

zookeeper_install() { java_install zookeeper; }

# The short tick lets a client have a session timeout of 1 s and up (twice the tick).
zookeeper_prepare() {
  mkdir -p "$1/data"
  zookeeper_config "$1" >"$1/zoo.cfg"
}

zookeeper_config() {
  local dir=$1
  cat <<EOF
tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
dataDir=$dir/data
clientPortAddress=127.0.0.1
clientPort=$(<"$dir/port")
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
EOF
}

zookeeper_command() {
  java_command zookeeper -Xmx256m -XX:+UseSerialGC -Dzookeeper.forceSync=no \
    -Dorg.slf4j.simpleLogger.showDateTime=true \
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS" \
    org.apache.zookeeper.server.ZooKeeperServerMain "$1/zoo.cfg"
}

zookeeper_answers() { [ "$(reply zookeeper 4 ruok)" = 4 ]; }
