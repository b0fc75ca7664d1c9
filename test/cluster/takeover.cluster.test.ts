import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../support/on-demand/root.ts'
import { type Client, clientInPod, clientOutside } from './lab/clients.ts'
import { installKubeProxy } from './lab/kube-proxy.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { AT_LEAST_A_SECOND, IN_POD_EVERY_MS, OUTSIDE_EVERY_MS, printFailures } from './lab/load.ts'
import { clusterIpOf, nodePortOf, podOn } from './lab/lookups.ts'
import { changeMode, MODES, nodeProxyConfigMap } from './lab/node-proxy.ts'
import { useCluster } from './lab/use-cluster.ts'
import { ECHO_PORT, PORT, programs, serverOnEachNode, servers, service } from './lab/workloads.ts'
import type { HeldOutcome, RequestsOutcome } from './pods/tasks.ts'

const MINUTES = 60_000
const ORCHCTL = join(root, 'bin/orchctl')
const LABEL = 'orch.io/service-proxy'
const STREAMS = 20
const CLIENTS = ['from a Pod', 'to node-2', 'to node-1']

/** A cluster of kube-proxy, which moves to node-proxy and back while clients connect to both of its nodes. */
const cluster = useCluster(2, async (made) => {
  await installKubeProxy(made)
  const ports = [
    { name: 'http', port: 80, targetPort: PORT },
    { name: 'echo', port: 81, targetPort: ECHO_PORT },
  ]
  await made.kubectl.apply(
    programs(),
    servers('web', { replicas: 4 }),
    serverOnEachNode('client'),
    service('web', 'web', { type: 'NodePort', ports }),
  )
  for (const workload of ['deployment/web', 'daemonset/client'])
    await made.kubectl.rolledOut(workload)
})

const kubectl = (): Kubectl => cluster().kubectl
const table: string[] = []
let inPod: Client
beforeAll(async () => {
  const { metadata } = await podOn(kubectl(), 'client', 'node-1')
  inPod = clientInPod(kubectl(), metadata.name)
  if (!existsSync('/proc/sys/net/ipv4/vs')) {
    process.stderr.write('cluster: skipped: kube-proxy in ipvs mode; the kernel has no ip_vs\n')
  }
})
afterAll(() => {
  const head = ['way', 'new connections', 'failed', 'held connections', 'bytes', 'broken']
  const lines = [head.join(' | '), head.map(() => '---').join(' | '), ...table]
  process.stderr.write(`${lines.map((line) => `| ${line} |`).join('\n')}\n`)
})

test(
  'a node whose node-proxy crashes goes back by itself, and no connection fails',
  async () => {
    await useMode('nftables')
    const { said } = await loaded('to nftables, node-proxy of node-2 killed', async () =>
      takeOver(['--settle=30s'], 1, async (line) => {
        if (line.endsWith('node node-2: watch'))
          await cluster().nodes[1]?.killContainers('node-proxy')
      }),
    )
    expect(said.stdout).toMatch(
      /^node-1: moved \(\d+ new connections, 0 failed; 1 held, 0 reset\)$/m,
    )
    expect(said.stdout).toMatch(/^node-2: back: Pod node-proxy-\w+ has restarted /m)
    expect(await labels()).toEqual({ 'node-1': 'node-proxy', 'node-2': 'kube-proxy' })
    expect(await proxiesOf('node-2')).toEqual(['kube-proxy'])
  },
  15 * MINUTES,
)

/** Nodes do not move in userspace mode: the running daemons change to it afterwards, and before the way back. */
describe.each(MODES)('%s mode', (mode) => {
  const movesIn = mode === 'userspace' ? 'iptables' : mode
  beforeAll(async () => {
    await takeOver(['--back'])
    await useMode(movesIn)
  }, 10 * MINUTES)

  test(
    'from kube-proxy no connection fails, and none that is held breaks',
    async () => {
      const { held } = await loaded(`kube-proxy iptables → ${mode}`, async () => {
        const said = await takeOver()
        if (mode !== movesIn) await changeMode(cluster(), mode)
        return said
      })
      expect(held.broken).toEqual({})
      expect(await labels()).toEqual({ 'node-1': 'node-proxy', 'node-2': 'node-proxy' })
    },
    15 * MINUTES,
  )

  test(
    'back to kube-proxy no connection fails, and none that is held breaks unless node-proxy forwards it itself',
    async () => {
      const { held } = await loaded(`${mode} → kube-proxy iptables`, async () => {
        if (mode !== movesIn) {
          expect((await takeOver(['--back'], 1)).stdout).toContain('mode: userspace')
          await changeMode(cluster(), movesIn)
        }
        return takeOver(['--back'])
      })
      if (mode !== 'userspace') expect(held.broken).toEqual({})
      expect(await labels()).toEqual({ 'node-1': undefined, 'node-2': undefined })
      expect(await proxiesOf('node-1')).toEqual(['kube-proxy'])
    },
    15 * MINUTES,
  )
})

