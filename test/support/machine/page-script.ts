import { linesOf } from '../pages/page-commands.ts'
import type { Machine } from './machine.ts'

/** A command of a page that runs until it is stopped: a program with flags only. */
const DAEMON = /^(?:bin\/)?(node-proxy|orch-server|orch-dns) --(?!cleanup|init-only|version|help)/

/** Uses a copy of the kubeconfig, so that `kubectl config` does not change the file of orch-server. */
export const ADMIN = 'export KUBECONFIG=/root/admin.kubeconfig'

/** Commands that wait until a daemon serves. If it does not, they fail with the end of the journal. */
export const UNTIL_READY: Readonly<Record<string, string>> = {
  'orch-server': untilDone('curl -sfk https://127.0.0.1:6443/readyz'),
  'node-proxy': untilDone('curl -sf 127.0.0.1:10256/readyz'),
  'orch-dns': untilDone('curl -sf 127.0.0.1:9153/readyz'),
}

export function untilDone(command: string): string {
  return `SECONDS=0
until { ${command}; } >/dev/null 2>&1; do
  [ $SECONDS -lt 150 ] || { journalctl --no-pager --lines=80 _TRANSPORT=stdout >&2; exit 1; }
  sleep 0.1
done
`
}

/** Enters the folder of the version. A program that would run in another terminal runs as the unit `page-PROGRAM`. */
const PRELUDE = `
PATH=$PATH:/opt/node-proxy/bin
[ ! -e /opt/node-proxy ] || cd /opt/node-proxy
daemon() {
  local program; program=$(realpath --no-symlinks "$(command -v "$1")"); shift
  systemd-run --quiet --collect --unit="page-\${program##*/}" --working-directory="$PWD" \\
    --setenv=PATH="$PATH" --uid="$USER" "$program" "$@"
}
`

/** Runs commands of pages. Waits until each daemon is ready, and leaves it running. */
export function runScript(machine: Machine, script: string): Promise<string> {
  const commands = linesOf(script).map((command) => {
    const [, program] = DAEMON.exec(command) ?? []
    return program === undefined ? command : `daemon ${command}\n${UNTIL_READY[program]}`
  })
  return machine.sh(`${PRELUDE}${commands.join('\n')}`)
}

/** Runs each command separately. Its exit code may be 0 or 1. @returns what each command printed */
export async function runEach(machine: Machine, script: string): Promise<readonly string[]> {
  const printed: string[] = []
  for (const command of linesOf(script)) {
    printed.push(await runScript(machine, `${ADMIN}\n${command} || [ $? = 1 ]`))
  }
  return printed
}

/** The command that gives the machine an interface with an address; by itself it only has the loopback. */
export function addressed(address: string): string {
  return `ip link add eth0 type veth peer name eth1; ip link set eth1 up
ip addr add ${address}/24 dev eth0; ip link set eth0 up`
}
