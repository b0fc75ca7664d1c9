import type { CleanUpState, NodeState, PodState } from './observed.ts'
import type { Proxy, Served } from './placement.ts'

/** What is to be done next with a node. */
export type NodeStep =
  | { readonly kind: 'done' }
  /** Set the labels of the node in one request; an empty value removes the label. */
  | { readonly kind: 'label'; readonly label: Served; readonly pending: Proxy | '' }
  | { readonly kind: 'clean-up'; readonly of: Proxy }
  | { readonly kind: 'delete-pod'; readonly pod: string }
  | { readonly kind: 'wait'; readonly what: string }
  /** Go on once the node has been well for a while. */
  | { readonly kind: 'watch' }

/** What the objects of the API do not show. */
interface Known {
  /** node-proxy has written its rules. */
  readonly isWritten: boolean
  /** The node has been watched in this state, and was well. */
  readonly isWatched: boolean
}

/**
 * The next step of a node towards the proxies that are to serve it. It follows from what is there alone, so an
 * interrupted move goes on where it was. A proxy is stopped only when the other one serves, and the rules of a proxy
 * are removed only when it has no Pod on the node.
 */
export function nextNodeStep(state: NodeState, goal: Served, known: Known): NodeStep {
  if (state.served === goal) return goal === 'both' ? DONE : settleStep(state, goal, known)
  const deleting = deleteStep(state)
  if (deleting !== undefined) return deleting
  if (state.served !== 'both' || goal === 'both')
    return { kind: 'label', label: 'both', pending: '' }
  const isServing = goal === 'node-proxy' ? known.isWritten : isUp(state.kubeProxy)
  if (!isServing) return wait(goal === 'node-proxy' ? 'node-proxy to write its rules' : KUBE_PROXY)
  if (goal === 'kube-proxy' && !known.isWatched) return { kind: 'watch' }
  return { kind: 'label', label: goal, pending: pendingOf(state, goal) }
}

/**
 * The steps that are still to be done with a node when nothing goes wrong, as lines for people. The last entry is what
 * is awaited in the end.
 */
export function plannedSteps(state: NodeState, goal: Proxy): readonly string[] {
  const other = otherThan(goal)
  const lines: string[] = []
  if (state.served === other) lines.push(`start ${goal} beside ${other}`)
  if (state.served !== goal) {
    const sign = goal === 'node-proxy' ? 'its rules are in the kernel' : 'it is ready'
    lines.push(`wait until ${sign}`, `stop ${other}`)
  }
  if (state.served !== goal || state.pending !== '') lines.push(`remove the rules of ${other}`)
  if (lines.length === 0 && !isUp(podsOf(state, goal))) lines.push(`wait until ${goal} is ready`)
  return lines
}

export function otherThan(proxy: Proxy): Proxy {
  return proxy === 'kube-proxy' ? 'node-proxy' : 'kube-proxy'
}

function podsOf(state: NodeState, proxy: Proxy): readonly PodState[] {
  return proxy === 'kube-proxy' ? state.kubeProxy : state.nodeProxy
}

const DONE: NodeStep = { kind: 'done' }
const KUBE_PROXY = 'kube-proxy to be ready'

/** The other proxy leaves, then its rules. */
function settleStep(state: NodeState, goal: Proxy, known: Known): NodeStep {
  const other = otherThan(goal)
  if (podsOf(state, other).length > 0) return wait(`${other} to stop`)
  if (!isUp(podsOf(state, goal))) return wait(`${goal} to be ready`)
  if (state.pending === other) return cleanUpStep(state, goal, other)
  return deleteStep(state) ?? (known.isWatched ? DONE : { kind: 'watch' })
}

function cleanUpStep(state: NodeState, goal: Proxy, other: Proxy): NodeStep {
  const strange = state.cleanUps.find((one) => one.of !== other)
  if (strange !== undefined) return deletion(strange)
  const [cleanUp] = state.cleanUps
  if (cleanUp === undefined) return { kind: 'clean-up', of: other }
  if (cleanUp.isDeleting) return wait(`Pod ${cleanUp.name} to end`)
  if (cleanUp.isDone) return { kind: 'label', label: goal, pending: '' }
  return wait(`the rules of ${other} to be removed`)
}

/** A Pod that removes rules must be gone before the proxy of these rules starts. */
function deleteStep({ cleanUps }: NodeState): NodeStep | undefined {
  const [first] = cleanUps
  return first === undefined ? undefined : deletion(first)
}

function deletion({ name, isDeleting }: CleanUpState): NodeStep {
  return isDeleting ? wait(`Pod ${name} to end`) : { kind: 'delete-pod', pod: name }
}

/** A node-proxy that never ran, such as one without an image, has left no rules, nor could it remove them. */
function pendingOf(state: NodeState, goal: Proxy): Proxy | '' {
  const leaving = podsOf(state, otherThan(goal))
  const neverRan = leaving.length > 0 && leaving.every(({ hasRun }) => !hasRun)
  return neverRan && goal === 'kube-proxy' ? '' : otherThan(goal)
}

function isUp(pods: readonly PodState[]): boolean {
  return pods.some(({ isReady, isDeleting }) => isReady && !isDeleting)
}

function wait(what: string): NodeStep {
  return { kind: 'wait', what }
}