interface Said {
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command; `heard` gets each line of its progress. */
async function takeOver(
  args: readonly string[] = [],
  exitCode = 0,
  heard: (line: string) => Promise<void> = async () => undefined,
): Promise<Said> {
  const kubeconfig = kubectl().command.find((word) => word.startsWith('--kubeconfig='))
  if (kubeconfig === undefined) throw new Error('kubectl has no --kubeconfig')
  const command = ['take-over', '--yes', '--settle=5s', kubeconfig, ...args]
  const running = execa(ORCHCTL, command, { reject: false, timeout: 10 * MINUTES })
  const reactions: Promise<void>[] = []
  createInterface(running.stderr).on('line', (line) => void reactions.push(heard(line)))
  const { exitCode: code, stdout, stderr } = await running
  await Promise.all(reactions)
  process.stderr.write(`${stdout}\n`.replaceAll(/^(?=.)/gm, 'cluster: orchctl: '))
  if (code !== exitCode)
    throw new Error(`orchctl ${command.join(' ')}: ${code}\n${stdout}\n${stderr}`)
  return { stdout, stderr }
}

/** Connects to both nodes from outside and from a Pod, and holds connections of both, meanwhile. */
async function loaded(
  way: string,
  change: () => Promise<Said>,
): Promise<{ readonly said: Said; readonly held: HeldOutcome }> {
  const [first, second] = cluster().nodes.map(({ addresses }) => addresses.v4)
  const nodePort = await nodePortOf(kubectl(), 'web')
  const clusterIp = await clusterIpOf(kubectl(), 'web')
  const outcomes: RequestsOutcome[] = []
  const holdings: HeldOutcome[] = []
  const saids: Said[] = []
  const http = (host: string, everyMs: number) =>
    ({ kind: 'http', url: `http://${host}/`, everyMs }) as const
  const connecting = async (): Promise<void> => {
    const outside = clientOutside()
    const half = OUTSIDE_EVERY_MS * 2
    const a = http(`${first}:${nodePort}`, half)
    const b = http(`${second}:${nodePort}`, half)
    const pod = http(clusterIp, IN_POD_EVERY_MS)
    const inner = async (): Promise<void> => void saids.push(await change())
    const middle = async (): Promise<void> => void outcomes.push(await inPod.during(pod, inner))
    const outer = async (): Promise<void> => void outcomes.push(await outside.during(b, middle))
    outcomes.push(await outside.during(a, outer))
  }
  const fromPod = async (): Promise<void> => {
    const task = { host: clusterIp, port: 81, streams: STREAMS }
    holdings.push(await inPod.holding(task, connecting))
  }
  const echo = await echoPort()
  const task = { host: second ?? '', port: echo, streams: STREAMS }
  holdings.push(await clientOutside().holding(task, fromPod))
  return summed(way, outcomes, holdings, saids)
}

function summed(
  way: string,
  outcomes: readonly RequestsOutcome[],
  holdings: readonly HeldOutcome[],
  saids: readonly Said[],
): { readonly said: Said; readonly held: HeldOutcome } {
  const attempts = outcomes.reduce((sum, one) => sum + one.attempts, 0)
  const rate = outcomes.reduce((sum, one) => sum + one.attempts / one.seconds, 0)
  const streams = holdings.reduce((sum, one) => sum + one.streams, 0)
  const exchanged = holdings.reduce((sum, one) => sum + one.exchanged, 0)
  // The client that began last ends first.
  const named = outcomes.map(({ failures: counts }, index) =>
    byClient(counts, CLIENTS[index] ?? ''),
  )
  const failures = countsOf(named)
  const broken = countsOf(holdings.map((one) => one.broken))
  table.push([way, attempts, textOf(failures), streams, exchanged, textOf(broken)].join(' | '))
  process.stderr.write(`cluster: | ${table.at(-1)} |\n`)
  for (const [index, outcome] of outcomes.entries()) printFailures(CLIENTS[index] ?? '', outcome)
  expect(failures).toEqual({})
  expect(rate).toBeGreaterThan(AT_LEAST_A_SECOND)
  expect(exchanged).toBeGreaterThan(streams * 100)
  const [said = { stdout: '', stderr: '' }] = saids
  return { said, held: { streams, exchanged, broken } }
}

function countsOf(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [why, count] of all.flatMap((one) => Object.entries(one))) {
    sums[why] = (sums[why] ?? 0) + count
  }
  return sums
}

function byClient(
  counts: Readonly<Record<string, number>>,
  client: string,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(counts).map(([why, count]) => [`${why} ${client}`, count]),
  )
}

function textOf(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([why, count]) => `${count} ${why}`)
  return parts.length === 0 ? '0' : parts.join(', ')
}

/** The ConfigMap that node-proxy starts with, as the page says. */
async function useMode(mode: (typeof MODES)[number]): Promise<void> {
  await kubectl().run(['apply', '-f', '-'], { input: nodeProxyConfigMap(mode) })
}

async function echoPort(): Promise<number> {
  const path = 'jsonpath={.spec.ports[?(@.name=="echo")].nodePort}'
  return Number(await kubectl().run(['get', 'service', 'web', '-o', path]))
}

async function labels(): Promise<Record<string, string | undefined>> {
  interface Nodes {
    readonly items: readonly { metadata: { name: string; labels: Record<string, string> } }[]
  }
  const { items } = await kubectl().get<Nodes>('nodes')
  return Object.fromEntries(items.map(({ metadata: { name, labels: of } }) => [name, of[LABEL]]))
}

/** The names of the DaemonSets that have a Pod of kube-system on a node. */
async function proxiesOf(node: string): Promise<readonly string[]> {
  interface Pods {
    readonly items: readonly { metadata: { ownerReferences?: readonly { name: string }[] } }[]
  }
  const selector = `--field-selector=spec.nodeName=${node}`
  const { items } = await kubectl().get<Pods>('pods', '-n', 'kube-system', selector)
  return items.flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(({ name }) => name))
}
