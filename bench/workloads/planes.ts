import { readdirSync, readFileSync } from 'node:fs'
import { loadKubeconfig } from '../../src/client/connection/kubeconfig.ts'
import { type ApiClient, createApiClient } from '../../src/client/http/api-client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { startOrchServer } from '../../test/support/orchserver/orch-server-process.ts'
import { startKubeApiserver } from '../../test/upstream/kube-apiserver-process.ts'
import { expectOk, HollowKubelets } from './hollow-kubelets.ts'

const REQUESTS_PER_SECOND = 10_000
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const TICKS_A_SECOND = 100
const KIB_IN_MIB = 1_024

/** The control planes that are compared. */
export const PLANES = {
  'orch-server': () => startOrchServer(),
  kubernetes: () => startKubeApiserver({ workloads: true, requestsPerSecond: REQUESTS_PER_SECOND }),
} as const

export const FIGURES = [
  'all ready, s',
  'rolled out, s',
  'all gone, s',
  'processor, s',
  'most memory, MiB',
] as const
export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>

/** How many Pods, how many of them each Deployment has, and on how many nodes. */
export interface WorkloadSize {
  readonly pods: number
  readonly each: number
  readonly nodes: number
}

/**
 * Starts a control plane, and creates, rolls out and scales down Deployments on it. Processor time and memory are those of
 * everything that this process has started, so nothing else may run.
 */
export async function measureWorkloads(
  plane: keyof typeof PLANES,
  { pods, each, nodes }: WorkloadSize,
): Promise<Figures> {
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
    for (const name of names) expectOk(await client.create(DEPLOYMENTS, deployment(name, each)))
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

function deployment(name: string, replicas: number): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
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
