import { podWrite } from '../../../auth/node/node-writes.ts'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { yieldToEventLoop } from '../../../lib/yield-to-event-loop.ts'
import { readAddress } from '../../../resources/address.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { NAMES } from '../../../resources/names.ts'
import {
  API_SERVICE_NAMES,
  API_SERVICE_NAMESPACE,
  podEnvironment,
} from '../../../resources/pod-environment.ts'
import { isRaw, isSameValue, ownField, type Raw, type Reader } from '../../../resources/reader.ts'
import { readCondition } from '../../../resources/status-condition.ts'
import { ageColumn, type Column, column, nameColumn, wideColumn } from '../../resource/column.ts'
import type {
  DerivedSubresource,
  ObjectReader,
  Resource,
  StreamedSubresource,
} from '../../resource/resource.ts'
import { nodes } from '../node/resource.ts'
import { services } from '../service/resource.ts'
import { checkOneOf, checkUnchanged, nodeRule } from '../shared/checks.ts'
import { change } from '../shared/edit.ts'
import { defaultPodSpec } from '../shared/pod-spec/defaults.ts'
import { checkPodSpec } from '../shared/pod-spec/validation.ts'
import { podBinding } from './binding.ts'
import { completePod } from './complete-account.ts'
import { podEviction } from './eviction.ts'
import { podSummary } from './summary.ts'

const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]
const FIXED = {
  forbidden: `pod updates may not change fields other than ${CHANGEABLE.join(',')}`,
}

const TOLERATED = {
  forbidden: 'existing toleration can not be modified except its tolerationSeconds',
}
const GATED = { forbidden: 'only deletion is allowed, but found new scheduling gate' }
const DEADLINE = 'activeDeadlineSeconds'
const GRACE = 'terminationGracePeriodSeconds'

const columns: readonly Column[] = [
  nameColumn,
  column('Ready', 'Ready containers of all.', (pod, now) => podSummary(pod, now).ready),
  column('Status', 'What the pod is doing.', (pod, now) => podSummary(pod, now).status),
  column(
    'Restarts',
    'How often its containers were restarted, and when last.',
    (pod, now) => podSummary(pod, now).restarts,
  ),
  ageColumn,
  wideColumn('IP', 'Address of the pod.', (object) => orNone(object, 'status', 'podIP')),
  wideColumn('Node', 'Node that it runs on.', (object) => orNone(object, 'spec', 'nodeName')),
  wideColumn('Nominated Node', 'Node reserved for it.', (object) =>
    orNone(object, 'status', 'nominatedNodeName'),
  ),
  wideColumn('Readiness Gates', 'Extra conditions that hold.', readinessGates),
]

/** The environment variables for finding Services, as a Pod would get them if it started now. */
const podEnvironmentSubresource: DerivedSubresource = {
  name: 'environment',
  kind: 'PodEnvironment',
  derive: async (objects, pod) => {
    const env = await yieldToEventLoop(podEnvironment(pod, visibleServices(objects, pod)))
    return { env: env.map((variable) => ({ ...variable })) }
  },
}

const PHASES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']

/** The taints of nodes that are not ready or not reachable, which may be so for a short time only. */
const PASSING = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const EVICTING = 'NoExecute'
const PASSING_SECONDS = 300

/** The grace period of a Pod whose spec names none. */
const DEFAULT_GRACE_SECONDS = 30

/** The subresources of a Pod that are streams. GET opens a WebSocket, POST a session of SPDY/3.1. */
const podStreams: readonly StreamedSubresource[] = [
  { name: 'attach', kind: 'PodAttachOptions', methods: ['GET', 'POST'] },
  { name: 'exec', kind: 'PodExecOptions', methods: ['GET', 'POST'] },
  { name: 'log', kind: 'Pod', methods: ['GET'] },
  { name: 'portforward', kind: 'PodPortForwardOptions', methods: ['GET', 'POST'] },
]

