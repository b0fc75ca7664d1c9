import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../../src/lib/json.ts'
import { type LabProcess, startProcess } from '../../../support/lab/process.ts'
import { launcherOf } from '../../../support/programs.ts'
import { type PodCluster, startPodCluster } from './pod-cluster.ts'

/** orch-dns in two Pods behind the Service cluster-dns, to which node-proxy leads. */
const DNS = '10.96.0.53'
const NAME = 'kubernetes.default.svc.cluster.local'
const SYSTEM = '/api/v1/namespaces/kube-system'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const PROGRAM = launcherOf('orch-dns')
const PROBER = new URL('./dns-prober.script.ts', import.meta.url).pathname
const LABELS = { app: 'cluster-dns' }
/** Resolvers repeat a question after five seconds. */
const MAX_SILENCE_MS = 5_000
/** A container that is started again waits for so long, so that its Pod does not answer in time. */
const RESTART_SECONDS = 10
/** Notes in the folder $0 that it was started, and waits if it was before. Then it becomes the program of its arguments. */
const SLOW_RESTART = `mkdir "$0" || sleep ${RESTART_SECONDS}; exec "$@"`

let cluster: PodCluster
let started: string
let prober: LabProcess
let serial = 0
let names: string[] = []

beforeAll(async () => {
  started = mkdtempSync(join(tmpdir(), 'np-dns-started-'))
  cluster = await startPodCluster([`--cluster-dns=${DNS}`])
  // Without a route the kernel sends nothing that a rule could redirect; most machines have a default one.
  await cluster.node.ip(['route add 10.96.0.0/16 dev uplink'])
  await cluster.make(`${SYSTEM}/serviceaccounts`, { metadata: { name: 'cluster-dns' } })
  await cluster.make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'cluster-dns' },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:cluster-dns',
    },
    subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name: 'cluster-dns' }],
  })
  const ports = ['UDP', 'TCP'].map((protocol) => ({
    name: protocol.toLowerCase(),
    protocol,
    port: 53,
  }))
  const spec = { clusterIP: DNS, selector: LABELS, ports }
  await cluster.make(`${SYSTEM}/services`, { metadata: { name: 'cluster-dns' }, spec })
  names = [await startDnsPod(), await startDnsPod()]
})
afterAll(async () => {
  await cluster.close()
  rmSync(started, { recursive: true })
})

beforeEach(async () => {
  prober = startProcess(cluster.node, [process.execPath, PROBER, DNS, NAME])
  await prober.said('both are answered')
})

async function startDnsPod(): Promise<string> {
  serial += 1
  const name = `cluster-dns-${serial}`
  const readinessProbe = {
    httpGet: { path: '/readyz', port: 9153 },
    periodSeconds: 1,
    failureThreshold: 1,
  }
  // The prober has the address of the node, which is no private one here.
  const networks = '--dns-client-networks=10.0.0.0/8,192.0.2.0/24'
  const program = [PROGRAM, '--shutdown-delay=2s', networks]
  const command = ['sh', '-c', SLOW_RESTART, join(started, name), ...program]
  await cluster.make(`${SYSTEM}/pods`, {
    metadata: { name, labels: LABELS },
    spec: {
      serviceAccountName: 'cluster-dns',
      terminationGracePeriodSeconds: 10,
      containers: [{ name: 'dns', image: 'none', command, readinessProbe }],
    },
  })
  await vi.waitFor(async () => expect(await isReady(name)).toBe(true), { timeout: 90_000 })
  return name
}

async function pod(name: string): Promise<JsonObject | undefined> {
  const found = await cluster.api.get(`${SYSTEM}/pods/${name}`)
  return found.ok ? (found.value as JsonObject) : undefined
}

async function isReady(name: string): Promise<boolean> {
  const status = objectAt((await pod(name)) ?? {}, 'status')
  return valueAt(arrayAt(status, 'containerStatuses')[0], 'ready') === true
}

/** The longest time without an answer, of each client of the prober. */
async function report() {
  prober.signalAlone('SIGTERM')
  await prober.ended
  const line = prober.output().trim().split('\n').at(-1)!
  type Client = { readonly answers: number; readonly wrong: number; readonly longestMs: number }
  return JSON.parse(line) as { readonly steady: Client; readonly fresh: Client }
}

async function expectNoLongSilence(): Promise<void> {
  const { steady, fresh } = await report()
  expect([steady.wrong, fresh.wrong]).toEqual([0, 0])
  expect(Math.min(steady.answers, fresh.answers)).toBeGreaterThan(50)
  expect([
    steady.longestMs < MAX_SILENCE_MS,
    fresh.longestMs < MAX_SILENCE_MS,
    steady,
    fresh,
  ]).toEqual([true, true, steady, fresh])
}

test('each DNS Pod is replaced, and clients are answered all the time', async () => {
  for (const old of names.splice(0)) {
    names.push(await startDnsPod())
    expect((await cluster.api.remove(`${SYSTEM}/pods/${old}`, {})).ok).toBe(true)
    await expect.poll(() => pod(old)).toBeUndefined()
  }
  await expectNoLongSilence()
})

test('a DNS Pod is killed, and clients are answered before a resolver repeats its question', async () => {
  const [victim = ''] = names
  const address = stringAt(objectAt((await pod(victim)) ?? {}, 'status'), 'podIP')
  const pids = await cluster.node.exec(['pgrep', '-f', 'orch-?dns(.js|/main.ts)'])
  const listening = await Promise.all(
    pids
      .trim()
      .split('\n')
      .map(async (pid) => {
        const addresses = await cluster.node.exec(['nsenter', '-t', pid, '-n', 'hostname', '-I'])
        return { pid, isVictim: addresses.split(' ').includes(address) }
      }),
  )
  const killed = listening.filter(({ isVictim }) => isVictim)
  expect(killed).toHaveLength(1)
  process.kill(Number(killed[0]!.pid), 'SIGKILL')
  await expect
    .poll(
      async () => {
        const status = objectAt((await pod(victim)) ?? {}, 'status')
        return valueAt(arrayAt(status, 'containerStatuses')[0], 'restartCount')
      },
      { timeout: 90_000 },
    )
    .toBe(1)
  await expect.poll(() => isReady(victim)).toBe(true)
  await expectNoLongSilence()
})
