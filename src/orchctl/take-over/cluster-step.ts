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

/** What is there of a cluster. */
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

/**
 * The next step of a cluster. Before a DaemonSet is placed anew, nodes without the label get the one that says what
 * serves them, so that none of them loses its proxy.
 */
export function nextClusterStep(state: ClusterState, goal: Goal): ClusterStep {
  const [cleaner] = state.cleaners
  if (cleaner !== undefined) return { kind: 'delete', object: cleaner }
  const prepared = goal.proxy === 'node-proxy' ? beforeTakeOver(state) : beforeReturn(state, goal)
  if (prepared !== undefined) return prepared
  const names = unfinished(state, goal)
  if (names.length > 0) return { kind: 'nodes', names }
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

function hasMoved(node: NodeState): boolean {
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
  return rollOut(kubeProxy, 'kube-proxy')
}

/** New nodes get node-proxy before they no longer get kube-proxy; one that comes between gets both, and then moves. */
function afterTakeOver({ kubeProxy, nodeProxy }: ClusterState): ClusterStep {
  if (!isSameRule(nodeProxy?.rule, NODE_PROXY_EVERYWHERE)) {
    return { kind: 'place', of: 'node-proxy', rule: NODE_PROXY_EVERYWHERE }
  }
  if (!isSameRule(kubeProxy?.rule, KUBE_PROXY_RETURNING)) {
    return { kind: 'place', of: 'kube-proxy', rule: KUBE_PROXY_RETURNING }
  }
  return rollOut(nodeProxy, 'node-proxy') ?? { kind: 'done' }
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

function afterReturn({ kubeProxy, nodeProxy, made, nodes }: ClusterState): ClusterStep {
  if (nodeProxy?.isMade === true) return { kind: 'delete', object: nodeProxy.object }
  const [object] = made
  if (object !== undefined) return { kind: 'delete', object }
  if (kubeProxy?.rule !== undefined) return { kind: 'place', of: 'kube-proxy', rule: undefined }
  const labelled = nodes.find(({ label }) => label !== '')
  if (labelled !== undefined) return { kind: 'label', node: labelled.name, label: '' }
  return rollOut(kubeProxy, 'kube-proxy') ?? { kind: 'done' }
}

function adoption({ nodes }: ClusterState): ClusterStep | undefined {
  const found = nodes.find(({ label, served }) => label === '' && served !== 'kube-proxy')
  if (found?.served === undefined) return undefined
  return { kind: 'label', node: found.name, label: found.served }
}

function rollOut(daemonSet: DaemonSetState | undefined, of: Proxy): ClusterStep | undefined {
  if (daemonSet?.isRolledOut === true) return undefined
  return { kind: 'roll-out', of, progress: daemonSet?.progress ?? '' }
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
  }
}

function nameText(object: JsonObject): string {
  return `${stringAt(object, 'kind')} ${stringAt(object, 'metadata', 'name')}`
}
