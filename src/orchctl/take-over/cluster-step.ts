import { type JsonObject, stringAt } from '../../lib/json.ts'
import { nextNodeStep } from './next-step.ts'
import type { DaemonSetState, NodeState, ProxySets } from './observed.ts'
import {
  accepts,
  isSameRule,
  KUBE_PROXY_BY_LABEL,
  KUBE_PROXY_RETURNING,
  NODE_PROXY_BY_LABEL,
  NODE_PROXY_EVERYWHERE,
  type Proxy,
  type Rule,
  type Served,
} from './placement.ts'

/** What the API shows of a cluster. */
export interface ClusterState extends ProxySets {
  /** The nodes that may move. */
  readonly nodes: readonly NodeState[]
  /** DaemonSets of config/take-over, which remove rules from all nodes with a label. */
  readonly cleaners: readonly JsonObject[]
  /** Objects of node-proxy, without its DaemonSet, that the cluster lacks; in the order to create them. */
  readonly missing: readonly JsonObject[]
  /** Objects of node-proxy, without its DaemonSet, that the command has made. */
  readonly made: readonly JsonObject[]
}

/** What is wanted. */
export interface Goal {
  readonly proxy: Proxy
  /** Undefined: the whole cluster, nodes that are added later, too. */
  readonly names: ReadonlySet<string> | undefined
}

/** What is to be done next with a cluster. */
export type ClusterStep =
  | { readonly kind: 'done' }
  | { readonly kind: 'place'; readonly of: Proxy; readonly rule: Rule | undefined }
  | { readonly kind: 'create'; readonly object: JsonObject }
  | { readonly kind: 'create-node-proxy' }
  | { readonly kind: 'delete'; readonly object: JsonObject }
  /** An empty label removes it. */
  | { readonly kind: 'label'; readonly node: string; readonly label: Served | '' }
  | { readonly kind: 'roll-out'; readonly of: Proxy; readonly progress: string }
  | { readonly kind: 'nodes'; readonly names: readonly string[] }
  /** Only nodes that are not Ready are left. */
  | { readonly kind: 'skip'; readonly names: readonly string[] }

/**
 * The next step of a cluster. Before the rule of a DaemonSet changes, nodes without the label get the one that names what
 * serves them, so that none of them loses its proxy.
 */
export function nextClusterStep(state: ClusterState, goal: Goal): ClusterStep {
  const [cleaner] = state.cleaners
  if (cleaner !== undefined) return { kind: 'delete', object: cleaner }
  const prepared = goal.proxy === 'node-proxy' ? beforeTakeOver(state) : beforeReturn(state, goal)
  if (prepared !== undefined) return prepared
  const names = unfinished(state, goal)
  const absent = absentNodes(state, goal)
  const movable = names.filter((name) => !absent.has(name))
  if (movable.length > 0) return { kind: 'nodes', names: movable }
  if (names.length > 0) return { kind: 'skip', names }
  if (goal.names !== undefined) return { kind: 'done' }
  return goal.proxy === 'node-proxy' ? afterTakeOver(state) : afterReturn(state)
}

/** The nodes that are not yet where they are wanted. */
export function unfinished({ nodes }: ClusterState, { proxy, names }: Goal): readonly string[] {
  return nodes
    .filter(({ name }) => names?.has(name) ?? true)
    .filter((node) => (proxy === 'node-proxy' ? !hasMoved(node) : !hasReturned(node)))
    .map(({ name }) => name)
}

/** Those of the unfinished nodes that are not Ready, so that nothing can be done with them. */
export function absentNodes(state: ClusterState, goal: Goal): ReadonlySet<string> {
  const ready = new Set(state.nodes.filter(({ isReady }) => isReady).map(({ name }) => name))
  return new Set(unfinished(state, goal).filter((name) => !ready.has(name)))
}

/** No Pod of a node that is not Ready is ready. */
function hasMoved(node: NodeState): boolean {
  const { isReady, served, pending, kubeProxy, cleanUps } = node
  const isAlone = pending === '' && kubeProxy.length === 0 && cleanUps.length === 0
  if (!isReady && served === 'node-proxy' && isAlone) return true
  return nextNodeStep(node, 'node-proxy', { isWritten: false, isWatched: true }).kind === 'done'
}

/** Whether kube-proxy is ready does not count: at the end it restarts on every node, one after the other. */
function hasReturned({ served, pending, nodeProxy, cleanUps }: NodeState): boolean {
  const isLeft = pending === '' && nodeProxy.length === 0 && cleanUps.length === 0
  return served === 'kube-proxy' && isLeft
}

/** Undefined: the nodes may move. */
function beforeTakeOver(state: ClusterState): ClusterStep | undefined {
  const { kubeProxy, nodeProxy, missing } = state
  const isEverywhere = isSameRule(nodeProxy?.rule, NODE_PROXY_EVERYWHERE)
  if (nodeProxy !== undefined && nodeProxy.rule === undefined) {
    const adopted = adoption(state)
    if (adopted !== undefined) return adopted
  }
  const isReturning = isEverywhere && isSameRule(kubeProxy?.rule, KUBE_PROXY_RETURNING)
  if (!isReturning && !isSameRule(kubeProxy?.rule, KUBE_PROXY_BY_LABEL)) {
    return { kind: 'place', of: 'kube-proxy', rule: KUBE_PROXY_BY_LABEL }
  }
  const [object] = missing
  if (object !== undefined) return { kind: 'create', object }
  if (nodeProxy === undefined) return { kind: 'create-node-proxy' }
  if (!isEverywhere && !isSameRule(nodeProxy.rule, NODE_PROXY_BY_LABEL)) {
    return { kind: 'place', of: 'node-proxy', rule: NODE_PROXY_BY_LABEL }
  }
  return rollOut(state, 'kube-proxy')
}

