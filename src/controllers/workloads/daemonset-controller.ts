import type { JsonObject } from '../../lib/json.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import type { NodeObject } from '../objects/node-object.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import type { Write } from '../runner/write.ts'
import {
  type History,
  hashOf,
  historyOf,
  POD_REVISION,
  surplusRevisions,
  workloadsOfRevision,
} from './controller-revisions.ts'
import { type Placement, placementOf, specForNode } from './daemonset/daemon-placement.ts'
import { allowsSurge, type RolloutNode, rolloutStep } from './daemonset/daemon-rollout.ts'
import { replacementAnnotations, untilReplaced } from './ended-pods.ts'
import {
  acceptedStatus,
  type PodReports,
  podCreation,
  podDeletion,
  podEvent,
  podMessage,
} from './pod-writes.ts'
import { claimPods, gatherMs, untilAvailable, workloadsOfPod } from './shared/pods-of.ts'
import { statusDifference } from './shared/status-difference.ts'

/** Pods that one reconcile makes or deletes; the next one follows at once. */
const BURST = 250

/** Counts that a status has even where they are 0. */
const ALWAYS = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
]

/**
 * Keeps one Pod of each DaemonSet on every node where it belongs, and replaces them when the template changes. A key is
 * `namespace/name` of a DaemonSet.
 */
export const daemonSetController: Controller = {
  name: 'daemonset',
  account: 'daemon-set-controller',
  delayMs: (key, view) => gatherMs(view.daemonsets.get(key)),
  watches: {
    daemonsets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: workloadsOfPod('daemonsets'),
    controllerrevisions: workloadsOfRevision('daemonsets'),
    nodes: setsOfNode,
  },
  reconcile,
}

/** The DaemonSets to which a change of a node matters. */
function setsOfNode({ before, after }: ObjectChange<NodeObject>, view: View): readonly string[] {
  const isConcerned = (set: WorkloadObject): boolean => {
    const place = placementOf(set)
    return (before && place(before)) !== (after && place(after))
  }
  return [...view.daemonsets.values()].filter(isConcerned).map(({ meta }) => meta.key)
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const set = view.daemonsets.get(key)
  if (set === undefined) return SETTLED
  const claimed = claimPods('daemonsets', set, view)
  if (claimed.writes.length > 0) return { writes: claimed.writes, dirty: [key] }
  if (set.meta.terminating) return SETTLED
  const history = historyOf('daemonsets', set, view)
  if (!('update' in history)) return { writes: history, dirty: [key] }
  const state = stateOf(set, claimed.pods, { history, view, now })
  const managed = [...strays(state), ...state.nodes.flatMap((node) => nodeWrites(state, node))]
  const changes = managed.length > 0 ? managed : rollout(state)
  const writes = [
    ...changes.slice(0, BURST),
    ...acceptedStatus(state.reports),
    ...(changes.length === 0 ? tidy(state) : []),
  ]
  const againMs = nextChange(state)
  return {
    writes,
    ...(againMs !== undefined && { againMs }),
    ...(changes.length > BURST && { dirty: [key] }),
  }
}

/** A node and its Pods of the DaemonSet: those that run on it, and those that are to be bound to it. */
interface DaemonNode {
  readonly name: string
  readonly placement: Placement
  /** All of them, also those that have ended or are being deleted, in the order of `byPrecedence`. */
  readonly pods: readonly PodObject[]
  /** Those that have not ended and are not being deleted, in the same order. */
  readonly active: readonly PodObject[]
}

interface State {
  readonly set: WorkloadObject
  readonly reports: PodReports
  readonly history: History
  /** The hash of the present template. */
  readonly hash: string
  /** In the order of their names. */
  readonly nodes: readonly DaemonNode[]
  /** Pods whose nodes do not exist. */
  readonly elsewhere: readonly PodObject[]
  readonly now: number
}

