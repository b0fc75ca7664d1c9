import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../support/on-demand/root.ts'
import type { Cluster } from './cluster.ts'
import { LAN, POD_NETWORKS } from './plan.ts'
import { eventually } from './programs.ts'

/** Modes for which every kernel has what they need; ipvs needs ip_vs. */
export const MODES = ['nftables', 'iptables', 'userspace'] as const
export type Mode = (typeof MODES)[number]

/** Further settings: every node enforces NetworkPolicies, also for addresses of Pods that it does not know yet. */
export const ENFORCING = 'networkPolicy: {enforce: true, unknownPods: deny}'

const MODE_MS = 180_000
const HERE = '127.0.0.1'

/** Applies config/kubernetes/node-proxy, edited as docs/operate/install.md says; resolves when it is ready everywhere. */
export async function installNodeProxy(
  cluster: Cluster,
  mode: Mode,
  settings?: string,
): Promise<void> {
  const { kubectl } = cluster
  await kubectl.run(['apply', '-f', manifest('rbac.yaml')])
  await kubectl.run(['apply', '-f', '-'], { input: nodeProxyConfigMap(mode, settings) })
  await kubectl.run(['apply', '-f', '-'], { input: daemonSet(cluster.plane.port) })
  await kubectl.rolledOut('daemonset/node-proxy', 'kube-system')
}

/** Changes the mode by the ConfigMap alone; resolves when every node forwards in it, with the seconds that took. */
export async function changeMode(cluster: Cluster, mode: Mode, settings?: string): Promise<number> {
  const began = performance.now()
  const input = nodeProxyConfigMap(mode, settings)
  await cluster.kubectl.run(['apply', '-f', '-'], { input })
  await Promise.all(cluster.nodes.map((node) => servesIn(node, mode)))
  return (performance.now() - began) / 1_000
}

/** A machine with node-proxy. */
interface ProxyMachine {
  readonly name: string
  /** Where its proxy serves its pages to `run`; 127.0.0.1 unless set. */
  readonly pages?: string
  /** Runs a command line; its standard output. */
  run(line: string): Promise<string>
}

export interface ServingLimit {
  readonly timeoutMs?: number
  /** What explains a failure. */
  readonly why?: () => string
}

/** Resolves once the proxy of a machine is ready in a mode. */
export async function servesIn(
  machine: ProxyMachine,
  mode: Mode | 'ipvs',
  { timeoutMs = MODE_MS, why = () => '' }: ServingLimit = {},
): Promise<void> {
  const { name, pages = HERE } = machine
  await eventually(
    `${name} serves in ${mode} mode`,
    async () => {
      const current = await modeOf(machine)
      if (current !== mode) throw new Error(`it serves in ${current}`)
      await machine.run(`curl -sSf --max-time 5 http://${pages}:10256/readyz`)
      return true
    },
    { timeoutMs, why },
  )
}

/** By the word of the machine's proxy, which adds the data path of userspace mode. */
export async function modeOf(machine: ProxyMachine): Promise<string> {
  const { pages = HERE } = machine
  const said = await machine.run(`curl -sS --max-time 5 http://${pages}:10249/proxyMode`)
  return said.trim().replace(/ \(.*\)$/, '')
}

function manifest(name: string): string {
  return join(root, 'config/kubernetes/node-proxy', name)
}

/** Its ConfigMap, with the networks of the cluster and further settings. */
export function nodeProxyConfigMap(mode: Mode, settings?: string): string {
  const more = settings === undefined ? '' : `\n$1${settings}`
  return edited('configmap.yaml', [
    [/^( +)mode: iptables$/m, `$1mode: ${mode}${more}`],
    [/^( +clusterCIDR:) .*$/m, `$1 ${POD_NETWORKS}`],
  ])
}

/** No proxy runs that would lead the first of them to the API server. */
function daemonSet(port: number): string {
  return edited('daemonset.yaml', [
    [/# (- name: KUBERNETES_SERVICE_HOST\n +)# ( +value:) .*$/m, `$1$2 ${LAN.v4}`],
    [/# (- name: KUBERNETES_SERVICE_PORT\n +)# ( +value:) .*$/m, `$1$2 '${port}'`],
  ])
}

/** A manifest with lines replaced. Throws where one is not there. */
function edited(name: string, changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce(
    (text, [pattern, replacement]) => {
      if (!pattern.test(text)) throw new Error(`${name} has no ${pattern}: correct the pattern`)
      return text.replace(pattern, replacement)
    },
    readFileSync(manifest(name), 'utf8'),
  )
}
