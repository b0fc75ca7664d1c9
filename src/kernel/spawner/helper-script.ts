/**
 * The program of the helper process, for a POSIX shell; `$1` is the private
 * directory. Each line on standard input is a job of safe words (no globbing,
 * no evaluation: `read` splits them and they are used as they are). It answers
 * `id pid` when the program runs and `id pid status` when it ended. The files
 * of output and errors exist by then, also if the program was stopped before it
 * opened them. At end of input, also after the daemon was killed, running
 * programs finish and the directory is deleted.
 */
export const HELPER_SCRIPT = `
set -f
cd "$1" || exit 1
job() {
  id=$1
  shift
  : >"$id.out" 2>"$id.err"
  "$@" <"$id.in" >"$id.out" 2>"$id.err" &
  pid=$!
  echo "$id $pid"
  wait "$pid"
  echo "$id $pid $?"
}
while read -r line; do
  job $line &
done
wait
cd / && rm -rf -- "$1"
`
