# shellcheck shell=bash
# shellcheck disable=SC2034 # the other parts use these variables
# Folders, ports and processes, the same for all servers. Sourced by `stack`.
#
# Each server has a file NAME.sh with four functions:
#   NAME_install   download the software into $CACHE, once; 1 if it cannot be had
#   NAME_prepare   make the data folder and the configuration for the chosen port
#   NAME_command   set COMMAND to what to run
#   NAME_answers   whether a client would be served now
# In a server's folder: port, pid (process id and start time), server.log, data/, and `missing` if
# its software could not be had.

STACK=${STACK:-default}
STRICT=${STRICT:-}
ADMIN_USER=root
RELAY_USER=canal
RELAY_PASSWORD=canal
READY_SECONDS=300
STOP_SECONDS=30
COMMAND=()

say() { printf 'stack: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

set_folders() {
  [[ $STACK =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ && $STACK != cache ]] ||
    die "a stack cannot be named '$STACK': letters, digits, _ . - only, and not 'cache'"
  STATE=${CANAL_RELAY_STACK_DIR:-$REPO/.stack}
  CACHE=${CANAL_RELAY_CACHE:-$STATE/cache}
  mkdir -p "$STATE/$STACK" "$CACHE" || die "cannot make $STATE/$STACK and $CACHE"
  STATE=$(cd "$STATE" && pwd)
  CACHE=$(cd "$CACHE" && pwd)
}

dir_of() { printf '%s/%s/%s' "$STATE" "$STACK" "$1"; }

# lock_stack: one change at a time to a stack of this name. Held until the script ends (descriptor 8,
# which the servers do not inherit).
lock_stack() {
  exec 8>"$STATE/$STACK/lock"
  flock -n 8 && return 0
  say "another command is at work on stack $STACK; waiting for it"
  flock -w 600 8 || die "stack $STACK is still busy after 600 s"
}

# --- ports

port_answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port_freed PORT: whether nothing answers there, at once or within two seconds.
port_freed() {
  local tries=20
  while port_answers "$1"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}

# choose_port FILE: keep the port in FILE if nothing else has taken it, else choose a free one that
# no other stack remembers. Below 32768, so that no outgoing connection holds it.
choose_port() {
  local file=$1 port
  (
    flock 7
    [ -s "$file" ] && port_freed "$(<"$file")" && return 0
    while :; do
      port=$((20000 + RANDOM % 12000))
      grep -qsx "$port" "$STATE"/*/*/*port && continue
      port_answers "$port" || break
    done
    echo "$port" >"$file"
  ) 7>"$STATE/ports.lock"
}

port_of() { cat "$(dir_of "$1")/port" 2>/dev/null; }

# address_of NAME: where the server listens; empty if it is not meant to be up.
address_of() {
  [ ! -e "$(dir_of "$1")/pid" ] || printf '127.0.0.1:%s' "$(port_of "$1")"
}

# listener_of NAME LISTENER: the same for another port of the server, whose certificate names localhost.
listener_of() {
  [ ! -e "$(dir_of "$1")/pid" ] || printf 'localhost:%s' "$(cat "$(dir_of "$1")/$2-port" 2>/dev/null)"
}

missing_flag() {
  [ ! -e "$(dir_of "$1")/missing" ] || printf 1
}

export_line() { printf 'export %s=%s\n' "$1" "$(printf '%q' "$2" | sed "s/^''\$//")"; }

# --- processes

# started_at PID: the process's start time in clock ticks, which with its id names it for good;
# nothing if it is gone or only waits to be reaped. (While other threads of a killed process are still
# ending, its files and ports are still held, so that is not gone.)
started_at() {
  local line fields
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
  read -ra fields <<<"${line##*) }"
  [ "${fields[0]}" = Z ] && [ "${fields[17]}" -le 1 ] || echo "${fields[19]}"
}

# pid_of NAME: the server's process id if it runs.
pid_of() {
  local pid started
  { read -r pid started <"$(dir_of "$1")/pid"; } 2>/dev/null || return 1
  [ -n "$started" ] && [ "$(started_at "$pid")" = "$started" ] && echo "$pid"
}

# launch NAME: run COMMAND in the background, in a session of its own, and note its process id.
launch() {
  local dir pid
  dir=$(dir_of "$1")
  (
    cd "$dir" || exit 1
    exec 7>&- 8>&- 9>&- </dev/null >>server.log 2>&1
    setsid "${COMMAND[@]}" &
    pid=$!
    echo "$pid $(started_at "$pid")" >pid.new && mv pid.new pid
  )
}

# signal_server NAME SIGNAL
signal_server() {
  local pid
  pid=$(pid_of "$1") || { say "$1 is not running in stack $STACK"; return 1; }
  kill "-$2" "$pid"
  if [ "$2" = KILL ]; then
    gone_within "$1" 10
  fi
}

# gone_within NAME SECONDS
gone_within() {
  local tries=$(($2 * 10))
  while pid_of "$1" >/dev/null; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}

stop_server() {
  local name=$1 pid
  if pid=$(pid_of "$name"); then
    say "stopping $name"
    kill -TERM "$pid" && kill -CONT "$pid"
    if ! gone_within "$name" "$STOP_SECONDS"; then
      say "$name did not stop in $STOP_SECONDS s; killing it"
      kill -KILL "$pid"
      gone_within "$name" 10 || { say "$name (process $pid) does not end"; return 1; }
    fi
  fi
  rm -f "$(dir_of "$name")/pid"
}

# --- bringing one up

# bring_up NAME: have it running, if its software can be had; await_ready then waits for it.
bring_up() {
  local name=$1 dir
  dir=$(dir_of "$name")
  mkdir -p "$dir"
  pid_of "$name" >/dev/null && return 0
  rm -f "$dir/missing"
  "${name}_install" || { not_had "$name"; return; }
  choose_port "$dir/port"
  "${name}_prepare" "$dir" || { say "$name could not be set up; see $dir/server.log"; return 1; }
  "${name}_command" "$dir"
  say "starting $name on 127.0.0.1:$(port_of "$name")"
  launch "$name"
}

# not_had NAME: the software cannot be had. MySQL and Kafka have stand-ins, so that is no failure
# unless --strict; the other two have none.
not_had() {
  local name=$1
  rm -f "$(dir_of "$name")/pid"
  case $name in mysql | kafka) : >"$(dir_of "$name")/missing" ;; esac
  [ -z "$STRICT" ] || return 1
  case $name in
    mysql) say "no MySQL in stack $STACK: what needs a database uses MariaDB" ;;
    kafka) say "no Kafka in stack $STACK: what needs a broker uses one inside its process" ;;
    *) return 1 ;;
  esac
}

