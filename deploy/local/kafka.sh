# shellcheck shell=bash
# Kafka 4.4: one broker that is its own controller (KRaft). Sourced by `stack`.

# The largest record, and with it the largest row the stack takes.
KAFKA_MESSAGE_BYTES=$((100 * 1024 * 1024))

# Two more listeners, told to clients under ports where nothing listens but what a test puts between:
# its proxy, which forwards to the listener. (Clients go where a broker says that it is.)
KAFKA_PROXIED=(proxy1-port proxied1-port proxy2-port proxied2-port)

# kafka_proxies: PROXY=LISTENER of each, as host:port.
kafka_proxies() {
  local dir
  dir=$(dir_of kafka)
  [ ! -e "$dir/pid" ] || printf '127.0.0.1:%s=127.0.0.1:%s 127.0.0.1:%s=127.0.0.1:%s' \
    "$(<"$dir/proxy1-port")" "$(<"$dir/proxied1-port")" "$(<"$dir/proxy2-port")" "$(<"$dir/proxied2-port")"
}

kafka_install() { java_install kafka; }

kafka_prepare() {
  local dir=$1 port
  for port in controller sasl saslssl ssl; do
    choose_port "$dir/$port-port"
  done
  for port in "${KAFKA_PROXIED[@]}"; do
    # What answers on a proxy's port is that proxy, not somebody else.
    [[ $port = proxy?-port && -s $dir/$port ]] || choose_port "$dir/$port"
  done
  server_certificate "$dir/broker.p12" >>"$dir/server.log" 2>&1 || return 1
  base64 -d <<<"$KAFKA_KEYTAB" >"$dir/kafka.keytab"
  kafka_config "$dir" >"$dir/server.properties"
  [ -e "$dir/data/meta.properties" ] && return 0
  mkdir -p "$dir/data"
  java_command kafka -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  "${COMMAND[@]}" kafka.tools.StorageTool format --cluster-id canal-relay-stack-0000 \
    --config "$dir/server.properties" >>"$dir/server.log" 2>&1
}

# The keys of kafka/localhost@STACK.TEST, made from the password broker-secret. A broker that only accepts tickets
# does not ask the KDC, so that tests start one when they need it.
KAFKA_KEYTAB=BQIAAABRAAIAClNUQUNLLlRFU1QABWthZmthAAlsb2NhbGhvc3QAAAABZVPxAAEAEgAg3qZX70bH1nwScVEpXKrW2NBmpkxLq8DnhOaHgn0QttcAAAAB

# Kafka sets aside log.index.size.max.bytes on disk for each partition; its default is ten times this.
# A killed broker may come back only when its session has run out, hence the shorter session.
kafka_config() {
  local dir=$1 port controller sasl saslssl ssl name
  port=$(<"$dir/port")
  controller=$(<"$dir/controller-port")
  sasl=$(<"$dir/sasl-port")
  saslssl=$(<"$dir/saslssl-port")
  ssl=$(<"$dir/ssl-port")
  cat <<EOF
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller,SASL://localhost:$sasl,SASLSSL://localhost:$saslssl,SSL://localhost:$ssl,PROXIED1://127.0.0.1:$(<"$dir/proxied1-port"),PROXIED2://127.0.0.1:$(<"$dir/proxied2-port")
advertised.listeners=PLAINTEXT://127.0.0.1:$port,SASL://localhost:$sasl,SASLSSL://localhost:$saslssl,SSL://localhost:$ssl,PROXIED1://127.0.0.1:$(<"$dir/proxy1-port"),PROXIED2://127.0.0.1:$(<"$dir/proxy2-port")
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,SASLSSL:SASL_SSL,SSL:SSL,PROXIED1:PLAINTEXT,PROXIED2:PLAINTEXT
ssl.keystore.type=PKCS12
ssl.keystore.location=$dir/broker.p12
ssl.keystore.password=$STORE_PASSWORD
ssl.truststore.type=PKCS12
ssl.truststore.location=$dir/broker.p12
ssl.truststore.password=$STORE_PASSWORD
listener.name.ssl.ssl.client.auth=required
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
sasl.kerberos.service.name=kafka
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
controller.quorum.voters=1@127.0.0.1:$controller
log.dirs=$dir/data
auto.create.topics.enable=true
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=5000
broker.heartbeat.interval.ms=1000
log.index.size.max.bytes=1048576
message.max.bytes=$KAFKA_MESSAGE_BYTES
replica.fetch.max.bytes=$KAFKA_MESSAGE_BYTES
socket.request.max.bytes=$((KAFKA_MESSAGE_BYTES + 28 * 1024 * 1024))
EOF
  for name in sasl saslssl; do
    kafka_logins "listener.name.$name" "$dir/kafka.keytab"
  done
}

# kafka_logins LISTENER KEYTAB: who is let in: relay by password and by an unsigned token, whoever has a ticket, and
# SCRAM users that tests make.
kafka_logins() {
  local of=org.apache.kafka.common.security
  cat <<EOF
$1.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER,GSSAPI
$1.plain.sasl.jaas.config=$of.plain.PlainLoginModule required user_relay="relay-secret";
$1.scram-sha-256.sasl.jaas.config=$of.scram.ScramLoginModule required;
$1.scram-sha-512.sasl.jaas.config=$of.scram.ScramLoginModule required;
$1.oauthbearer.sasl.jaas.config=$of.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
$1.gssapi.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true isInitiator=false keyTab="$2" principal="kafka/localhost@STACK.TEST";
EOF
}

kafka_command() {
  printf '[libdefaults]\n default_realm = STACK.TEST\n dns_lookup_kdc = false\n' >"$1/krb5.conf"
  java_command kafka -Xms256m -Xmx1g -Dorg.apache.logging.log4j.level=INFO "-Djava.security.krb5.conf=$1/krb5.conf"
  COMMAND+=(kafka.Kafka "$1/server.properties")
}

# An ApiVersions request; the broker answers once it is registered and serves.
kafka_answers() {
  [ "$(reply kafka 8 '\0\0\0\012\0\022\0\0\0\0\0\001\377\377')" = 8 ]
}
