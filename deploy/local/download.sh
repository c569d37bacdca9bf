# shellcheck shell=bash
# Downloads into the shared cache: once, whole or not at all, one at a time. Sourced by `stack`.

DOWNLOAD_SECONDS=600

# cached FOLDER FILL...: have $CACHE/FOLDER, made by running FILL with an empty folder to fill. The
# lock lets stacks of different names share a cache.
cached() {
  local folder=$1 fresh status=0
  shift
  [ -d "$CACHE/$folder" ] && return 0
  (
    exec 9>"$CACHE/lock"
    flock -n 9 || { say "another stack is downloading; waiting for it"; flock 9; }
    [ -d "$CACHE/$folder" ] && exit 0
    fresh="$CACHE/$folder.part"
    rm -rf "$fresh"
    mkdir -p "$fresh" && "$@" "$fresh" && mv "$fresh" "$CACHE/$folder" || status=1
    rm -rf "$fresh"
    exit $status
  )
}

# need COMMAND FOR HINT: one line if a program is not on this machine.
need() {
  command -v "$1" >/dev/null && return 0
  say "cannot get $2: it needs '$1', which is not on this machine ($3)"
  return 1
}

# fetch LOG COMMAND...: run a download with a time limit, and twice more if it fails.
fetch() {
  local log=$1 try
  shift
  for try in 1 2 3; do
    timeout --foreground -k 5 "$DOWNLOAD_SECONDS" "$@" >"$log" 2>&1 && return 0
    [ $? -eq 124 ] && echo "E: no answer in $DOWNLOAD_SECONDS s" >>"$log"
    [ $try -eq 3 ] || sleep $((try * 2))
  done
  return 1
}

# reason LOG: the first error in a downloader's output, on one line, without passwords in addresses.
reason() {
  sed 's/\x1b\[[0-9;]*m//g' "$1" | grep -aE '^(E:|\[ERROR\]) ' | head -n 1 |
    sed -E 's#//[^/@ ]*@#//#g; s/^(E:|\[ERROR\]) //' | cut -c 1-500
}
