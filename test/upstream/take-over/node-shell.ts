import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { KUBE_PROXY_ACCOUNT, kubeadmFiles } from '../../support/kubeadm/config-map.ts'
import type { Lab } from '../../support/lab/lab.ts'
import { tokenOfManifest } from '../../support/lab/manifest-account.ts'
import { NODE_NAME } from '../../support/lab/plan.ts'
import { upstreamProgram } from '../../support/lab/upstream-program.ts'

const LAUNCHER = new URL('../../../bin/node-proxy', import.meta.url).pathname
const IPTABLES = ['iptables', 'iptables-save', 'iptables-restore']
/** Where kubeadm's DaemonSet mounts the ConfigMap. */
const MOUNTED_AT = '/var/lib/kube-proxy'
const SECRETS = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The lab's node as an operator sees it, with the commands of the page: `systemctl` of two units,
 * `kube-proxy` and `node-proxy`, and the iptables of one variant.
 */
export interface NodeShell {
  /** Runs a command line as root of the node; its standard output. Throws when it fails. */
  run(line: string): Promise<string>
  logs(unit: Unit): string
  /** Ends both units at once. */
  stop(): Promise<void>
}

const UNITS = ['kube-proxy', 'node-proxy'] as const
type Unit = (typeof UNITS)[number]
const TIMEOUT_MS = 30_000
const TAIL = 3_000

export async function createNodeShell(lab: Lab, variant: IptablesVariant): Promise<NodeShell> {
  const folder = join(lab.folder, `node-${variant}`)
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  for (const name of IPTABLES) {
    for (const program of [name, name.replace('ip', 'ip6')]) {
      symlinkSync(`/usr/sbin/xtables-${variant}-multi`, join(bin, program))
    }
  }
  writeConfigMap(lab, folder)
  writeFileSync(join(folder, 'token'), await tokenOfManifest(lab.api, KUBE_PROXY_ACCOUNT), {
    mode: 0o600,
  })
  const kubeProxy = upstreamProgram('kube-proxy')
  program(join(bin, 'systemctl'), SYSTEMCTL, folder)
  program(join(bin, 'kube-proxy'), `exec ${kubeProxy} "$@"`, folder)
  program(join(bin, 'node-proxy'), `exec ${LAUNCHER} --iptables-backend=${variant} "$@"`, folder)
  for (const unit of UNITS) {
    const start = `exec ${unit} --config=${MOUNTED_AT}/config.conf --hostname-override=${NODE_NAME}`
    const config = unit === 'kube-proxy' ? 'for-kube-proxy' : 'as-it-is'
    program(join(folder, `${unit}.service`), `${mount(join(folder, config))}\n${start}`, folder)
  }
  const logs = (unit: Unit): string =>
    existsSync(join(folder, `${unit}.log`)) ? readFileSync(join(folder, `${unit}.log`), 'utf8') : ''
  const path = `${bin}:${process.env['PATH']}`
  return {
    run: (line) =>
      lab.node.namespace
        .exec(['env', `PATH=${path}`, 'sh', '-euc', line], { timeoutMs: TIMEOUT_MS })
        .catch((cause: unknown) => {
          throw new Error(`${line}\n${UNITS.map((unit) => logs(unit).slice(-TAIL)).join('\n')}`, {
            cause,
          })
        }),
    logs,
    stop: async () => {
      for (const unit of UNITS)
        await lab.node.namespace.exec([join(bin, 'systemctl'), 'kill', unit])
    },
  }
}

/** In the mount namespace of `ip netns exec`, which ends with the process. */
function mount(folder: string): string {
  return `mount -t tmpfs none /var/lib && mkdir ${MOUNTED_AT} && cp ${folder}/* ${MOUNTED_AT}`
}

function program(path: string, text: string, folder: string): void {
  writeFileSync(path, `#!/bin/sh\nset -eu\nunits=${folder}\n${text}\n`)
  chmodSync(path, 0o755)
}

/** The command of the page for one unit: its last argument. */
const SYSTEMCTL = `
for unit do :; done
case "$1" in
start | enable)
  setsid "$units/$unit.service" </dev/null >>"$units/$unit.log" 2>&1 &
  echo $! >"$units/$unit.pid"
  ;;
stop | disable)
  pid=$(cat "$units/$unit.pid")
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
  ;;
restart)
  "$0" stop "$unit"
  "$0" start "$unit"
  ;;
kill) [ ! -e "$units/$unit.pid" ] || kill -9 "$(cat "$units/$unit.pid")" 2>/dev/null || true ;;
*) exit 64 ;;
esac`

/** The files of the ConfigMap, where the API server and its secrets are those of the lab. */
function writeConfigMap(lab: Lab, folder: string): void {
  const files = kubeadmFiles()
  const config = files['config.conf']
  const kubeconfig = files['kubeconfig.conf']
    .replace(/server: .*/, `server: ${lab.api.url}`)
    .replaceAll(SECRETS, folder)
  writeFileSync(join(folder, 'ca.crt'), lab.api.ca ?? '')
  for (const [name, text] of [
    ['as-it-is', config],
    ['for-kube-proxy', inNamespace(config)],
  ] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'config.conf'), text)
    writeFileSync(join(folder, name, 'kubeconfig.conf'), kubeconfig)
  }
}

/** kube-proxy 1.20 ends where it may not set the size of the table, which is the machine's. */
function inNamespace(config: string): string {
  const settings = parse(config) as { conntrack: object }
  return stringify({ ...settings, conntrack: { ...settings.conntrack, maxPerCore: 0 } })
}