/** New nodes get node-proxy before they no longer get kube-proxy; one that comes between gets both, and then moves. */
function afterTakeOver(state: ClusterState): ClusterStep {
  const { kubeProxy, nodeProxy } = state
  if (!isSameRule(nodeProxy?.rule, NODE_PROXY_EVERYWHERE)) {
    return { kind: 'place', of: 'node-proxy', rule: NODE_PROXY_EVERYWHERE }
  }
  if (!isSameRule(kubeProxy?.rule, KUBE_PROXY_RETURNING)) {
    return { kind: 'place', of: 'kube-proxy', rule: KUBE_PROXY_RETURNING }
  }
  return rollOut(state, 'node-proxy') ?? { kind: 'done' }
}

function beforeReturn(state: ClusterState, goal: Goal): ClusterStep | undefined {
  const { kubeProxy, nodeProxy } = state
  if (goal.names !== undefined) return undefined
  // node-proxy comes to nodes without the label.
  const isEverywhere = nodeProxy !== undefined && accepts(nodeProxy.rule, '')
  if (!isEverywhere && unfinished(state, goal).length === 0) return undefined
  if (isEverywhere) {
    const adopted = adoption(state)
    if (adopted !== undefined) return adopted
  }
  if (!isSameRule(kubeProxy?.rule, KUBE_PROXY_BY_LABEL)) {
    return { kind: 'place', of: 'kube-proxy', rule: KUBE_PROXY_BY_LABEL }
  }
  return isEverywhere ? { kind: 'place', of: 'node-proxy', rule: NODE_PROXY_BY_LABEL } : undefined
}

function afterReturn(state: ClusterState): ClusterStep {
  const { kubeProxy, nodeProxy, made, nodes } = state
  if (nodeProxy?.isMade === true) return { kind: 'delete', object: nodeProxy.object }
  const [object] = made
  if (object !== undefined) return { kind: 'delete', object }
  if (kubeProxy?.rule !== undefined) return { kind: 'place', of: 'kube-proxy', rule: undefined }
  const labelled = nodes.find(({ label }) => label !== '')
  if (labelled !== undefined) return { kind: 'label', node: labelled.name, label: '' }
  return rollOut(state, 'kube-proxy') ?? { kind: 'done' }
}

function adoption({ nodes }: ClusterState): ClusterStep | undefined {
  const found = nodes.find(({ label, served }) => label === '' && served !== 'kube-proxy')
  if (found?.served === undefined) return undefined
  return { kind: 'label', node: found.name, label: found.served }
}

function rollOut(state: ClusterState, of: Proxy): ClusterStep | undefined {
  const daemonSet = of === 'kube-proxy' ? state.kubeProxy : state.nodeProxy
  if (daemonSet?.isRolledOut === true) return undefined
  if (daemonSet?.isObserved === true && isUpWhereReady(state, of, daemonSet)) return undefined
  return { kind: 'roll-out', of, progress: daemonSet?.progress ?? '' }
}

/**
 * A Pod on a node that is not Ready is not available, and by `maxUnavailable` a roll-out then ends nowhere else. The Pods
 * of the other nodes may be of the old template: they serve as well.
 */
function isUpWhereReady({ nodes }: ClusterState, of: Proxy, { rule }: DaemonSetState): boolean {
  const wanted = nodes.filter(({ label }) => accepts(rule, label))
  const isUp = (node: NodeState): boolean =>
    (of === 'kube-proxy' ? node.kubeProxy : node.nodeProxy).some(
      ({ isReady, isDeleting }) => isReady && !isDeleting,
    )
  return (
    wanted.some(({ isReady }) => !isReady) && wanted.filter(({ isReady }) => isReady).every(isUp)
  )
}

/** A step of the cluster for people. */
export function clusterStepText(step: ClusterStep): string {
  switch (step.kind) {
    case 'done':
      return 'nothing is left to do'
    case 'place':
      return step.rule === undefined
        ? `let ${step.of} come to every node again`
        : `let ${step.of} come to the nodes with label ${step.rule.operator} ${step.rule.values.join(', ')}`
    case 'create':
      return `create ${nameText(step.object)}`
    case 'create-node-proxy':
      return 'create DaemonSet node-proxy'
    case 'delete':
      return `delete ${nameText(step.object)}`
    case 'label':
      return step.label === ''
        ? `node ${step.node}: remove the label`
        : `node ${step.node}: label ${step.label}`
    case 'roll-out':
      return `wait until every Pod of ${step.of} is ready: ${step.progress}`
    case 'nodes':
      return `move ${step.names.length} nodes`
    case 'skip':
      return `not moved, because they are not Ready: ${step.names.join(', ')}`
  }
}

function nameText(object: JsonObject): string {
  return `${stringAt(object, 'kind')} ${stringAt(object, 'metadata', 'name')}`
}
