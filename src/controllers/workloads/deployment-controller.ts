import type { ApiFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { REVISION } from '../../resources/label-names.ts'
import type { View } from '../cache/object-cache.ts'
import { isEmpty, keyOf, keysPatch } from '../objects/object-meta.ts'
import { countAt, type WorkloadObject } from '../objects/workload-object.ts'
import { type Controller, type Reconciliation, SETTLED } from '../runner/controller.ts'
import { eventWrite, statusPatch, type Write } from '../runner/write.ts'
import {
  claimSets,
  deploymentsOfPod,
  deploymentsOfSet,
  hasRunningPods,
  newSet,
  type OwnedSets,
  sizeOf,
  templateHash,
} from './deployment/owned-sets.ts'
import { annotationsFor, revisionOf, sizeAnnotations } from './deployment/revision.ts'
import { historyLimitOf, limitsOf } from './deployment/rollout-limits.ts'
import {
  isActive,
  isScaled,
  proportionalSizes,
  rollingSizes,
  type Sizes,
  spareFor,
  UNCHANGED,
} from './deployment/rollout-sizes.ts'
import {
  CREATE_ERROR,
  collisionsOf,
  countsOf,
  isComplete,
  pausedConditions,
  storedCounts,
  untilLate,
  withAvailability,
  withEstimate,
  withFailures,
  withFoundSet,
  withProgress,
} from './deployment/rollout-status.ts'
import { gatherMs } from './shared/pods-of.ts'
import { type Conditions, conditionsOf, statusDifference } from './shared/status-difference.ts'

const NAME = 'deployment'

/**
 * Makes a ReplicaSet for each template of a Deployment, and moves the replicas from the old ones to the new one. A key
 * is `namespace/name` of a Deployment.
 */
export const deploymentController: Controller = {
  name: NAME,
  account: 'deployment-controller',
  delayMs: (key, view) => gatherMs(view.deployments.get(key)),
  watches: {
    deployments: ({ key, after }) => (after === undefined ? [] : [key]),
    replicasets: deploymentsOfSet,
    pods: deploymentsOfPod,
  },
  reconcile,
}

interface State extends OwnedSets {
  readonly deployment: WorkloadObject
  readonly view: View
  readonly now: number
}

/** What a reconcile changes. */
interface Plan {
  readonly sizes: Sizes
  /** The size of the ReplicaSet to make for the present template. */
  readonly create?: number
  /** Whether the progress of a rollout is estimated: not while the Deployment is paused or was just scaled. */
  readonly isRollout?: true
  /** Old ReplicaSets without Pods that are too many may be deleted. */
  readonly isTidy?: boolean
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const deployment = view.deployments.get(key)
  if (deployment === undefined) return SETTLED
  const { writes, current, old } = claimSets(deployment, view)
  if (writes.length > 0) return { writes, dirty: [key] }
  const state: State = { deployment, current, old, view, now }
  const marks = deployment.meta.terminating ? [] : revisionWrites(state)
  if (marks.length > 0) return { writes: marks, dirty: [key] }
  const plan = planOf(state)
  if (plan.create !== undefined) return { writes: creation(state, plan.create), dirty: [key] }
  return changes(state, plan)
}

function planOf(state: State): Plan {
  const { deployment, current, old, view, now } = state
  if (deployment.meta.terminating) return { sizes: UNCHANGED }
  const isPaused = deployment.spec['paused'] === true
  const all = current === undefined ? old : [...old, current]
  const { isRecreate } = limitsOf(deployment)
  const isSpread = isScaled(deployment, all) && !(isRecreate && all.filter(isActive).length > 1)
  if (isPaused || isSpread) {
    return { sizes: proportionalSizes(deployment, state), isTidy: isPaused }
  }
  const isTidy = isComplete(deployment, storedCounts(deployment))
  if (isRecreate) return { ...recreate(state), isRollout: true, isTidy }
  if (current === undefined) {
    const spare = spareFor(
      deployment,
      old.map((set) => sizeOf(set, view, now)),
    )
    return { sizes: UNCHANGED, create: Math.min(spare, deployment.replicas) }
  }
  const sizes = rollingSizes(deployment, { current, old }, view, now)
  return { sizes, isRollout: true, isTidy: isTidy && sizes.size === 0 }
}

/** All old Pods have to be gone before the first new one is made. */
function recreate({ deployment, current, old, view }: State): Plan {
  const active = old.filter(isActive)
  if (active.length > 0) return { sizes: new Map(active.map((set) => [set, 0])) }
  if (old.some((set) => hasRunningPods(set, view))) return { sizes: UNCHANGED }
  if (current === undefined) return { sizes: UNCHANGED, create: deployment.replicas }
  return { sizes: new Map([[current, deployment.replicas]]) }
}

function changes(state: State, plan: Plan): Reconciliation {
  const { deployment, now } = state
  const counts = countsOf(deployment, state, plan.sizes)
  const stored = pausedConditions(deployment, now)
  const found = withFoundSet(stored, deployment, state, now)
  const available = withAvailability(found, deployment, counts, now)
  const conditions = plan.isRollout
    ? withFailures(withEstimate(available, deployment, { counts, owned: state, now }), state)
    : available
  const againMs = plan.isRollout ? untilLate(conditions, deployment, counts, now) : undefined
  return {
    writes: [
      ...[...plan.sizes].flatMap(([set, size]) => scaling(state, set, size)),
      ...(plan.isTidy === true ? surplusSets(state) : []),
      ...statusWrites(state, conditions, plan.sizes),
    ],
    ...(againMs !== undefined && { againMs }),
  }
}

/** The annotations and `minReadySeconds` of the present ReplicaSet, and the revision of the Deployment. */
function revisionWrites({ deployment, current, old }: State): readonly Write[] {
  if (current === undefined) return []
  const { meta } = current
  const wanted = annotationsFor(deployment, old, meta.annotations)
  const annotations = keysPatch(meta.annotations, wanted)
  const minReadySeconds = countAt(deployment.spec, 0, 'minReadySeconds')
  const isSame = countAt(current.spec, 0, 'minReadySeconds') === minReadySeconds
  const body: JsonObject = {
    ...(!isEmpty(annotations) && { metadata: { annotations } }),
    ...(!isSame && { spec: { minReadySeconds } }),
  }
  const revision = keysPatch(deployment.meta.annotations, { [REVISION]: wanted[REVISION] })
  return [
    ...(isEmpty(body) ? [] : [patch('replicasets', current, body)]),
    ...(isEmpty(revision)
      ? []
      : [patch('deployments', deployment, { metadata: { annotations: revision } })]),
  ]
}

function patch(
  collection: 'deployments' | 'replicasets',
  { meta }: WorkloadObject,
  body: JsonObject,
): Write {
  return { verb: 'patch', collection, meta, body }
}

/**
 * Makes the ReplicaSet of the present template. Where its name belongs to another one, `collisionCount` rises, by which
 * the next name is another one.
 */
function creation(state: State, replicas: number): readonly Write[] {
  const { deployment, old, view, now } = state
  const { meta, template } = deployment
  const made = newSet(deployment, templateHash(template, collisionsOf(deployment)), replicas)
  const { name } = made
  if (view.replicasets.get(keyOf({ namespace: meta.namespace, name })) !== undefined) {
    return [statusPatch('deployments', meta, { collisionCount: collisionsOf(deployment) + 1 })]
  }
  const annotations = { ...annotationsFor(deployment, old, {}), ...sizeAnnotations(deployment) }
  const metadata = { ...(made.body['metadata'] as JsonObject), annotations }
  const message = `Created new replica set "${name}"`
  const progress = { status: 'True', reason: 'NewReplicaSetCreated', message } as const
  const conditions = pausedConditions(deployment, now)
  return [
    {
      ...made,
      body: { ...made.body, metadata },
      done: () => (replicas === 0 ? [] : [scalingEvent(state, name, 'up', replicas)]),
      refused: (failure) => refusal(state, name, failure),
    },
    ...statusWrites(state, withProgress(conditions, deployment, progress, now)),
  ]
}

function refusal(state: State, name: string, failure: ApiFailure): readonly Write[] {
  const { deployment, now } = state
  const message = `Failed to create new replica set "${name}": ${failure.message}`
  const conditions = conditionsOf(deployment.status)
  const wanted = { status: 'False', reason: CREATE_ERROR, message } as const
  const next = withProgress(conditions, deployment, wanted, now)
  const isKnown = conditions.get('Progressing')?.['reason'] === CREATE_ERROR
  return [
    ...(isKnown ? [] : [event(state, 'Warning', CREATE_ERROR, message)]),
    ...statusWrites(state, next),
  ]
}

/** Gives a ReplicaSet its size, and annotations with the size of the Deployment. */
function scaling(state: State, set: WorkloadObject, size: number): readonly Write[] {
  const annotations = keysPatch(set.meta.annotations, sizeAnnotations(state.deployment))
  const isSame = set.replicas === size
  if (isSame && (isEmpty(annotations) || !isActive(set))) return []
  const body = { metadata: { annotations }, ...(!isSame && { spec: { replicas: size } }) }
  const direction = size > set.replicas ? 'up' : 'down'
  return [
    patch('replicasets', set, body),
    ...(isSame ? [] : [scalingEvent(state, set.meta.name, direction, size)]),
  ]
}

function scalingEvent(state: State, name: string, direction: 'up' | 'down', size: number): Write {
  const message = `Scaled ${direction} replica set ${name} to ${size}`
  return event(state, 'Normal', 'ScalingReplicaSet', message)
}

/** Old ReplicaSets above `revisionHistoryLimit`, those of the lowest revisions; never one that may have Pods. */
function surplusSets({ deployment, old }: State): readonly Write[] {
  const kept = old.filter(({ meta }) => !meta.terminating)
  const count = Math.max(0, kept.length - historyLimitOf(deployment))
  return kept
    .toSorted((a, b) => revisionOf(a) - revisionOf(b))
    .slice(0, count)
    .filter(
      ({ replicas, status, generation }) =>
        replicas === 0 &&
        countAt(status, 0, 'replicas') === 0 &&
        countAt(status, 0, 'observedGeneration') >= generation,
    )
    .map(({ meta }) => ({ verb: 'delete', collection: 'replicasets', meta }))
}

function statusWrites(
  state: State,
  conditions: Conditions,
  sizes: Sizes = UNCHANGED,
): readonly Write[] {
  const { deployment } = state
  const body = statusDifference(deployment.status, countsOf(deployment, state, sizes), conditions)
  return isEmpty(body) ? [] : [statusPatch('deployments', deployment.meta, body)]
}

function event(
  { deployment: { meta }, now }: State,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): Write {
  const subject = { apiVersion: 'apps/v1', kind: 'Deployment', meta }
  return eventWrite(subject, { controller: NAME, type, reason, message }, now)
}