await_ready() {
  local name=$1 dir begun=$SECONDS told=$SECONDS
  dir=$(dir_of "$name")
  until "${name}_answers"; do
    if ! pid_of "$name" >/dev/null; then
      failed_to_start "$name" "ended while starting"
      return 1
    fi
    if [ $((SECONDS - begun)) -ge "$READY_SECONDS" ]; then
      failed_to_start "$name" "did not answer in $READY_SECONDS s"
      return 1
    fi
    if [ $((SECONDS - told)) -ge 10 ]; then
      told=$SECONDS
      say "waiting for $name ($((SECONDS - begun)) s)"
    fi
    sleep 0.2
  done
  say "$name is up on 127.0.0.1:$(port_of "$name")"
}

failed_to_start() {
  local log
  log=$(dir_of "$1")/server.log
  say "$1 $2; the end of $log:"
  tail -n 15 "$log" >&2
}

describe() {
  local name=$1 dir
  dir=$(dir_of "$name")
  if [ -e "$dir/missing" ]; then
    echo "missing (could not be downloaded)"
  elif [ ! -e "$dir/pid" ]; then
    echo "stopped"
  elif ! pid_of "$name" >/dev/null; then
    echo "dead    127.0.0.1:$(port_of "$name")"
  elif "${name}_answers"; then
    echo "up      127.0.0.1:$(port_of "$name")  process $(pid_of "$name")"
  else
    echo "silent  127.0.0.1:$(port_of "$name")  process $(pid_of "$name")"
  fi
}

# reply NAME BYTES REQUEST: send REQUEST (printf escapes) to the server and say how many bytes, of
# the first BYTES, came back within two seconds.
reply() {
  local port
  port=$(port_of "$1")
  # shellcheck disable=SC2016 # the inner shell expands them
  timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && printf "$2" >&3 && head -c "$1" <&3 | wc -c' \
    "$port" "$2" "$3" 2>/dev/null
}
