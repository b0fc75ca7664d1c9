import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { readCondition, setCondition } from '../../resources/status-condition.ts'
import type { View } from '../cache/object-cache.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { RevisionObject } from '../objects/revision-object.ts'
import type { WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import type { Write } from '../runner/write.ts'
import {
  type History,
  historyOf,
  POD_REVISION,
  surplusRevisions,
  templateOf,
  workloadsOfRevision,
} from './controller-revisions.ts'
import { replacementAnnotations, untilReplaced } from './ended-pods.ts'
import {
  acceptedStatus,
  type PodReports,
  podCreation,
  podDeletion,
  podEvent,
  refusedStatus,
} from './pod-writes.ts'
import { claimPods, untilAvailable, workloadsOfPod } from './shared/pods-of.ts'
import { type Conditions, conditionsOf, statusDifference } from './shared/status-difference.ts'
import {
  isNamedAfter,
  type Members,
  membersOf,
  policyOf,
  type SetPolicy,
  type Slot,
  setNamedBy,
} from './statefulset/set-members.ts'

/** Labels of a Pod: its name and its ordinal. */
const POD_NAME = 'statefulset.kubernetes.io/pod-name'
const POD_INDEX = 'apps.kubernetes.io/pod-index'

/** Type of the condition of a StatefulSet that needs volumes which no controller makes. */
const CLAIMS = 'orch.io/VolumeClaims'
const CLAIMS_REASON = 'NotSupported'
const CLAIMS_MESSAGE =
  'spec.volumeClaimTemplates: this server has no PersistentVolumeClaims, so no pod is made; ' +
  'delete the StatefulSet and create it without the field, with volumes in spec.template'

const setsOfPod = workloadsOfPod('statefulsets')

/**
 * Makes, replaces and deletes the Pods of each StatefulSet. Each Pod has a name with an ordinal. A key is `namespace/name`
 * of a StatefulSet.
 */
export const statefulSetController: Controller = {
  name: 'statefulset',
  account: 'statefulset-controller',
  watches: {
    statefulsets: ({ key, after }) => (after === undefined ? [] : [key]),
    pods: (change, view) => [
      ...new Set([...setsOfPod(change, view), ...setNamedBy(change.key, view)]),
    ],
    controllerrevisions: workloadsOfRevision('statefulsets'),
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const set = view.statefulsets.get(key)
  if (set === undefined) return SETTLED
  const claimed = claimPods('statefulsets', set, view, { mayHave: (pod) => isNamedAfter(set, pod) })
  if (claimed.writes.length > 0) return { writes: claimed.writes, dirty: [key] }
  if (set.meta.terminating) return SETTLED
  const history = historyOf('statefulsets', set, view)
  if (!('update' in history)) return { writes: history, dirty: [key] }
  const members = membersOf(set, claimed.pods, view)
  const state = stateOf(set, { ...members, pods: claimed.pods }, history, now)
  const changes = needsClaims(set) ? [] : changesOf(state)
  const againMs = nextChange(state)
  return {
    writes: [...changes, ...statusWrites(state), ...(changes.length === 0 ? tidy(state) : [])],
    ...(againMs !== undefined && { againMs }),
  }
}

interface State extends Members {
  readonly set: WorkloadObject
  /** All of its Pods. */
  readonly pods: readonly PodObject[]
  readonly policy: SetPolicy
  readonly reports: PodReports
  readonly history: History
  /** The revision that Pods had before the present rollout; the present one when there is none. */
  readonly current: RevisionObject
  readonly now: number
}

function stateOf(
  set: WorkloadObject,
  members: Pick<State, 'slots' | 'condemned' | 'pods'>,
  history: History,
  now: number,
): State {
  const known = stringAt(set.status, 'currentRevision')
  const message: PodReports['message'] = (verb, pod, problem) => {
    const result = problem === undefined ? 'successful' : `failed error: ${problem}`
    return `${verb} Pod ${pod} in StatefulSet ${set.meta.name} ${result}`
  }
  const state: State = {
    ...members,
    set,
    policy: policyOf(set),
    reports: {
      collection: 'statefulsets',
      owner: set,
      now,
      message,
      status: (conditions) => statusBody(state, conditions),
    },
    history,
    current: history.revisions.find(({ meta }) => meta.name === known) ?? history.update,
    now,
  }
  return state
}

/** The next writes: Pods are made first, then surplus Pods are deleted, then Pods of old templates are replaced. */
function changesOf(state: State): readonly Write[] {
  const { isDone, writes } = filled(state)
  if (!isDone || writes.length > 0) return writes
  const removed = removals(state)
  if (!removed.isDone || removed.writes.length > 0) return removed.writes
  return state.policy.isRolling ? replacements(state) : []
}

/** Whether the next part of the work may begin, and what this part writes. */
interface Progress {
  readonly isDone: boolean
  readonly writes: readonly Write[]
}

/**
 * Makes the missing Pods and repairs the others. No Pod is made where a foreign Pod has the name. With `isOrdered` each
 * Pod waits until the one before it is available.
 */
function filled(state: State): Progress {
  const { slots, policy } = state
  const writes: Write[] = []
  for (const slot of slots) {
    const { pod, foreign } = slot
    const missing = foreign === undefined ? [creation(state, slot)] : []
    const made = pod === undefined ? missing : repairs(state, slot, pod)
    writes.push(...made)
    const isHeld = made.length > 0 || pod === undefined || !isAvailable(state, pod)
    if (policy.isOrdered && isHeld) return { isDone: false, writes }
  }
  return { isDone: true, writes }
}

/** Replaces a Pod that has ended, and restores the label with the name of a Pod that lost it. */
function repairs(state: State, slot: Slot, pod: PodObject): readonly Write[] {
  const { reports, set, now } = state
  const { meta } = pod
  if (meta.terminating) return []
  if (pod.finished) {
    const revision = revisionFor(state, slot).meta.name
    if (untilReplaced(pod, revision, now) > 0) return []
    const [type, reason, kind] =
      pod.phase === 'Succeeded'
        ? (['Normal', 'RecreatingTerminatedPod', 'terminated'] as const)
        : (['Warning', 'RecreatingFailedPod', 'failed'] as const)
    const sentence = `StatefulSet ${set.meta.key} is recreating ${kind} Pod ${meta.name}`
    return [
      podDeletion(reports, pod, podEvent(reports, type, reason, sentence)),
      creation(state, slot, replacementAnnotations(pod, revision, now)),
    ]
  }
  if (meta.labels[POD_NAME] === meta.name) return []
  const labels = { [POD_NAME]: meta.name, [POD_INDEX]: String(slot.ordinal) }
  return [{ verb: 'patch', collection: 'pods', meta, body: { metadata: { labels } } }]
}

function creation(state: State, slot: Slot, annotations: JsonObject = {}): Write {
  const { set, reports } = state
  const { name, ordinal } = slot
  const revision = revisionFor(state, slot)
  const subdomain = stringAt(set.spec, 'serviceName')
  const owner = { ...set, template: templateOf(revision) }
  return podCreation(
    { ...reports, owner },
    {
      name,
      labels: {
        [POD_NAME]: name,
        [POD_INDEX]: String(ordinal),
        [POD_REVISION]: revision.meta.name,
      },
      annotations,
      spec: { hostname: name, ...(subdomain !== '' && { subdomain }) },
    },
  )
}

function revisionFor({ policy, current, history }: State, { index }: Slot): RevisionObject {
  return index < policy.partition ? current : history.update
}

/**
 * Deletes Pods whose ordinals the set does not have. With `isOrdered` they are deleted one after another, from the greatest
 * ordinal on. A Pod that is not available is deleted only if no Pod with a lower ordinal among these is unavailable, too.
 */
function removals(state: State): Progress {
  const { condemned, policy, reports } = state
  const firstWeak = condemned.findLast((pod) => !isAvailable(state, pod))
  const writes: Write[] = []
  for (const pod of condemned) {
    const isHeld = pod.meta.terminating || (!isAvailable(state, pod) && pod !== firstWeak)
    if (policy.isOrdered && isHeld) return { isDone: false, writes }
    if (!pod.meta.terminating) writes.push(podDeletion(reports, pod))
    if (policy.isOrdered) return { isDone: false, writes }
  }
  return { isDone: true, writes }
}

/**
 * Pods of old templates are deleted from the greatest ordinal on, and are made again in their places. One that is not
 * available is deleted at once, which makes no further Pod unavailable.
 */
function replacements(state: State): readonly Write[] {
  const { slots, policy, history, reports } = state
  let spare =
    policy.maxUnavailable -
    slots.filter(({ pod }) => pod === undefined || !isAvailable(state, pod)).length
  const writes: Write[] = []
  for (const { pod, index } of slots.toReversed()) {
    if (index < policy.partition || pod === undefined || pod.meta.terminating) continue
    if (pod.meta.labels[POD_REVISION] === history.update.meta.name) continue
    const isServing = isAvailable(state, pod)
    if (isServing && spare <= 0) continue
    if (isServing) spare--
    writes.push(podDeletion(reports, pod))
  }
  return writes
}

/** Whether a Pod runs, has been ready for long enough, and stays. */
function isAvailable({ set, now }: State, pod: PodObject): boolean {
  return isRunning(pod) && !pod.meta.terminating && untilAvailable(pod, set.minReadyMs, now) === 0
}

function isRunning({ phase, ready }: PodObject): boolean {
  return phase === 'Running' && ready
}

function statusWrites(state: State): readonly Write[] {
  const { set, reports, now } = state
  if (!needsClaims(set)) {
    const taken = takenName(state)
    if (taken === undefined) return acceptedStatus(reports)
    const message = `pods ${JSON.stringify(taken)} already exists, and is not of this StatefulSet`
    return refusedStatus(
      reports,
      'FailedCreate',
      reports.message('create', taken, message),
      message,
    )
  }
  const event = podEvent(reports, 'Warning', 'FailedCreate', CLAIMS_MESSAGE)
  const isKnown = conditionsOf(set.status).has(CLAIMS)
  return [...acceptedStatus(reports, withClaims(set, now)), ...(isKnown ? [] : [event])]
}

/**
 * The first name that a foreign Pod has and that is needed now; undefined: there is none. With `isOrdered`, names after one
 * whose Pod is not available are not needed yet.
 */
function takenName(state: State): string | undefined {
  for (const { name, pod, foreign } of state.slots) {
    if (foreign !== undefined && !foreign.meta.terminating) return name
    if (state.policy.isOrdered && (pod === undefined || !isAvailable(state, pod))) return undefined
  }
  return undefined
}

/** The patch that gives the status these conditions, and the present counts and revisions. */
function statusBody(state: State, conditions: Conditions): JsonObject {
  const { set, history, current, policy, pods, now } = state
  const updateRevision = history.update.meta.name
  const running = pods.filter(isRunning)
  const ofRevision = (name: string): number =>
    pods.filter(({ meta }) => !meta.terminating && meta.labels[POD_REVISION] === name).length
  const updatedReplicas = ofRevision(updateRevision)
  const isComplete =
    policy.isRolling &&
    updatedReplicas === set.replicas &&
    pods.length === set.replicas &&
    running.length === pods.length
  const currentRevision = isComplete ? updateRevision : current.meta.name
  const counts = {
    observedGeneration: set.generation,
    replicas: pods.length,
    readyReplicas: running.length,
    availableReplicas: running.filter((pod) => untilAvailable(pod, set.minReadyMs, now) === 0)
      .length,
    currentReplicas: ofRevision(currentRevision),
    updatedReplicas,
  }
  const names = Object.entries({ currentRevision, updateRevision })
  return {
    ...statusDifference(set.status, counts, conditions, ['replicas', 'availableReplicas']),
    ...Object.fromEntries(names.filter(([field, name]) => set.status[field] !== name)),
  }
}

/** Whether Pods need volumes that are made for each of them, for which this server has no kind. */
function needsClaims({ spec }: WorkloadObject): boolean {
  return arrayAt(spec, 'volumeClaimTemplates').length > 0
}

function withClaims({ status }: WorkloadObject, now: number): Conditions {
  const wanted = {
    type: CLAIMS,
    status: 'False',
    reason: CLAIMS_REASON,
    message: CLAIMS_MESSAGE,
  } as const
  const condition = setCondition(readCondition(status, CLAIMS), wanted, now)
  return new Map([...conditionsOf(status), [CLAIMS, condition]])
}

/** Deletes surplus revisions that no Pod has. */
function tidy({ set, history, current, pods }: State): readonly Write[] {
  const live = new Set([current.meta.name, ...pods.map(({ meta }) => meta.labels[POD_REVISION])])
  return surplusRevisions(set, history, ({ meta }) => live.has(meta.name))
}

/** Milliseconds until the next Pod becomes available, or one that has ended may be replaced; undefined: none will. */
function nextChange(state: State): number | undefined {
  const { slots, set, now } = state
  const until = (slot: Slot, pod: PodObject): number =>
    pod.finished
      ? untilReplaced(pod, revisionFor(state, slot).meta.name, now)
      : untilAvailable(pod, set.minReadyMs, now)
  const waits = slots
    .flatMap((slot) => (slot.pod === undefined ? [] : [until(slot, slot.pod)]))
    .filter((ms) => ms > 0 && Number.isFinite(ms))
  return waits.length === 0 ? undefined : Math.min(...waits)
}
