import { arrayAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { ownerGroup } from '../cache/collections.ts'
import type { ObjectChange, View } from '../cache/object-cache.ts'
import { controllerOf, isEmpty, keyOf, type ObjectMeta } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { countAt, type WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { type ObjectIdentity, type Patch, statusPatch, type Write } from '../runner/write.ts'
import {
  endOf,
  isSuspended,
  type JobState,
  jobConditions,
  jobStatus,
  untilDeadline,
  untilRetry,
  verdictOf,
} from './job/job-status.ts'
import {
  completionsOf,
  freeIndexes,
  indexOf,
  isIndexed,
  isOpen,
  isTracked,
  POD_INDEX,
  TRACKING,
  tallyOf,
} from './job/job-tally.ts'
import {
  acceptedStatus,
  type PodReports,
  podCreation,
  podDeletion,
  podEvent,
  podMessage,
} from './pod-writes.ts'
import { claimPods, gatherMs, type PodDifference, workloadsOfPod } from './shared/pods-of.ts'
import { type Conditions, conditionsOf } from './shared/status-difference.ts'
import { byDeletionOrder } from './shared/surplus-pods.ts'

/** Pods that one reconcile makes; the next one follows at once. */
const BURST = 500
/** The value of `spec.managedBy` that means this controller, as its absence does. */
const OWN_NAME = 'kubernetes.io/job-controller'
/** Characters of a generated name before its suffix; the server cuts longer ones. */
const MAX_BASE_LENGTH = 58
/** The prefix of the keys of Pods that have the finalizer although their Job is gone. */
const LOST = 'pod '
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX'

/**
 * Runs the Pods of each Job until enough of them have succeeded, or too many have failed. A key is `namespace/name` of a Job,
 * or after `pod ` that of a Pod.
 */
export const jobController: Controller = {
  name: 'job',
  account: 'job-controller',
  delayMs: (key, view) => gatherMs(view.jobs.get(key)),
  watches: {
    jobs: (change, view) => [change.key, ...lostPodsOf(change, view)],
    pods: (change, view) => [...workloadsOfPod('jobs')(change, view), ...lostPod(change, view)],
  },
  reconcile: (key, view, now) =>
    key.startsWith(LOST)
      ? reconcileLost(view.pods.get(key.slice(LOST.length)), view)
      : reconcileJob(view.jobs.get(key), view, now),
}

/** The keys of the Pods of a Job that is gone, or replaced by another one. */
function lostPodsOf(
  { before, after }: ObjectChange<WorkloadObject>,
  view: View,
): readonly string[] {
  if (before === undefined || before.meta.uid === after?.meta.uid) return []
  const pods = [...view.pods.group(ownerGroup(before.meta.uid))]
  return pods.filter((pod) => isLost(pod, view)).map(({ meta }) => LOST + meta.key)
}

function lostPod({ after }: ObjectChange<PodObject>, view: View): readonly string[] {
  return after !== undefined && isLost(after, view) ? [LOST + after.meta.key] : []
}

/** Whether a Pod has the finalizer, and no Job exists that could count it. */
function isLost(pod: PodObject, view: View): boolean {
  const job = jobOf(pod.meta)
  return isTracked(pod) && (job === undefined || view.jobs.get(keyOf(job))?.meta.uid !== job.uid)
}

/** The Job that controls a Pod, whether it is there or not. */
function jobOf(meta: ObjectMeta): ObjectIdentity | undefined {
  const owner = controllerOf(meta)
  if (owner?.kind !== 'Job') return undefined
  return { collection: 'jobs', namespace: meta.namespace, name: owner.name, uid: owner.uid }
}

function reconcileLost(pod: PodObject | undefined, view: View): Reconciliation {
  if (pod === undefined || !isLost(pod, view)) return SETTLED
  const job = jobOf(pod.meta)
  return { writes: [{ ...untracked(pod), ...(job !== undefined && { absent: [job] }) }] }
}

/** Removes the finalizer of a Pod. */
function untracked({ meta }: PodObject): Patch {
  const finalizers = meta.finalizers.filter((one) => one !== TRACKING)
  return { verb: 'patch', collection: 'pods', meta, body: { metadata: { finalizers } } }
}

/**
 * First the status counts the Pods that have ended; then these lose the finalizer, and others are made or deleted. The
 * status is written before anything that follows from it, so after a crash nothing is counted twice, or not at all.
 */
function reconcileJob(job: WorkloadObject | undefined, view: View, now: number): Reconciliation {
  if (job === undefined || (stringAt(job.spec, 'managedBy') || OWN_NAME) !== OWN_NAME) {
    return SETTLED
  }
  if (endOf(job) !== undefined) {
    const left = [...view.pods.group(ownerGroup(job.meta.uid))].filter(isTracked)
    return { writes: left.map(untracked) }
  }
  const claimed = claimPods('jobs', job, view, { finalizer: TRACKING })
  if (claimed.writes.length > 0) return { writes: claimed.writes, dirty: [job.meta.key] }
  const { pods } = claimed
  const state: JobState = { job, pods, tally: tallyOf(job, pods), now }
  const conditions = jobConditions(state)
  const status = jobStatus(state, conditions)
  const reports = reportsOf(state)
  if (!isEmpty(status)) {
    const writes = [statusPatch('jobs', job.meta, status), ...changesOf(reports, conditions)]
    return { writes, dirty: [job.meta.key] }
  }
  const changes = job.meta.terminating ? [] : podChanges(state, reports, view)
  const isDecided = verdictOf(state) !== undefined
  const nextMs = Math.min(untilDeadline(state), untilRetry(state) || Number.POSITIVE_INFINITY)
  return {
    writes: [
      ...state.tally.released.map(untracked),
      ...changes.slice(0, BURST),
      ...acceptedStatus(reports, conditions),
    ],
    ...(!isDecided && Number.isFinite(nextMs) && { againMs: nextMs }),
    ...(changes.length > BURST && { dirty: [job.meta.key] }),
  }
}

function reportsOf(state: JobState): PodReports {
  const { job, now } = state
  return {
    collection: 'jobs',
    owner: job,
    now,
    status: (conditions) => jobStatus(state, conditions),
    message: podMessage,
  }
}

/** An Event for each change of the conditions Complete, Failed and Suspended. */
function changesOf(reports: PodReports, conditions: Conditions): readonly Write[] {
  const known = conditionsOf(reports.owner.status)
  return [...conditions].flatMap(([type, condition]) => {
    const text = (field: string): string => stringAt(condition, field)
    if (stringAt(known.get(type), 'status') === text('status')) return []
    if (type === 'Complete') return [podEvent(reports, 'Normal', 'Completed', 'Job completed')]
    if (type === 'Failed') return [podEvent(reports, 'Warning', text('reason'), text('message'))]
    const change = text('status') === 'True' ? 'Suspended' : 'Resumed'
    return type === 'Suspended' ? [podEvent(reports, 'Normal', change, text('message'))] : []
  })
}

/**
 * The Pods to delete or make. Pods that are not wanted lose the finalizer first, so that they do not count as failed, and are
 * deleted when they have lost it. Those of a Job that fails keep it.
 */
function podChanges(state: JobState, reports: PodReports, view: View): readonly Write[] {
  const { tally } = state
  const active = tally.unfinished.filter(({ meta }) => !meta.terminating)
  if (verdictOf(state)?.type === 'Failed') return active.map((pod) => podDeletion(reports, pod))
  const [kept, left] = [active.filter(isTracked), active.filter((pod) => !isTracked(pod))]
  const surplus = surplusOf(state, kept, view)
  const removals = [...left.map((pod) => podDeletion(reports, pod)), ...surplus.map(untracked)]
  if (removals.length > 0 || untilRetry(state) > 0) return removals
  const missing = wantedPods(state) - tally.unfinished.length
  return Number.isFinite(missing) ? creations(state, reports, Math.min(missing, BURST + 1)) : []
}

/** How many Pods should run. Infinite: running Pods continue, and no more are made. */
function wantedPods(state: JobState): number {
  const { job, tally } = state
  if (isSuspended(job) || verdictOf(state) !== undefined) return 0
  const completions = completionsOf(job)
  const parallelism = countAt(job.spec, 1, 'parallelism')
  if (completions !== undefined) return Math.min(parallelism, completions - tally.total.succeeded)
  return tally.total.succeeded > 0 ? Number.POSITIVE_INFINITY : parallelism
}

/** The surplus Pods: first those whose index another Pod has or had, then those that `byDeletionOrder` puts first. */
function surplusOf(state: JobState, pods: readonly PodObject[], view: View): readonly PodObject[] {
  const { job, tally } = state
  const seen = new Set<number>()
  const isMisplaced = (index = -1): boolean => {
    const isFree = isOpen(tally, index) && !seen.has(index)
    seen.add(index)
    return !isFree
  }
  const misplaced = pods.filter((pod) => isIndexed(job) && isMisplaced(indexOf(job, pod)))
  const others = pods.filter((pod) => !misplaced.includes(pod))
  const extra = others.length - Math.max(0, wantedPods(state))
  return extra > 0
    ? [...misplaced, ...byDeletionOrder(job, others, view).slice(0, extra)]
    : misplaced
}

function creations(state: JobState, reports: PodReports, count: number): readonly Write[] {
  const { job, tally } = state
  const { name } = job.meta
  if (count <= 0) return []
  if (!isIndexed(job)) {
    const pod = podCreation(reports, { name: `${name}-`, finalizers: [TRACKING] })
    return Array.from({ length: count }, () => pod)
  }
  const used = tally.unfinished.map((pod) => indexOf(job, pod)).filter((one) => one !== undefined)
  return freeIndexes(tally, used, completionsOf(job) ?? 0, count).map((index) =>
    podCreation(reports, indexedPod(job, index)),
  )
}

/** In what the Pod of an index differs from the template. */
function indexedPod({ meta: { name }, template }: WorkloadObject, index: number): PodDifference {
  const text = String(index)
  const spec = objectAt(template, 'spec')
  const fieldPath = `metadata.annotations['${POD_INDEX}']`
  const variable = { name: INDEX_VARIABLE, valueFrom: { fieldRef: { fieldPath } } }
  const withIndex = (field: string): JsonObject => {
    const containers = arrayAt(spec, field).filter(isJsonObject)
    const all = containers.map((one) => {
      const env = arrayAt(one, 'env')
      const isSet = env.some((entry) => stringAt(entry, 'name') === INDEX_VARIABLE)
      return isSet ? one : { ...one, env: [...env, variable] }
    })
    return all.length === 0 ? {} : { [field]: all }
  }
  return {
    name: `${name.slice(0, MAX_BASE_LENGTH - text.length - 2)}-${text}-`,
    labels: { [POD_INDEX]: text },
    annotations: { [POD_INDEX]: text },
    finalizers: [TRACKING],
    spec: {
      hostname: `${name}-${text}`,
      ...withIndex('containers'),
      ...withIndex('initContainers'),
    },
  }
}
