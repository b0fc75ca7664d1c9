import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadKubeconfig } from '../../src/client/connection/kubeconfig.ts'
import { type ApiClient, createApiClient } from '../../src/client/http/api-client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { startOrchServer } from '../../test/support/orchserver/orch-server-process.ts'
import { startKubeApiserver } from '../../test/upstream/kube-apiserver-process.ts'
import { median } from '../report/statistics.ts'
import { expectOk, HollowKubelets } from './hollow-kubelets.ts'

/**
 * Measures how long it takes until Deployments have all their Pods, have rolled out another image, and are gone; and
 * what the control plane needs for it: orch-server against etcd, kube-apiserver, kube-controller-manager and
 * kube-scheduler 1.20, which may make as many requests as they like. Both have the same nodes, whose kubelets answer at
 * once, from this process. Prints a table of medians.
 *
 *     NP_UPSTREAM_PROGRAMS=FOLDER scripts/node bench/workloads/main.ts
 *         [--pods=10000] [--each=500] [--nodes=100] [--rounds=3] [--planes=orch-server,kubernetes]
 *
 * `--each` is the number of replicas of a Deployment. `npm run test:upstream` says how the programs come to be.
 */
const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '10000' },
    each: { type: 'string', default: '500' },
    nodes: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    planes: { type: 'string', default: 'orch-server,kubernetes' },
  },
})
const [pods, each, nodes] = [values.pods, values.each, values.nodes].map(Number) as [
  number,
  number,
  number,
]
const REQUESTS_PER_SECOND = 10_000
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const TICKS_A_SECOND = 100
const KIB_IN_MIB = 1_024

const PLANES = {
  'orch-server': () => startOrchServer(),
  kubernetes: () => startKubeApiserver({ workloads: true, requestsPerSecond: REQUESTS_PER_SECOND }),
} as const

const FIGURES = [
  'all ready, s',
  'rolled out, s',
  'all gone, s',
  'processor, s',
  'most memory, MiB',
] as const
type Figures = Readonly<Record<(typeof FIGURES)[number], number>>

async function measure(plane: keyof typeof PLANES): Promise<Figures> {
  await using running = await PLANES[plane]()
  const path = running.kubeconfig
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'bench' })
  await using opened = new AsyncDisposableStack()
  opened.defer(() => client.close())
  await using kubelets = await HollowKubelets.start(client, nodes)
  const names = Array.from({ length: pods / each }, (_, serial) => `web-${serial}`)
  const before = usage().seconds
  const ready = await timed(async () => {
    for (const name of names) expectOk(await client.create(DEPLOYMENTS, deployment(name)))
    await kubelets.untilReady(image(1), pods)
  })
  const rolled = await timed(async () => {
    for (const name of names) await change(client, name, { template: template(name, 2) })
    await kubelets.untilReady(image(2), pods)
  })
  const gone = await timed(async () => {
    for (const name of names) await change(client, name, { replicas: 0 })
    await kubelets.untilReady(image(2), 0)
  })
  const { seconds, mebibytes } = usage()
  return {
    'all ready, s': ready,
    'rolled out, s': rolled,
    'all gone, s': gone,
    'processor, s': seconds - before,
    'most memory, MiB': mebibytes,
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1_000
}

async function change(client: ApiClient, name: string, spec: object): Promise<void> {
  const type = 'application/strategic-merge-patch+json'
  expectOk(await client.patch(`${DEPLOYMENTS}/${name}`, { spec }, { type }))
}

function image(version: number): string {
  return `example.com/web:${version}`
}

function template(app: string, version: number): object {
  const resources = { requests: { cpu: '100m', memory: '128Mi' } }
  return {
    metadata: { labels: { app } },
    spec: { containers: [{ name: 'web', image: image(version), resources }] },
  }
}

function deployment(name: string): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: each,
      selector: { matchLabels: { app: name } },
      template: template(name, 1),
    },
  }
}

/** Of all processes that this one has started and that still run: processor time, and the sum of their peaks. */
function usage(): { readonly seconds: number; readonly mebibytes: number } {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const parents = new Map(pids.map((pid) => [pid, statOf(pid)?.parent ?? '']))
  const isOurs = (pid: string): boolean => {
    const parent = parents.get(pid) ?? ''
    return parent === String(process.pid) || (parent !== '' && parent !== '0' && isOurs(parent))
  }
  const ours = pids.filter(isOurs)
  const ticks = ours.map((pid) => statOf(pid)?.ticks ?? 0)
  const peaks = ours.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
  })
  return { seconds: sum(ticks) / TICKS_A_SECOND, mebibytes: sum(peaks) / KIB_IN_MIB }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

/** Undefined where the process is gone. */
function statOf(pid: string): { readonly parent: string; readonly ticks: number } | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The name of the program may hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { parent: fields[1] ?? '', ticks: Number(fields[11]) + Number(fields[12]) }
}

const print = (line: string) => process.stdout.write(`${line}\n`)
print(`${pods} Pods of ${pods / each} Deployments on ${nodes} nodes, ${values.rounds} rounds`)
print(`| control plane | ${FIGURES.join(' | ')} |`)
print(`| --- |${' ---: |'.repeat(FIGURES.length)}`)
for (const plane of values.planes.split(',') as (keyof typeof PLANES)[]) {
  const rounds: Figures[] = []
  for (let n = 0; n < Number(values.rounds); n++) rounds.push(await measure(plane))
  const cells = FIGURES.map((figure) => {
    const samples = rounds.map((one) => one[figure])
    const [least, most] = [Math.min(...samples), Math.max(...samples)].map((one) => one.toFixed(1))
    return `${median(samples).toFixed(1)} (${least} … ${most})`
  })
  print(`| ${plane} | ${cells.join(' | ')} |`)
}