export const pods: Resource = {
  plural: 'pods',
  singular: 'pod',
  kind: 'Pod',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  status: { initial: () => ({ phase: 'Pending' }) },
  deletion: { graceSeconds: podGraceSeconds, returnsMarked: true },
  derived: [podEnvironmentSubresource],
  actions: [podBinding],
  evicted: podEviction,
  streamed: podStreams,
  runsOn: nodes,
  fields: (object) => ({
    'spec.nodeName': stringAt(object, 'spec', 'nodeName'),
    'spec.restartPolicy': stringAt(object, 'spec', 'restartPolicy'),
    'spec.schedulerName': stringAt(object, 'spec', 'schedulerName'),
    'spec.serviceAccountName': stringAt(object, 'spec', 'serviceAccountName'),
    'status.phase': stringAt(object, 'status', 'phase'),
    'status.podIP': stringAt(object, 'status', 'podIP'),
    'status.nominatedNodeName': stringAt(object, 'status', 'nominatedNodeName'),
  }),
  columns,
  checkWriter: nodeRule(podWrite, 'pods', ''),
  validate: checkPod,
  validateUpdate: checkPodUpdate,
  defaults: defaultPod,
  complete: completePod,
}

function defaultPod(pod: Raw): Raw {
  return change(pod, 'spec', (spec) => withDefaultTolerations(defaultPodSpec(spec)))
}

/**
 * The spec of a Pod that tolerates for five minutes that its node is not ready or not reachable. A toleration of its own for
 * such a taint, of any duration, counts (DefaultTolerationSeconds in Kubernetes).
 */
function withDefaultTolerations(spec: Raw): Raw {
  const value = ownField(spec, 'tolerations') ?? []
  if (!Array.isArray(value)) return spec
  const given: readonly unknown[] = value
  const missing = PASSING.filter((key) => !given.some((one) => isRaw(one) && concerns(one, key)))
  if (missing.length === 0) return spec
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: EVICTING,
    tolerationSeconds: PASSING_SECONDS,
  }))
  return { ...spec, tolerations: [...given, ...added] }
}

/** Whether a toleration is for this taint, or for all keys or effects; its value is not compared, as in Kubernetes. */
function concerns(toleration: Raw, key: string): boolean {
  const [itsKey, effect] = ['key', 'effect'].map((field) => ownField(toleration, field) ?? '')
  return (itsKey === key || itsKey === '') && (effect === EVICTING || effect === '')
}

/**
 * The seconds that a Pod has to end: its node ends it, and then deletes it with a grace period of 0. A Pod that
 * is on no node, or has ended, needs no grace period.
 */
function podGraceSeconds(pod: JsonObject, requested: number | undefined): number {
  const phase = stringAt(pod, 'status', 'phase')
  const isIdle = stringAt(pod, 'spec', 'nodeName') === ''
  if (isIdle || phase === 'Succeeded' || phase === 'Failed') return 0
  const own = objectAt(pod, 'spec')[GRACE]
  return requested ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS)
}

/** The rules for a Pod: its containers and their ports, the node and the addresses, from which endpoints are made. */
function checkPod(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  checkPodSpec(object.object('spec'))
  checkStatus(object.object('status'))
}

/** The addresses of a Pod become endpoints, so they must not be addresses that only the node itself can reach. */
function checkStatus(status: Reader): void {
  checkOneOf(status, 'phase', PHASES)
  for (const [object, key] of [
    [status, 'podIP'] as const,
    ...status.objects('podIPs').map((one) => [one, 'ip'] as const),
  ]) {
    const value = object.value(key)
    if (value === undefined || value === '') continue
    readAddress(value, 'host', (wrong) => object.refuse(key, wrong))
  }
}

/** The Services of the Pod's namespace, and those of the API. */
function* visibleServices(objects: ObjectReader, pod: JsonObject): Generator<JsonObject> {
  const namespace = stringAt(pod, 'metadata', 'namespace')
  yield* objects.list(services, namespace)
  if (namespace === API_SERVICE_NAMESPACE) return
  for (const name of API_SERVICE_NAMES) {
    const apiService = objects.get(services, API_SERVICE_NAMESPACE, name)
    if (apiService !== undefined) yield apiService
  }
}

