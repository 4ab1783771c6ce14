#!/bin/sh
# Stands in for docker or podman in tests. There is no engine: it checks what it is asked for, keeps a list of
# that, and runs the program with bubblewrap on this machine's own system, which it calls an image.
here=$(dirname "$0")
echo "$*" >>"$here/asked"

fail() {
  echo "stand-in: $*" >&2
  exit 125
}

# The init of a container that is alive, or nothing.
init_of() {
  pid=$(sed -n 's/.*"child-pid": *\([0-9]*\).*/\1/p' "$here/$1.info" 2>/dev/null)
  [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && echo "$pid"
}

case $1 in
info)
  echo 99.1
  exit 0
  ;;
image)
  [ "$5" = stand-in ] || { echo "Error: No such image: $5" >&2; exit 1; }
  echo sha256:0123abcd
  exit 0
  ;;
kill)
  pid=$(init_of "$4") || { echo "Error: No such container: $4" >&2; exit 1; }
  kill -KILL "$pid"
  exit
  ;;
rm)
  [ -n "$(init_of "$4")" ] || rm -f "$here/$4.info"
  exit 0
  ;;
inspect)
  [ -n "$(init_of "$6")" ] && { echo running; exit 0; }
  echo "Error: No such container: $6" >&2
  exit 1
  ;;
run) shift ;;
*) fail "unknown command $1" ;;
esac

name= entry= workdir=/ cidfile= envfile= confined=0
list=$(mktemp "$here/arguments.XXXXXX") || exit 125
give() { printf '%s\0' "$@" >>"$list"; }
give --unshare-user --unshare-pid --unshare-ipc --unshare-uts --disable-userns --cap-drop ALL --clearenv
give --ro-bind /usr /usr --proc /proc --dev /dev
for dir in bin sbin lib lib64; do
  if [ -L /$dir ]; then give --symlink "$(readlink /$dir)" /$dir; elif [ -d /$dir ]; then give --ro-bind /$dir /$dir; fi
done

while [ $# -gt 0 ]; do
  value=${1#*=}
  case $1 in
  --read-only | --cap-drop=ALL | --security-opt=no-new-privileges) confined=$((confined + 1)) ;;
  --rm | --init | --interactive | --pull=never | --ipc=private | --userns=keep-id) ;;
  --security-opt=label=disable | --hostname=windlass | --log-driver=none) ;;
  --ulimit=* | --memory=* | --memory-swap=* | --pids-limit=*) ;;
  --name=*) name=$value ;;
  --cidfile=*) cidfile=$value ;;
  --env-file=*) envfile=$value ;;
  --user=*) [ "$value" = "$(id -u):$(id -g)" ] || fail "another user: $value" ;;
  --network=none) give --unshare-net ;;
  --tmpfs=/tmp:*) give --tmpfs /tmp ;;
  --workdir=*) workdir=$value ;;
  --entrypoint=*) entry=$value ;;
  --mount=type=bind,source=*,target=*,readonly)
    source=${1#--mount=type=bind,source=} target=${1#*,target=}
    give --ro-bind "${source%%,target=*}" "${target%,readonly}"
    ;;
  --mount=type=bind,source=*,target=*)
    source=${1#--mount=type=bind,source=} target=${1#*,target=}
    give --bind "${source%%,target=*}" "$target"
    ;;
  --mount=type=tmpfs,target=*)
    target=${1#--mount=type=tmpfs,target=}
    give --tmpfs "${target%%,*}"
    ;;
  -*) fail "unknown flag $1" ;;
  *) break ;;
  esac
  shift
done
[ "$confined" = 3 ] || fail "a container without its confinement was asked for"
[ "$1" = sha256:0123abcd ] || fail "another image: $1"
[ -n "$entry" ] && [ -n "$name" ] && [ ! -e "$cidfile" ] || fail "no entry point, no name, or an old container id"
shift

give --setenv PATH /usr/local/bin:/usr/bin:/bin --chdir "$workdir"
while IFS= read -r line; do give --setenv "${line%%=*}" "${line#*=}"; done <"$envfile"
echo 0123abcd >"$cidfile"
exec 3<&0
bwrap --info-fd 8 --args 9 -- "$entry" "$@" <&3 8>"$here/$name.info" 9<"$list" &
client=$!
trap 'kill -TERM "$(init_of "$name")" "$client" 2>/dev/null' TERM
wait $client
code=$?
while kill -0 $client 2>/dev/null; do wait $client; code=$?; done
rm -f "$list"
exit $code
