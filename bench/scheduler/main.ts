import { parseArgs } from 'node:util'
import { alone, Runner } from '../../src/controllers/runner/runner.ts'
import { scheduler } from '../../src/controllers/scheduler/scheduler-controller.ts'
import { createFakeCluster } from '../../src/controllers/testing/fake-cluster.ts'
import { createRecordingObserver } from '../../src/controllers/testing/recording-observer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { JsonObject } from '../../src/lib/json.ts'

const ZONES = 3
const PODS_OF_AN_OWNER = 100

/** What the Pods of one kind ask for beside processor and memory. */
const KINDS: Readonly<Record<string, (app: string) => JsonObject>> = {
  plain: () => ({}),
  'zone spread': (app) => ({
    topologySpreadConstraints: [
      {
        topologyKey: 'topology.kubernetes.io/zone',
        maxSkew: 1,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app } },
      },
    ],
  }),
  'one on a node': (app) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } },
        ],
      },
    },
  }),
}

/** Prints how many Pods the scheduler binds in a second, by the number of nodes and the kind of Pods. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: '100,1000,5000' },
      pods: { type: 'string', default: '10000' },
      kinds: { type: 'string', default: Object.keys(KINDS).join() },
    },
  })
  for (const kind of values.kinds.split(',')) {
    for (const nodes of values.nodes.split(',').map(Number)) {
      const pods = Number(values.pods)
      const seconds = await bindAll(nodes, pods, KINDS[kind] ?? (() => ({})))
      const perSecond = Math.round(pods / seconds)
      process.stdout.write(`${JSON.stringify({ kind, nodes, pods, seconds, perSecond })}\n`)
    }
  }
}

/** The seconds from the moment in which everything is listed until the last Pod is bound. */
async function bindAll(nodes: number, pods: number, more: (app: string) => JsonObject) {
  const cluster = createFakeCluster(systemClock)
  for (let serial = 0; serial < nodes; serial++) cluster.put('nodes', nodeOf(serial))
  for (let serial = 0; serial < pods; serial++) cluster.put('pods', podOf(serial, more))
  const done = Promise.withResolvers<void>()
  let bound = 0
  cluster.intercept = async (write) => {
    if (write.verb === 'bind' && ++bound === pods) done.resolve()
    return undefined
  }
  const stop = new AbortController()
  // The timers of the clock do not keep the process alive.
  const alive = setInterval(() => undefined, 1_000)
  const { follower, writer } = cluster
  const parts = { follower, clock: systemClock, leadership: alone, writerOf: () => writer }
  const observer = createRecordingObserver()
  const began = performance.now()
  const running = new Runner({ ...parts, observer, controllers: [scheduler] }).run(stop.signal)
  await done.promise
  const seconds = (performance.now() - began) / 1000
  stop.abort()
  await running
  clearInterval(alive)
  return seconds
}

function nodeOf(serial: number): JsonObject {
  const name = `node-${serial}`
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/zone': `zone-${serial % ZONES}`,
      },
    },
    status: {
      allocatable: { cpu: '64', memory: '256Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}

function podOf(serial: number, more: (app: string) => JsonObject): JsonObject {
  const app = `app-${Math.floor(serial / PODS_OF_AN_OWNER)}`
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }
  const resources = { requests: { cpu: '100m', memory: '128Mi' } }
  return {
    metadata: {
      name: `pod-${serial}`,
      namespace: 'default',
      labels: { app },
      ownerReferences: [owner],
    },
    spec: { containers: [{ name: 'main', resources }], ...more(app) },
    status: { phase: 'Pending' },
  }
}

await main()