function orNone(object: JsonObject, ...path: readonly string[]): string {
  const text = stringAt(object, ...path)
  return text === '' ? '<none>' : text
}

function readinessGates(object: JsonObject): string {
  const gates = arrayAt(object, 'spec', 'readinessGates')
  if (gates.length === 0) return '<none>'
  const status = objectAt(object, 'status')
  const holding = gates.filter(
    (gate) => readCondition(status, stringAt(gate, 'conditionType')).status === 'True',
  )
  return `${holding.length}/${gates.length}`
}

/**
 * Most of a Pod is immutable: its spec, whether it is a mirror, and its node once chosen. A default that was
 * added to the server after the Pod was stored does not count as a change.
 */
function checkPodUpdate(next: Reader, old: Reader): void {
  const annotationsOf = (pod: Reader): Reader => pod.object('metadata').map('annotations')
  for (const name of NAMES.mirror) checkUnchanged(annotationsOf(next), annotationsOf(old), name)
  checkSpecUpdate(next, old)
}

function checkSpecUpdate(next: Reader, old: Reader): void {
  const [after, before] = [next.value('spec'), old.value('spec')]
  if (!isRaw(after) || !isRaw(before) || isSameValue(after, before)) return
  checkChangeable(next.object('spec'), before)
  const isBound = (ownField(before, 'nodeName') ?? '') !== ''
  const [then, now] = [before, withEarlierGrace(after, before)].map((spec) =>
    fixedPart(defaultPodSpec(spec), isBound),
  )
  if (!isSameValue(now, then)) {
    next.withhold('spec', FIXED)
  }
}

/** The rules for the fields that may change. */
function checkChangeable(spec: Reader, before: Raw): void {
  const tolerations = spec.list('tolerations').map(untimed)
  const isKept = (one: unknown): boolean =>
    tolerations.some((other) => isSameValue(other, untimed(one)))
  if (!itemsOf(before, 'tolerations').every(isKept)) spec.withhold('tolerations', TOLERATED)
  const gates = itemsOf(before, 'schedulingGates')
  const isOld = (one: unknown): boolean => gates.some((other) => isSameValue(other, one))
  if (!spec.list('schedulingGates').every(isOld)) spec.withhold('schedulingGates', GATED)
  const [deadline, limit] = [spec.value(DEADLINE), ownField(before, DEADLINE)]
  if (typeof limit !== 'number') return
  if (typeof deadline !== 'number' || deadline > limit) {
    spec.refuse(DEADLINE, `must be a number of at most ${limit}, the present value`)
  }
}

function itemsOf(object: Raw, key: string): readonly unknown[] {
  const value = ownField(object, key)
  return Array.isArray(value) ? value : []
}

/** A toleration without its duration, which may change. */
function untimed(toleration: unknown): unknown {
  return isRaw(toleration) ? { ...toleration, tolerationSeconds: undefined } : toleration
}

/** The spec with its earlier grace period, if that was negative and becomes one second: this change is permitted. */
function withEarlierGrace(spec: Raw, before: Raw): Raw {
  const earlier = ownField(before, GRACE)
  const isCorrected = typeof earlier === 'number' && earlier < 0 && ownField(spec, GRACE) === 1
  return isCorrected ? { ...spec, [GRACE]: earlier } : spec
}

function fixedPart(spec: Raw, isBound: boolean): Raw {
  const changeable = [DEADLINE, 'tolerations', 'schedulingGates', ...(isBound ? [] : ['nodeName'])]
  const kept = Object.entries(spec).filter(([key]) => !changeable.includes(key))
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      /^(?:initC|c)ontainers$/.test(key) ? imageless(value) : value,
    ]),
  )
}

function imageless(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers
  return containers.map((one: unknown) => (isRaw(one) ? { ...one, image: '' } : one))
}
