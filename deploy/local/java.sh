# shellcheck shell=bash
# shellcheck disable=SC2034 # `stack` uses COMMAND
# Servers from Maven artifacts: pom.xml names them, one profile each. Sourced by `stack`.

# java_folder PROFILE: the cache folder of its jars; another one when pom.xml changes.
java_folder() { printf '%s-%s' "$1" "$(cksum <"$HERE/pom.xml" | cut -d ' ' -f 1)"; }

java_install() {
  local folder
  folder=$(java_folder "$1")
  need java "$1" "Java 17 or later" || return 1
  [ -d "$CACHE/$folder" ] && return 0
  need mvn "$1" "Maven" && cached "$folder" java_fill "$1"
}

java_fill() {
  local profile=$1 into=$2 log=$2.log
  say "downloading $profile with Maven"
  if fetch "$log" mvn -B -q -U -Dstyle.color=never -f "$HERE/pom.xml" -P "$profile" \
    -Dmaven.wagon.http.connectionTimeout=15000 -Dmaven.wagon.http.readTimeout=60000 \
    -Daether.connector.connectTimeout=15000 -Daether.connector.requestTimeout=60000 \
    org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$into"; then
    rm -f "$log"
    return 0
  fi
  say "cannot download $profile from Maven's repositories: $(reason "$log") --" \
    "check the network, or name a mirror in Maven's settings.xml"
  rm -f "$log"
  return 1
}

# java_command PROFILE OPTION...: set COMMAND to java with the profile's class path.
java_command() {
  local folder
  folder=$(java_folder "$1")
  shift
  COMMAND=(java -cp "$CACHE/$folder/*" -Djava.net.preferIPv4Stack=true -Djava.awt.headless=true "$@")
}

STORE_PASSWORD=stack-secret

# server_certificate STORE: a server's key and certificate, once. The certificate is its own authority: tests make
# those of clients with the same key.
server_certificate() {
  [ -e "$1" ] && return 0
  need keytool certificates "comes with Java" || return 1
  rm -f "$1.new"
  keytool -genkeypair -alias stack -keyalg EC -groupname secp256r1 -validity 3650 -dname CN=localhost \
    -ext san=dns:localhost -ext bc=ca:true -storetype PKCS12 -keystore "$1.new" -storepass "$STORE_PASSWORD" &&
    mv "$1.new" "$1"
}
