import type { Kubectl } from '../../support/kubectl/installed.ts'
import { openShell, type Said, type Shell } from '../../support/kubectl/shell.ts'

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
  readonly status: Readonly<Record<string, unknown>> & {
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

const KINDS = 'deployments,replicasets,daemonsets,statefulsets,controllerrevisions,pods,events'
const WORKLOADS = new Set(['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'])
const REVISION = 'deployment.kubernetes.io/revision'
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
]

/** Opens a shell whose kubectl works in the namespace `shop`. */
export function openShop(kubectl: Kubectl, kubeconfig: string, files = {}): Promise<Shell> {
  return openShell({ kubectl, kubeconfig, namespace: 'shop', files })
}

/** What the namespace of a shell holds now. Throws when kubectl fails. */
export async function takeSnapshot(shell: Shell): Promise<Snapshot> {
  const { text, status } = await shell.run(`kubectl get ${KINDS} -o json`)
  if (status !== 0) throw new Error(text)
  const { items } = JSON.parse(text) as { readonly items: readonly Item[] }
  const rename = renamerOf(items)
  const found = new Map<string, string[]>()
  for (const item of items) {
    const line = rename(lineOf(item))
    if (line !== '') found.set(item.kind, [...(found.get(item.kind) ?? []), line])
  }
  const sorted = [...found].map(([kind, lines]) => {
    const kept = kind === 'Event' ? [...new Set(lines)] : lines
    return [kind, kept.toSorted()] as const
  })
  return Object.fromEntries(sorted.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** What a command said, with the generated names replaced as in the snapshot of the same moment. */
export async function renamed(shell: Shell, { text }: Said): Promise<string> {
  const { text: list } = await shell.run('kubectl get replicasets,controllerrevisions -o json')
  const { items } = JSON.parse(list) as { readonly items: readonly Item[] }
  return renamerOf(items)(text)
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
    return said.replaceAll(/(\]|shop|every)-[a-z0-9]{5}\b/g, '$1-*')
  }
}

/** Within a second, objects are told apart by their images. */
function keyOf(item: Item): string {
  const text = JSON.stringify(item.spec ?? item)
  const image = /"image":"([^"]+)"/.exec(text)?.[1] ?? ''
  return `${item.metadata.creationTimestamp} ${item.revision ?? 0} ${image}`
}

function lineOf(item: Item): string {
  const { kind, metadata, spec, status } = item
  const owner = metadata.ownerReferences?.map((one) => `${one.kind} ${one.name}`).join() ?? ''
  if (kind === 'Event') {
    const { type, reason, message = '', involvedObject } = item
    if (!WORKLOADS.has(involvedObject?.kind ?? '')) return ''
    const said = message.replace(/ from \d+$/, '')
    return `${type} ${reason} ${involvedObject?.kind} ${involvedObject?.name}: ${said}`
  }
  if (kind === 'ControllerRevision') return `${metadata.name} of ${owner}: ${item.revision}`
  if (kind === 'Pod') {
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.['status'] ?? 'none'
    const labels = Object.keys(metadata.labels ?? {}).toSorted()
    return `${metadata.name} of ${owner}: ready ${ready}, labels ${labels.join()}`
  }
  const counts = STATUS.flatMap((name) => (status[name] ? [`${name} ${status[name]}`] : []))
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
