import { timestamp } from '../lib/duration.ts'
import { isDeepEqual } from '../lib/equal.ts'
import type { JsonObject } from '../lib/json.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { NODE_TAINTS, type NodeObject, type NodeTaint } from './objects/node-object.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import type { Patch } from './runner/write.ts'

/** The key under which it is decided which node gets its taint with `NoExecute` next; every other key is a Node. */
const OUTAGES_KEY = '*'
const GATHER_MS = 1000

/** The taint of a node that is not ready, by the status of its condition `Ready`. */
const OUTAGES: ReadonlyMap<string, string> = new Map([
  ['False', NODE_TAINTS.notReady],
  ['Unknown', NODE_TAINTS.unreachable],
])
const OUTAGE_KEYS: readonly string[] = [...OUTAGES.values()]
const STATE_KEYS: readonly string[] = Object.values(NODE_TAINTS)
/** Label of a Node that does not count when it is decided whether too many nodes are out. */
const EXCLUDED = 'node.kubernetes.io/exclude-disruption'

/** How fast Pods leave nodes that are out, and from when on a zone counts as one with too many of them. */
export interface NodeEviction {
  /** Nodes of a zone that get the taint with `NoExecute` in each second; 0: none does. */
  readonly rate: number
  /** The same in a large zone of which too many nodes are out. */
  readonly secondaryRate: number
  /** The share of the nodes of a zone that are too many, from 0 to 1. */
  readonly unhealthyShare: number
  /** A zone with more nodes is large. In another one of which too many are out, no node gets the taint. */
  readonly largeZone: number
}

/** The defaults of kube-controller-manager. */
export const USUAL_EVICTION: NodeEviction = {
  rate: 0.1,
  secondaryRate: 0.01,
  unhealthyShare: 0.55,
  largeZone: 50,
}

/**
 * Puts the taints that stand for the state of a Node, and removes them when it is over: with the effect `NoSchedule` at
 * once. Those with `NoExecute`, by which Pods are deleted, are put on one node after the other, and on none while too many
 * nodes are out; see `intervalOf`. Taints of others stay as they are, except that one with `NoExecute` gets the time from
 * which tolerations count.
 */
export function createNodeTaintsController(eviction: NodeEviction = USUAL_EVICTION): Controller {
  return {
    name: 'nodetaints',
    account: 'node-controller',
    delayMs: (key) => (key === OUTAGES_KEY ? GATHER_MS : 0),
    watches: { nodes: concernedKeys },
    reconcile: (key, view, now) =>
      key === OUTAGES_KEY
        ? reconcileOutages(view, eviction, now)
        : reconcileNode(view.nodes.get(key), now),
  }
}

function concernedKeys({ key, before, after }: ObjectChange<NodeObject>): readonly string[] {
  return isDeepEqual(before && factsOf(before), after && factsOf(after)) ? [] : [key, OUTAGES_KEY]
}

function factsOf(node: NodeObject): unknown {
  const { meta, zone, readiness, taints, conditionTaints, unschedulable } = node
  const outage = [readiness.status, readiness.lastTransitionTime]
  return {
    uid: meta.uid,
    zone,
    outage,
    taints,
    conditionTaints,
    unschedulable,
    counts: counts(node),
  }
}

function reconcileNode(node: NodeObject | undefined, now: number): Reconciliation {
  if (node === undefined) return SETTLED
  const wanted = taintsFor(node, now)
  return isDeepEqual(wanted, node.taints) ? SETTLED : { writes: [taintsPatch(node, wanted)] }
}

/** The taints that the Node should have by its own state alone: it loses a taint with `NoExecute` here and gets none. */
function taintsFor(node: NodeObject, now: number): readonly NodeTaint[] {
  const outage = OUTAGES.get(node.readiness.status)
  const states = [
    ...(outage === undefined ? [] : [outage]),
    ...node.conditionTaints,
    ...(node.unschedulable ? [NODE_TAINTS.unschedulable] : []),
  ]
  const isKept = (one: NodeTaint): boolean => {
    if (isOutage(one)) return one.key === outage || node.readiness.status === ''
    return one.effect !== 'NoSchedule' || !STATE_KEYS.includes(one.key) || states.includes(one.key)
  }
  const wanted = states.map((key) => stateTaint(key, 'NoSchedule', now))
  if (outage !== undefined && node.taints.some(isOutage)) {
    wanted.push(stateTaint(outage, 'NoExecute', now))
  }
  const kept = node.taints.filter(isKept)
  const missing = wanted.filter((one) => !kept.some((other) => isSameTaint(one, other)))
  return [...kept.map((one) => dated(one, now)), ...missing]
}

function dated(taint: NodeTaint, now: number): NodeTaint {
  const isDated = taint.effect !== 'NoExecute' || taint.addedAt !== ''
  return isDated ? taint : { ...taint, addedAt: timestamp(now) }
}