function stateOf(
  set: WorkloadObject,
  pods: readonly PodObject[],
  { history, view, now }: { readonly history: History; readonly view: View; readonly now: number },
): State {
  const byNode = Map.groupBy(pods, nodeOf)
  const place = placementOf(set)
  const nodes = [...view.nodes.values()]
    .map((node): DaemonNode => {
      const own = (byNode.get(node.meta.name) ?? []).toSorted(byPrecedence)
      const active = own.filter(({ finished, meta }) => !finished && !meta.terminating)
      return { name: node.meta.name, placement: place(node), pods: own, active }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const state: State = {
    set,
    reports: {
      collection: 'daemonsets',
      owner: set,
      now,
      message: podMessage,
      status: (conditions) => statusDifference(set.status, countsOf(state), conditions, ALWAYS),
    },
    history,
    hash: hashOf('daemonsets', history.update),
    nodes,
    elsewhere: pods.filter((pod) => view.nodes.get(nodeOf(pod)) === undefined),
    now,
  }
  return state
}

function nodeOf({ nodeName, wantedNode }: PodObject): string {
  return nodeName || wantedNode
}

/** Pods that run before those that wait for a node, and older ones before younger ones. */
function byPrecedence(a: PodObject, b: PodObject): number {
  const [first, second] = [a, b].map((pod) => (pod.nodeName === '' ? 1 : 0))
  if (first !== second) return first! - second!
  const age = Date.parse(a.meta.createdAt) - Date.parse(b.meta.createdAt)
  return age || (a.meta.name < b.meta.name ? -1 : 1)
}

/** Deletes Pods that wait for a node that does not exist. The Pod collector deletes only Pods that are bound to one. */
function strays({ elsewhere, reports }: State): readonly Write[] {
  return elsewhere
    .filter(({ nodeName, meta }) => nodeName === '' && !meta.terminating)
    .map((pod) => podDeletion(reports, pod))
}

/** The writes after which a node has the Pods that it should have: one, two during a surge, or none. */
function nodeWrites(state: State, node: DaemonNode): readonly Write[] {
  const { placement, pods, active } = node
  if (placement === 'none') {
    return pods
      .filter(({ meta }) => !meta.terminating)
      .map((pod) => podDeletion(state.reports, pod))
  }
  const ended = pods.filter(({ finished, meta }) => finished && !meta.terminating)
  if (ended.length > 0 && active.length > 0) {
    return ended.map((pod) => podDeletion(state.reports, pod, endEvent(state, node, pod)))
  }
  if (ended.length > 0) return replacement(state, node, ended)
  if (active.length > 0) return surplus(state, active)
  // Without a surge a Pod that is being deleted still occupies its node.
  const isFree = allowsSurge(state.set) || pods.every(({ finished }) => finished)
  return placement === 'run' && isFree ? [creation(state, node.name)] : []
}

/** Deletes Pods that have ended, and makes the next one, whose annotation says how many have ended before it. */
function replacement(
  state: State,
  node: DaemonNode,
  ended: readonly PodObject[],
): readonly Write[] {
  const { reports, hash, now } = state
  if (ended.some((pod) => untilReplaced(pod, hash, now) > 0)) return []
  const deletions = ended.map((pod) => podDeletion(reports, pod, endEvent(state, node, pod)))
  const isFree = node.pods.every(({ finished }) => finished)
  const last = ended.at(-1)
  if (node.placement !== 'run' || !isFree || last === undefined) return deletions
  const annotations = replacementAnnotations(last, hash, now)
  return [...deletions, creation(state, node.name, annotations)]
}

function endEvent({ reports }: State, { name }: DaemonNode, { meta, phase }: PodObject) {
  const [type, reason, found, what] =
    phase === 'Succeeded'
      ? (['Normal', 'SucceededDaemonPod', 'succeeded', 'delete'] as const)
      : (['Warning', 'FailedDaemonPod', 'failed', 'kill'] as const)
  const sentence = `Found ${found} daemon pod ${meta.key} on node ${name}, will try to ${what} it`
  return podEvent(reports, type, reason, sentence)
}

function creation(
  { set, hash, reports }: State,
  nodeName: string,
  annotations: JsonObject = {},
): Write {
  return podCreation(reports, {
    name: `${set.meta.name}-`,
    labels: { [POD_REVISION]: hash },
    annotations,
    spec: specForNode(set, nodeName),
  })
}

/**
 * Deletes surplus Pods of a node. During a surge a node may have two Pods: an old one that is ready, and a new one that
 * is not available yet.
 */
function surplus(state: State, active: readonly PodObject[]): readonly Write[] {
  const { reports, set } = state
  if (!allowsSurge(set)) return active.slice(1).map((pod) => podDeletion(reports, pod))
  const { updated, outdated } = divided(state, active)
  const [fresh] = updated
  const [old] = outdated
  const isDone =
    fresh !== undefined && old !== undefined && (!old.ready || isAvailable(state, fresh))
  return [...updated.slice(1), ...outdated.slice(isDone ? 0 : 1)].map((pod) =>
    podDeletion(reports, pod),
  )
}

function divided(
  { hash }: State,
  pods: readonly PodObject[],
): Pick<RolloutNode, 'updated' | 'outdated'> {
  const isUpdated = ({ meta }: PodObject): boolean => meta.labels[POD_REVISION] === hash
  return {
    updated: pods.filter(isUpdated),
    outdated: pods.filter((pod) => !isUpdated(pod)),
  }
}

function rollout(state: State): readonly Write[] {
  const { set, nodes, reports } = state
  const taking = nodes
    .filter(({ placement }) => placement === 'run')
    .map(({ name, active }) => ({ name, ...divided(state, active) }))
  const step = rolloutStep(set, taking, (pod) => isAvailable(state, pod))
  return [
    ...step.deletions.map((pod) => podDeletion(reports, pod)),
    ...step.creations.map((name) => creation(state, name)),
  ]
}

function isAvailable({ set, now }: State, pod: PodObject): boolean {
  return untilAvailable(pod, set.minReadyMs, now) === 0
}

/** Of each node only the first Pod by `byPrecedence` counts. */
function countsOf(state: State): Readonly<Record<string, number>> {
  const { set, nodes, hash } = state
  const running = nodes.filter(({ placement }) => placement === 'run')
  const first = running.flatMap(({ pods }) => pods.slice(0, 1))
  const available = first.filter((pod) => isAvailable(state, pod)).length
  return {
    observedGeneration: set.generation,
    desiredNumberScheduled: running.length,
    currentNumberScheduled: first.length,
    numberMisscheduled: nodes.filter(
      ({ placement, pods }) => placement !== 'run' && pods.length > 0,
    ).length,
    numberReady: first.filter(({ ready }) => ready).length,
    updatedNumberScheduled: first.filter(({ meta }) => meta.labels[POD_REVISION] === hash).length,
    numberAvailable: available,
    numberUnavailable: running.length - available,
  }
}

/** Deletes surplus revisions that no Pod has. */
function tidy({ set, history, nodes, elsewhere }: State): readonly Write[] {
  const pods = [...elsewhere, ...nodes.flatMap((node) => node.pods)]
  const live = new Set(pods.map(({ meta }) => meta.labels[POD_REVISION]))
  return surplusRevisions(set, history, (one) => live.has(hashOf('daemonsets', one)))
}

/** Milliseconds until the next Pod becomes available, or one that has ended may be replaced; undefined: none will. */
function nextChange({ set, nodes, hash, now }: State): number | undefined {
  const waits = nodes
    .flatMap(({ pods }) => pods)
    .map((pod) =>
      pod.finished ? untilReplaced(pod, hash, now) : untilAvailable(pod, set.minReadyMs, now),
    )
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  return waits.length === 0 ? undefined : Math.min(...waits)
}
