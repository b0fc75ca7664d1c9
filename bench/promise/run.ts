import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { request } from 'undici'
import { hasKubeProxy, KUBE_PROXY_NAME } from '../daemon/kube-proxy.ts'
import { CONTROL, NODE_NAME, replacementAddress } from '../lab/plan.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { counter } from '../measure/counter.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import { saveResults } from '../report/files.ts'
import type { Figure, PromiseMachine } from '../report/promise/results.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { writePrograms } from '../start/programs.ts'
import { dnsFigures, userspaceFigures, workloadFigures } from './other-figures.ts'
import { type ServiceRepeats, serviceFigures } from './service-figures.ts'
import { subjectsOf } from './subjects.ts'

/** How much is measured. */
interface Plan {
  readonly sizes: Readonly<Record<number, ServiceRepeats>>
  readonly userspace: { readonly rounds: number; readonly roundMs: number }
  readonly dns: { readonly services: number; readonly rounds: number; readonly seconds: number }
  readonly workloadRounds: number
}

const NONE = [0, 0] as const

/** A change takes kube-proxy so long that fewer have to do. */
const FULL: Plan = {
  sizes: {
    10: { starts: [5, 5], changes: NONE, bursts: NONE, idleSeconds: NONE, connections: NONE },
    1_000: {
      starts: [3, 3],
      changes: [60, 20],
      bursts: [5, 2],
      idleSeconds: [30, 30],
      connections: NONE,
    },
    10_000: {
      starts: [3, 1],
      changes: [15, 5],
      bursts: NONE,
      idleSeconds: NONE,
      connections: [2_000, 2_000],
    },
  },
  userspace: { rounds: 5, roundMs: 2_000 },
  dns: { services: 10_000, rounds: 5, seconds: 4 },
  workloadRounds: 1,
}

/** For development: too few repetitions for figures that could be quoted. */
const QUICK: Plan = {
  sizes: {
    10: { starts: [1, 1], changes: NONE, bursts: NONE, idleSeconds: NONE, connections: NONE },
    100: {
      starts: [1, 1],
      changes: [5, 5],
      bursts: [1, 1],
      idleSeconds: [5, 5],
      connections: [500, 500],
    },
  },
  userspace: { rounds: 1, roundMs: 500 },
  dns: { services: 100, rounds: 1, seconds: 2 },
  workloadRounds: 0,
}

/** Programs, and the Debian packages that have them. */
const PEERS = { haproxy: 'haproxy', dnsperf: 'dnsperf', etcd: 'etcd-server' } as const

/** What must be there before anything can be compared; undefined: nothing. */
export function missingForPromise(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const missing = Object.entries(PEERS)
    .filter(([name]) => !folders.some((folder) => existsSync(join(folder, name))))
    .map(([, debianPackage]) => debianPackage)
  if (missing.length > 0)
    return `the promise needs other programs: apt-get install ${missing.join(' ')}`
  if (hasKubeProxy()) return undefined
  return 'the promise is compared with Kubernetes 1.20, which npm run test:upstream builds'
}

/** Measures what users care about beside others, and saves after each part. */
export async function runPromise({ into, quick }: Options, folder: string): Promise<void> {
  const plan = quick ? QUICK : FULL
  const began = performance.now()
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine: describeMachine(), quick, busyPercent: await busyPercent() }
  const figures: Figure[] = []
  const save = (more: readonly Figure[]): void => {
    figures.push(...more)
    const tookSeconds = (performance.now() - began) / 1_000
    saveResults(into, 'promise', { ...head, tookSeconds, figures })
  }
  const { image } = await writePrograms(join(folder, 'programs'))
  const [serial, address] = [counter(), counter()]
  const comparison = {
    subjects: subjectsOf(image, folder),
    folder,
    freshSerial: serial,
    freshAddress: () => replacementAddress(address()),
    log,
  }
  for (const [size, repeats] of Object.entries(plan.sizes)) {
    const cluster = await seededCluster(Number(size))
    try {
      await addNode(cluster.url)
      save(await serviceFigures(comparison, cluster, repeats))
    } finally {
      await cluster.stop()
    }
  }
  log('userspace mode')
  save(await userspaceFigures(folder, plan.userspace))
  log('DNS')
  save(await dnsFigures(folder, plan.dns))
  log('Deployments')
  if (plan.workloadRounds > 0) save(await workloadFigures(plan.workloadRounds))
}

/** kube-proxy waits half a minute for the addresses of its Node where there is none. */
async function addNode(url: string): Promise<void> {
  const addresses = [{ type: 'InternalIP', address: CONTROL.node }]
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE_NAME },
    status: { addresses },
  }
  const nodes = `${url}/api/v1/nodes`
  for (const [method, path] of [
    ['POST', nodes],
    ['PUT', `${nodes}/${NODE_NAME}/status`],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const answer = await request(path, { method, headers, body: JSON.stringify(node) })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`)
  }
}

function describeMachine(): PromiseMachine {
  const versionOf = (program: string, flag: string) => {
    const { stdout, stderr } = spawnSync(program, [flag], { encoding: 'utf8' })
    return /\d+\.[\d.]+/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown'
  }
  return {
    ...machineFacts(),
    iptables: versionOf('iptables', '--version'),
    haproxy: versionOf('haproxy', '-v'),
    kubernetes: KUBE_PROXY_NAME.replace(/^\D+/, ''),
  }
}

function log(what: string): void {
  process.stderr.write(`bench: promise: ${what}\n`)
}
