import { setTimeout as delay } from 'node:timers/promises'
import { memoryOf } from '../daemon/process-tree.ts'
import { measureRates } from '../dns/rates.ts'
import { FULL as DNS } from '../dns/repeats.ts'
import { questionFile } from '../dns/run.ts'
import { startDns, startEcho } from '../dns/subjects.ts'
import type { Figure } from '../report/promise/results.ts'
import type { UserspaceMeasured } from '../report/userspace/results.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { startBackend } from '../userspace/backend/start-backend.ts'
import { Contestant } from '../userspace/contest.ts'
import { startLoad } from '../userspace/load/load.ts'
import { FIGURES } from '../userspace/measure/figures.ts'
import { direct } from '../userspace/subjects/direct.ts'
import { forwarder } from '../userspace/subjects/forwarder.ts'
import { haproxy } from '../userspace/subjects/haproxy.ts'
import { type Figures, measureWorkloads, type PLANES } from '../workloads/planes.ts'

const KIB_PER_MIB = 1_024
/** Milliseconds between two subjects, in which the connections of the first one end. */
const REST_MS = 200
const WORKLOADS = { pods: 1_000, each: 100, nodes: 100 } as const

/** Compares the forwarder of userspace mode with HAProxy, and with connections that go straight to the backend. */
export async function userspaceFigures(
  folder: string,
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
): Promise<readonly Figure[]> {
  const load = startLoad()
  const subjects = [forwarder('native'), haproxy('haproxy-splice'), direct]
  const all = subjects.map((subject) => new Contestant(subject, load, folder))
  const endBackend = await startBackend(
    folder,
    all.map(({ path }) => path.backends),
  )
  try {
    for (const contestant of all) await contestant.start()
    for (let round = 0; round <= rounds; round++) {
      for (const name of ['streams', 'connections'] as const) {
        for (const contestant of all) {
          // The first round does not count.
          const take = async () => {
            const sample = await FIGURES[name]!(contestant, roundMs)
            return round === 0 ? {} : sample
          }
          await contestant.attempt(take)
          await delay(REST_MS)
        }
      }
    }
  } finally {
    for (const contestant of all) await contestant.stop()
    load.stop()
    endBackend()
    for (const { path } of all) path.remove()
  }
  const samplesOf = (pick: (measured: Partial<UserspaceMeasured>) => readonly number[] = none) => {
    const [ours, peer, limit] = all.map(({ cell }) => pick(cell.measured))
    return {
      ours: ours ?? [],
      peer: { name: 'HAProxy', samples: peer ?? [] },
      limit: { name: 'without a proxy', samples: limit ?? [] },
      better: 'more' as const,
    }
  }
  return [
    {
      what: 'userspace mode, 64 streams',
      unit: 'GB a second',
      digits: 2,
      ...samplesOf(({ streams }) => streams?.gigabytesPerSecond ?? []),
    },
    {
      what: 'userspace mode, new connections',
      unit: 'a second',
      digits: 0,
      ...samplesOf(({ connections }) => connections?.perSecond ?? []),
    },
  ]
}

const none = () => []

/** Measures orch-dns beside a bare UDP echo, with Services of two endpoints. */
export async function dnsFigures(
  folder: string,
  size: { readonly services: number; readonly rounds: number; readonly seconds: number },
): Promise<readonly Figure[]> {
  const { services, rounds, seconds } = size
  const cluster = await seededCluster(services, 2)
  const echo = await startEcho()
  const dns = await startDns(cluster.url, folder)
  const repeats = { ...DNS, rateRounds: rounds, rateSeconds: seconds, latencySeconds: seconds }
  const rates = await measureRates(repeats, { echo, dns }, questionFile({ services }, folder))
  const peak = (memoryOf(dns.pid)?.peak ?? Number.NaN) / KIB_PER_MIB
  for (const server of [dns, echo, cluster]) await server.stop()
  const names = `DNS, ${services.toLocaleString('en-US')} Services`
  return [
    {
      what: `${names}, answers`,
      unit: 'a second',
      digits: 0,
      better: 'more',
      ours: rates.dnsPerSecond,
      limit: { name: 'bare UDP echo', samples: rates.echoPerSecond },
    },
    {
      what: `${names}, 99 of 100 answers at half of that rate`,
      unit: 'ms',
      digits: 2,
      better: 'less',
      ours: rates.latencies.dns.p99,
      limit: { name: 'bare UDP echo', samples: rates.latencies.echo.p99 },
    },
    { what: `${names}, most memory`, unit: 'MiB', digits: 0, better: 'less', ours: [peak] },
  ]
}

/** Compares the control planes by Deployments. */
export async function workloadFigures(rounds: number): Promise<readonly Figure[]> {
  const measured: Record<keyof typeof PLANES, Figures[]> = { 'orch-server': [], kubernetes: [] }
  for (let round = 0; round < rounds; round++) {
    for (const plane of ['orch-server', 'kubernetes'] as const) {
      measured[plane].push(await measureWorkloads(plane, WORKLOADS))
    }
  }
  const figure = (what: string, name: keyof Figures, unit: string, digits: number): Figure => ({
    what: `${WORKLOADS.pods.toLocaleString('en-US')} Pods of ${WORKLOADS.pods / WORKLOADS.each} Deployments, ${what}`,
    unit,
    digits,
    better: 'less',
    ours: measured['orch-server'].map((one) => one[name]),
    peer: { name: 'Kubernetes 1.20', samples: measured.kubernetes.map((one) => one[name]) },
  })
  return [
    figure('until all are ready', 'all ready, s', 's', 1),
    figure('processor time of the control plane', 'processor, s', 's', 1),
    figure('most memory of the control plane', 'most memory, MiB', 'MiB', 0),
  ]
}
