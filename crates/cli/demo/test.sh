# sh ./test.sh NAME: checks one function of calc.sh.
. ./calc.sh
same() {
    [ "$1" = "$2" ] || { echo "$3: expected $1, got '$2'"; exit 1; }
}
case "$1" in
add) same 5 "$(add 2 3)" "add 2 3" ;;
double) same 8 "$(double 4)" "double 4" ;;
report) same "4 doubled is 8" "$(report 4)" "report 4" ;;
esac
