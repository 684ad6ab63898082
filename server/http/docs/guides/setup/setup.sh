get() { curl -sS -H "Authorization: Bearer $KEY" -w '\n' "$RAIL/v1/$1"; }
# post prints the answer, copies it to answer.json, and returns its id.
post() {
  curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    -w '\n' "$RAIL/v1/$1" -d "$2" "${@:3}" |
    tee answer.json /dev/stderr | sed -nE 's/^\{"id":"([^"]+)".*/\1/p'
}
