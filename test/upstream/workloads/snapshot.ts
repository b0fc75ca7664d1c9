import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, get, type RequestOptions } from 'node:https'
import { json } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'

/** Counts and revisions of statuses; `observedGeneration` is compared with the generation by `rollout status`. */
const STATUS = [
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'currentReplicas',
  'fullyLabeledReplicas',
  'currentNumberScheduled',
  'desiredNumberScheduled',
  'numberMisscheduled',
  'numberReady',
  'numberAvailable',
  'numberUnavailable',
  'updatedNumberScheduled',
] as const
type Count = (typeof STATUS)[number]

/** An object of `kubectl get -o json`, as far as snapshots look at it. */
interface Item {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly creationTimestamp: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[]
  }
  readonly spec: Readonly<Record<string, unknown>> & { readonly replicas?: number }
  readonly status: Readonly<Partial<Record<Count, number>>> & {
    readonly conditions?: readonly Readonly<Record<string, string>>[]
  }
  readonly revision?: number
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly kind: string; readonly name: string }
}

/** What a cluster holds of workloads, without what differs from run to run: times, uids, generated names. */
export type Snapshot = Readonly<Record<string, readonly string[]>>

const APPS = ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'ControllerRevision']
const WORKLOADS = new Set(['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'])
const REVISION = 'deployment.kubernetes.io/revision'

/** What came after Kubernetes 1.20 (1.28, 1.22), and a label from before `apps/v1` that nothing here reads. */
const NOT_COMPARED = new Set(['apps.kubernetes.io/pod-index', 'pod-template-generation'])
const NOT_COMPARED_OF = new Map<string, ReadonlySet<Count>>([
  ['StatefulSet', new Set(['availableReplicas'])],
])

/** The reason of an Event for which an API server that did not answer in time is enough; no step has another cause. */
const FAILED_CREATE = 'FailedCreate'

/** Reads the workloads of one namespace, and what was made for them. */
export interface Observer extends Disposable {
  snapshot(): Promise<Snapshot>
  /** A text with the generated names replaced as in a snapshot of this moment. */
  rename(text: string): Promise<string>
}

/** Observes `namespace` with the rights of a kubeconfig. */
export async function openObserver(kubeconfig: string, namespace: string): Promise<Observer> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  // The library's own agent makes a connection for each request.
  const { ca, cert, key } = options
  const agent = new Agent({ ca, cert, key, keepAlive: true })
  const list = async (root: string, kind: string): Promise<readonly Item[]> => {
    const plural = `${kind.toLowerCase()}s`
    const url = `${config.getCurrentCluster()?.server}${root}/namespaces/${namespace}/${plural}`
    const { items } = (await read(url, { ...options, agent })) as {
      readonly items: readonly Item[]
    }
    return items.map((item) => ({ ...item, kind }))
  }
  const all = async (): Promise<readonly Item[]> => {
    const apps = APPS.map((kind) => list('/apis/apps/v1', kind))
    const core = ['Pod', 'Event'].map((kind) => list('/api/v1', kind))
    return (await Promise.all([...apps, ...core])).flat()
  }
  return {
    snapshot: async () => snapshotOf(await all()),
    rename: async (text) => renamerOf(await all())(text),
    [Symbol.dispose]: () => agent.destroy(),
  }
}

async function read(url: string, options: RequestOptions): Promise<unknown> {
  const [response] = (await once(get(url, options), 'response')) as [IncomingMessage]
  return json(response)
}

function snapshotOf(items: readonly Item[]): Snapshot {
  const rename = renamerOf(items)
  const found = new Map<string, string[]>()
  for (const item of items) {
    const line = item.kind === 'Event' ? lineOf(item) : rename(lineOf(item))
    if (line !== '') found.set(item.kind, [...(found.get(item.kind) ?? []), line])
  }
  const sorted = [...found].map(([kind, lines]) => {
    const kept = kind === 'Event' ? [...new Set(lines)] : lines
    return [kind, kept.toSorted()] as const
  })
  return Object.fromEntries(sorted.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Replaces the names of ReplicaSets and revisions by their order of age, and the ends of names of Pods by a star. */
function renamerOf(items: readonly Item[]): (text: string) => string {
  const named = items.filter(({ kind }) => kind === 'ReplicaSet' || kind === 'ControllerRevision')
  const byAge = named.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  for (const { metadata } of byAge) {
    const owner = metadata.ownerReferences?.[0]?.name
    if (owner === undefined) continue
    const count = (counts.get(owner) ?? 0) + 1
    counts.set(owner, count)
    names.set(metadata.name, `${owner}-[${count}]`)
  }
  return (text) => {
    let said = text
    for (const [name, short] of names) said = said.replaceAll(name, short)
    return said.replaceAll(/(\]|bare|every)-[a-z0-9]{5}\b/g, '$1-*')
  }
}

/** Within a second, objects are told apart by their images. */
function keyOf(item: Item): string {
  const text = JSON.stringify(item.spec ?? item)
  const image = /"image":"([^"]+)"/.exec(text)?.[1] ?? ''
  return `${item.metadata.creationTimestamp} ${item.revision ?? 0} ${image}`
}

/**
 * The words of an Event without names and numbers: kube-controller-manager combines Events that are similar, and then
 * only the last one is kept. Kubernetes 1.27 added from which number a ReplicaSet was scaled.
 */
function patternOf(message: string): string {
  return message
    .replace('(combined from similar events): ', '')
    .replace(/ from \d+$/, '')
    .replaceAll(/\b(?:web|stuck|recreated|bare|every|db|parallel)(?:-[\w-]+)?\b/g, 'NAME')
    .replaceAll(/\b\d+\b/g, 'N')
}

function lineOf(item: Item): string {
  const { kind, metadata, spec, status } = item
  const owner = metadata.ownerReferences?.map((one) => `${one.kind} ${one.name}`).join() ?? ''
  if (kind === 'Event') {
    const { type, reason, message = '', involvedObject } = item
    if (!WORKLOADS.has(involvedObject?.kind ?? '') || reason === FAILED_CREATE) return ''
    return `${type} ${reason} ${involvedObject?.kind}: ${patternOf(message)}`
  }
  if (kind === 'ControllerRevision') return `${metadata.name} of ${owner}: ${item.revision}`
  if (kind === 'Pod') {
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.['status'] ?? 'none'
    const labels = Object.keys(metadata.labels ?? {}).filter((one) => !NOT_COMPARED.has(one))
    return `${metadata.name} of ${owner}: ready ${ready}, labels ${labels.toSorted().join()}`
  }
  const compared = STATUS.filter((name) => NOT_COMPARED_OF.get(kind)?.has(name) !== true)
  const counts = compared.flatMap((name) => (status[name] ? [`${name} ${status[name]}`] : []))
  const conditions = (status.conditions ?? []).map(
    ({ type, status: is, reason, message }) => `${type}=${is} ${reason} (${message})`,
  )
  return [
    `${metadata.name}${owner === '' ? '' : ` of ${owner}`}`,
    `revision ${metadata.annotations?.[REVISION] ?? '-'}`,
    `wants ${spec.replicas ?? '-'}`,
    ...counts,
    ...conditions.toSorted(),
  ].join('; ')
}
