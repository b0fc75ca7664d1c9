import { linesOf } from '../pages/page-commands.ts'
import type { Machine } from './machine.ts'

/** A command of a page that goes on until it is ended: a program with flags alone. */
const DAEMON = /^(?:bin\/)?(node-proxy|orch-server|orch-dns) --(?!cleanup|init-only|version|help)/

/** A copy: what `kubectl config` writes is no file of orch-server any more. */
export const ADMIN = 'export KUBECONFIG=/root/admin.kubeconfig'

/** Until a daemon serves. One that ends before does so when the time of the script is over. */
export const UNTIL_READY: Readonly<Record<string, string>> = {
  'orch-server': untilDone('curl -sfk https://127.0.0.1:6443/readyz'),
  'node-proxy': untilDone('curl -sf 127.0.0.1:10256/readyz'),
  'orch-dns': untilDone('curl -sf 127.0.0.1:9153/readyz'),
}

export function untilDone(command: string): string {
  return `until { ${command}; } >/dev/null 2>&1; do sleep 0.1; done\n`
}

/** In the folder of the version, with its programs. The unit `page-PROGRAM` is what would run in another terminal. */
const PRELUDE = `
PATH=$PATH:/opt/node-proxy/bin
[ ! -e /opt/node-proxy ] || cd /opt/node-proxy
daemon() {
  local program; program=$(realpath --no-symlinks "$(command -v "$1")"); shift
  systemd-run --quiet --collect --unit="page-\${program##*/}" --working-directory="$PWD" \\
    --setenv=PATH="$PATH" --uid="$USER" "$program" "$@"
}
`

/** Runs commands of pages; each daemon until it is ready, and on. */
export function runScript(machine: Machine, script: string): Promise<string> {
  const commands = linesOf(script).map((command) => {
    const [, program] = DAEMON.exec(command) ?? []
    return program === undefined ? command : `daemon ${command}\n${UNTIL_READY[program]}`
  })
  return machine.sh(`${PRELUDE}${commands.join('\n')}`)
}

/** Each command alone, whatever its exit code, which is 0 or 1: what it printed. */
export async function runEach(machine: Machine, script: string): Promise<readonly string[]> {
  const printed: string[] = []
  for (const command of linesOf(script)) {
    printed.push(await runScript(machine, `${ADMIN}\n${command} || [ $? = 1 ]`))
  }
  return printed
}

/** The machine has no other network than that of the loopback. */
export function addressed(address: string): string {
  return `ip link add eth0 type veth peer name eth1; ip link set eth1 up
ip addr add ${address}/24 dev eth0; ip link set eth0 up`
}
