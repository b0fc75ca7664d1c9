import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { OPERATING_SYSTEM } from '../../resources/label-names.ts'
import {
  CLEAN_UP_LABEL,
  MADE_BY,
  MADE_BY_LABEL,
  PROXY_LABEL,
  type Proxy,
  type Rule,
  ruleOf,
  type Served,
  servedBy,
} from './placement.ts'

/** A Pod of a proxy, or one that removes rules. */
export interface PodState {
  readonly name: string
  readonly isReady: boolean
  readonly isDeleting: boolean
  /** Whether one of its containers has ever run. */
  readonly hasRun: boolean
  readonly restarts: number
  /** It has ended, and successfully. */
  readonly isDone: boolean
  /** Why it will not run; undefined: it runs, or begins to. */
  readonly trouble: string | undefined
}

/** A Pod that removes the rules of a proxy from a node. */
export interface CleanUpState extends PodState {
  readonly of: string
}

/** What the API shows of one node. */
export interface NodeState {
  readonly name: string
  /** The label as it is; empty: the node has none. */
  readonly label: string
  /** Which proxies serve it by its label, or without one by the DaemonSets; undefined: another value. */
  readonly served: Served | undefined
  /** The proxy whose rules are to be removed; empty: none. */
  readonly pending: string
  readonly isReady: boolean
  readonly kubeProxy: readonly PodState[]
  readonly nodeProxy: readonly PodState[]
  readonly cleanUps: readonly CleanUpState[]
}

/** What the API shows of a DaemonSet. */
export interface DaemonSetState {
  readonly object: JsonObject
  readonly rule: Rule | undefined
  /** Every Pod is of the present template, and available. */
  readonly isRolledOut: boolean
  /** Its controller has seen the present template. */
  readonly isObserved: boolean
  /** `3 of 5` */
  readonly progress: string
  /** Made by the command. */
  readonly isMade: boolean
}

export interface ProxySets {
  readonly kubeProxy: DaemonSetState | undefined
  readonly nodeProxy: DaemonSetState | undefined
}

/** Reasons of waiting containers that do not end by themselves, or not soon. */
const TROUBLES: ReadonlySet<string> = new Set([
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
])

export function daemonSetState(object: JsonObject): DaemonSetState {
  return {
    object,
    rule: ruleOf(object),
    isRolledOut: isRolledOut(object),
    isObserved: isObserved(object),
    progress: `${count(object, 'updatedNumberScheduled')} of ${count(object, 'desiredNumberScheduled')}`,
    isMade: isMade(object),
  }
}

export function isMade(object: JsonObject): boolean {
  return stringAt(object, 'metadata', 'labels', MADE_BY_LABEL) === MADE_BY
}

/** The state of a node from its Node object and the Pods of kube-system on it. */
export function nodeState(
  node: JsonObject,
  pods: readonly JsonObject[],
  { kubeProxy, nodeProxy }: ProxySets,
): NodeState {
  const label = stringAt(node, 'metadata', 'labels', PROXY_LABEL)
  const of = (proxy: Proxy) => pods.filter((pod) => ownerOf(pod) === proxy).map(podState)
  return {
    name: stringAt(node, 'metadata', 'name'),
    label,
    served: servedBy(label, kubeProxy?.rule, nodeProxy === undefined ? 'absent' : nodeProxy.rule),
    pending: stringAt(node, 'metadata', 'labels', CLEAN_UP_LABEL),
    isReady: hasCondition(node, 'Ready'),
    kubeProxy: of('kube-proxy'),
    nodeProxy: of('node-proxy'),
    cleanUps: pods.flatMap((pod) => {
      const proxy = stringAt(pod, 'metadata', 'labels', CLEAN_UP_LABEL)
      return proxy === '' ? [] : [{ ...podState(pod), of: proxy }]
    }),
  }
}

/** Whether neither proxy belongs on a node: it has another operating system, or is that of a virtual kubelet. */
export function isForeignNode(node: JsonObject): boolean {
  const labels = objectAt(node, 'metadata', 'labels')
  const system = stringAt(labels, OPERATING_SYSTEM)
  return (system !== '' && system !== 'linux') || stringAt(labels, 'type') === 'virtual-kubelet'
}

function podState(pod: JsonObject): PodState {
  const status = objectAt(pod, 'status')
  const own = arrayAt(status, 'containerStatuses').filter(isJsonObject)
  const all = [...arrayAt(status, 'initContainerStatuses').filter(isJsonObject), ...own]
  const phase = stringAt(status, 'phase')
  return {
    name: stringAt(pod, 'metadata', 'name'),
    isReady: hasCondition(pod, 'Ready'),
    isDeleting: stringAt(pod, 'metadata', 'deletionTimestamp') !== '',
    hasRun: own.some((one) => stringAt(one, 'containerID') !== ''),
    restarts: own.reduce((sum, one) => sum + Number(valueAt(one, 'restartCount') ?? 0), 0),
    isDone: phase === 'Succeeded',
    trouble: phase === 'Failed' ? failureOf(status) : all.map(troubleOf).find(Boolean),
  }
}

function failureOf(status: JsonObject): string {
  return stringAt(status, 'reason') || stringAt(status, 'message') || 'failed'
}

function troubleOf(status: JsonObject): string | undefined {
  const waiting = objectAt(status, 'state', 'waiting')
  const reason = stringAt(waiting, 'reason')
  if (!TROUBLES.has(reason)) return undefined
  const message = stringAt(waiting, 'message')
  const container = stringAt(status, 'name')
  return `container ${container}: ${reason}${message === '' ? '' : `: ${message}`}`
}

function ownerOf(pod: JsonObject): string {
  const owners = arrayAt(pod, 'metadata', 'ownerReferences')
  const owner = owners.find((one) => stringAt(one, 'kind') === 'DaemonSet')
  return owner === undefined ? '' : stringAt(owner, 'name')
}

function hasCondition(object: JsonObject, type: string): boolean {
  const found = arrayAt(object, 'status', 'conditions').find(
    (one) => stringAt(one, 'type') === type,
  )
  return found !== undefined && stringAt(found, 'status') === 'True'
}

function isRolledOut(object: JsonObject): boolean {
  const desired = count(object, 'desiredNumberScheduled')
  // OnDelete: Pods keep their template until they are deleted.
  const isKept = stringAt(object, 'spec', 'updateStrategy', 'type') === 'OnDelete'
  const isNew = isKept || count(object, 'updatedNumberScheduled') >= desired
  return isObserved(object) && isNew && count(object, 'numberAvailable') >= desired
}

function isObserved(object: JsonObject): boolean {
  const generation = Number(valueAt(object, 'metadata', 'generation') ?? 0)
  return count(object, 'observedGeneration') >= generation
}

function count(object: JsonObject, key: string): number {
  return Number(valueAt(object, 'status', key) ?? 0)
}
