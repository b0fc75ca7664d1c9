import { setTimeout as delay } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, type V1Node, type V1Pod } from '@kubernetes/client-node'

const POLL_MS = 50
const HEARTBEAT_MS = 5_000
/** The image of which no container ever becomes ready. */
export const BROKEN_IMAGE = 'example.com/broken:1'
/** The image whose containers succeed at once. */
export const ENDING_IMAGE = 'example.com/ends:1'

/**
 * Nodes without machines: a Pod that is bound to one is reported ready at once, and one that is being deleted is gone at
 * once, by the same writes as a kubelet's.
 *
 * Registers the nodes and begins; resolves once all are registered. Disposal throws what made them stop, if anything has.
 */
export async function startHollowNodes(
  kubeconfig: string,
  names: readonly string[],
): Promise<AsyncDisposable> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const core = config.makeApiClient(CoreV1Api)
  for (const name of names) await register(core, name)
  const stop = new AbortController()
  const work = run(core, new Set(names), stop.signal)
  work.catch(() => stop.abort())
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await work
    },
  }
}

async function run(core: CoreV1Api, names: ReadonlySet<string>, stop: AbortSignal): Promise<void> {
  let beatAt = performance.now()
  let serial = 0
  while (!stop.aborted) {
    if (performance.now() - beatAt > HEARTBEAT_MS) {
      beatAt = performance.now()
      for (const name of names) await reportReady(core, name)
    }
    const { items } = await core.listPodForAllNamespaces()
    for (const pod of items) {
      if (names.has(pod.spec?.nodeName ?? '')) serial = await serve(core, pod, serial)
    }
    await delay(POLL_MS, undefined, { signal: stop }).catch(() => undefined)
  }
}

/** Does for one Pod what its kubelet would do next. Returns the number of addresses that are in use or were. */
async function serve(core: CoreV1Api, pod: V1Pod, serial: number): Promise<number> {
  const { name = '', namespace = '', deletionTimestamp } = pod.metadata ?? {}
  const place = { name, namespace }
  if (deletionTimestamp !== undefined) {
    await unlessChanged(core.deleteNamespacedPod({ ...place, gracePeriodSeconds: 0 }))
    return serial
  }
  if (pod.status?.phase !== 'Pending' || pod.status.startTime !== undefined) return serial
  const podIP = `10.181.${serial >> 8}.${serial & 0xff}`
  pod.status = Object.assign(pod.status, statusOf(pod, podIP))
  await unlessChanged(core.replaceNamespacedPodStatus({ ...place, body: pod }))
  return serial + 1
}

function statusOf({ spec, status }: V1Pod, podIP: string): NonNullable<V1Pod['status']> {
  const has = (one: string): boolean => spec?.containers.some(({ image }) => image === one) === true
  const phase = has(BROKEN_IMAGE) ? 'Pending' : has(ENDING_IMAGE) ? 'Succeeded' : 'Running'
  const now = new Date()
  const others = (status?.conditions ?? []).filter(({ type }) => type === 'PodScheduled')
  const ready = phase === 'Running' ? 'True' : 'False'
  return {
    phase,
    startTime: now,
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: [
      ...others,
      { type: 'Initialized', status: 'True', lastTransitionTime: now },
      { type: 'ContainersReady', status: ready, lastTransitionTime: now },
      { type: 'Ready', status: ready, lastTransitionTime: now },
    ],
  }
}

async function register(core: CoreV1Api, name: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name }
  await core.createNode({ body: { metadata: { name, labels } } })
  await reportReady(core, name)
}

async function reportReady(core: CoreV1Api, name: string): Promise<void> {
  const body: V1Node = await core.readNode({ name })
  const now = new Date()
  const resources = { cpu: '8', memory: '32Gi', pods: '110' }
  body.status = Object.assign(body.status ?? {}, {
    capacity: resources,
    allocatable: resources,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      },
    ],
  })
  await unlessChanged(core.replaceNodeStatus({ name, body }))
}

/** A write that lost against another one is made again in the next round. */
async function unlessChanged(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    const code = (error as { code?: number }).code
    if (code !== 404 && code !== 409) throw error
  }
}