function stateTaint(key: string, effect: string, now: number): NodeTaint {
  return { key, value: '', effect, addedAt: timestamp(now) }
}

function isSameTaint(a: NodeTaint, b: NodeTaint): boolean {
  return a.key === b.key && a.effect === b.effect
}

/** Whether a taint makes Pods leave a node that is not ready. */
function isOutage({ key, effect }: NodeTaint): boolean {
  return effect === 'NoExecute' && OUTAGE_KEYS.includes(key)
}

function taintsPatch({ meta }: NodeObject, taints: readonly NodeTaint[]): Patch {
  const list = taints.map(
    ({ key, value, effect, addedAt }): JsonObject => ({
      key,
      ...(value !== '' && { value }),
      effect,
      ...(addedAt !== '' && { timeAdded: addedAt }),
    }),
  )
  const body = { spec: { taints: list.length === 0 ? null : list } }
  return { verb: 'patch', collection: 'nodes', meta, body }
}

/** The nodes of a zone, and how many of them are counted as ready and as not ready. */
interface Zone {
  readonly nodes: readonly NodeObject[]
  readonly ready: number
  readonly out: number
}

/**
 * Puts the next taints with `NoExecute`, at most one in each zone. When no node of any zone is ready, the fault is rather in
 * the network or with this server: then all these taints are removed.
 */
function reconcileOutages(view: View, eviction: NodeEviction, now: number): Reconciliation {
  const groups = Map.groupBy(view.nodes.values(), ({ zone }) => zone)
  const zones = [...groups.values()].map(countZone)
  const counted = zones.filter(({ ready, out }) => ready + out > 0)
  if (counted.length > 0 && counted.every(({ ready }) => ready === 0)) {
    const tainted = zones.flatMap(({ nodes }) =>
      nodes.filter(({ taints }) => taints.some(isOutage)),
    )
    return {
      writes: tainted.map((node) =>
        taintsPatch(
          node,
          node.taints.filter((one) => !isOutage(one)),
        ),
      ),
    }
  }
  const steps = zones
    .map((zone) => nextOutage(zone, eviction, now))
    .filter((step) => step !== undefined)
  const againMs = Math.min(...steps.map((step) => step.againMs))
  return {
    writes: steps.flatMap(({ writes }) => writes),
    ...(Number.isFinite(againMs) && { againMs }),
  }
}

function countZone(nodes: readonly NodeObject[]): Zone {
  const statuses = nodes.filter(counts).map(({ readiness }) => readiness.status)
  const ready = statuses.filter((one) => one === 'True').length
  return { nodes, ready, out: statuses.length - ready }
}

/** Whether it counts as a node of the cluster; one without the condition `Ready` has no agent. */
function counts({ meta, readiness }: NodeObject): boolean {
  return readiness.status !== '' && !Object.hasOwn(meta.labels, EXCLUDED)
}

/** The node that has been out for the longest gets its taint, once `intervalOf` has passed since the last one. */
function nextOutage(
  zone: Zone,
  eviction: NodeEviction,
  now: number,
): Required<Omit<Reconciliation, 'dirty'>> | undefined {
  const waiting = zone.nodes
    .filter(({ readiness }) => OUTAGES.has(readiness.status))
    .filter(({ taints }) => !taints.some(isOutage))
    .toSorted((a, b) => (orderKey(a) < orderKey(b) ? -1 : 1))
  const [next, ...later] = waiting
  const key = next && OUTAGES.get(next.readiness.status)
  if (next === undefined || key === undefined) return undefined
  const interval = intervalOf(zone, eviction)
  if (interval === Number.POSITIVE_INFINITY) return undefined
  const times = zone.nodes.flatMap(({ taints }) =>
    taints.filter(isOutage).map(({ addedAt }) => Date.parse(addedAt)),
  )
  // A time in the future, from before the clock was set, counts as now.
  const last = Math.min(now, Math.max(...times.filter((time) => !Number.isNaN(time))))
  const waitMs = last + interval - now
  if (waitMs > 0) return { writes: [], againMs: waitMs }
  const taints = [...next.taints, stateTaint(key, 'NoExecute', now)]
  const againMs = later.length === 0 ? Number.POSITIVE_INFINITY : interval
  return { writes: [taintsPatch(next, taints)], againMs }
}

function orderKey({ meta, readiness }: NodeObject): string {
  return `${readiness.lastTransitionTime} ${meta.name}`
}

/**
 * Milliseconds between the taints of two nodes of a zone; infinite: no further node gets one. Where at least three nodes are
 * out, at least `unhealthyShare` and not all, none does unless the zone is large.
 */
function intervalOf(
  { ready, out }: Zone,
  { rate, secondaryRate, unhealthyShare, largeZone }: NodeEviction,
): number {
  const total = ready + out
  const isPartial = ready > 0 && out > 2 && out / total >= unhealthyShare
  if (!isPartial) return 1000 / rate
  return total > largeZone ? 1000 / secondaryRate : Number.POSITIVE_INFINITY
}
