import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  stringsAt,
  valueAt,
} from '../../lib/json.ts'

/** The label of a Node that names the proxy that serves it. */
export const PROXY_LABEL = 'orch.io/service-proxy'
/** The label of a Node whose other proxy has stopped, but whose rules are still to be removed: that proxy. */
export const CLEAN_UP_LABEL = 'orch.io/service-proxy-clean-up'
/** The label of what the command has made, and removes on the way back. */
export const MADE_BY_LABEL = 'orch.io/made-by'
export const MADE_BY = 'orchctl-take-over'
export const NAMESPACE = 'kube-system'

export type Proxy = 'kube-proxy' | 'node-proxy'
/** Which proxies serve a node. */
export type Served = Proxy | 'both'

/** A requirement of a DaemonSet on `PROXY_LABEL` of its nodes. */
export interface Rule {
  readonly operator: 'In' | 'NotIn'
  readonly values: readonly string[]
}

/** kube-proxy leaves the nodes that node-proxy serves alone. */
export const KUBE_PROXY_BY_LABEL: Rule = { operator: 'NotIn', values: ['node-proxy'] }
/** Every node has moved: kube-proxy comes only to nodes that go back. */
export const KUBE_PROXY_RETURNING: Rule = { operator: 'In', values: ['both', 'kube-proxy'] }
/** node-proxy comes to nodes that move, and to those that have moved. */
export const NODE_PROXY_BY_LABEL: Rule = { operator: 'In', values: ['both', 'node-proxy'] }
/** Every node has moved: node-proxy serves all but those that kube-proxy serves again, new ones too. */
export const NODE_PROXY_EVERYWHERE: Rule = { operator: 'NotIn', values: ['kube-proxy'] }

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'

/** The requirement of a DaemonSet; undefined: it has none. */
export function ruleOf(daemonSet: JsonObject): Rule | undefined {
  for (const term of termsOf(daemonSet)) {
    for (const expression of arrayAt(term, 'matchExpressions')) {
      const operator = stringAt(expression, 'operator')
      if (!isOurs(expression) || (operator !== 'In' && operator !== 'NotIn')) continue
      return { operator, values: stringsAt(expression, 'values') }
    }
  }
  return undefined
}

export function isSameRule(left: Rule | undefined, right: Rule | undefined): boolean {
  return ruleText(left) === ruleText(right)
}

/** Whether a DaemonSet with this requirement comes to a node with this label; empty: without the label. */
export function accepts(rule: Rule | undefined, label: string): boolean {
  if (rule === undefined) return true
  return rule.values.includes(label) === (rule.operator === 'In')
}

/**
 * A merge patch that gives a DaemonSet this requirement, in addition to those that it has of its own, or takes it away.
 * It is refused when the DaemonSet has changed meanwhile.
 */
export function placementPatch(daemonSet: JsonObject, rule: Rule | undefined): JsonObject {
  const resourceVersion = stringAt(daemonSet, 'metadata', 'resourceVersion')
  const own = termsOf(daemonSet).map(withoutOurs)
  const terms = rule === undefined ? own.filter(isSelecting) : withRule(own, rule)
  const affinity = affinityPatch(objectAt(daemonSet, ...AFFINITY), terms)
  return { metadata: { resourceVersion }, spec: { template: { spec: { affinity } } } }
}

/** Which proxies serve a node: those that its label names, or without the label those whose DaemonSets accept it. */
export function servedBy(
  label: string,
  kubeProxy: Rule | undefined,
  nodeProxy: Rule | undefined | 'absent',
): Served | undefined {
  if (label !== '') return isServed(label) ? label : undefined
  if (nodeProxy === 'absent' || !accepts(nodeProxy, '')) return 'kube-proxy'
  return accepts(kubeProxy, '') ? 'both' : 'node-proxy'
}

function isServed(label: string): label is Served {
  return label === 'both' || label === 'kube-proxy' || label === 'node-proxy'
}

const AFFINITY = ['spec', 'template', 'spec', 'affinity']

function termsOf(daemonSet: JsonObject): readonly JsonObject[] {
  const path = [...AFFINITY, 'nodeAffinity', REQUIRED, 'nodeSelectorTerms']
  return arrayAt(daemonSet, ...path).filter(isJsonObject)
}

function isOurs(expression: Json): boolean {
  return stringAt(expression, 'key') === PROXY_LABEL
}

function withoutOurs(term: JsonObject): JsonObject {
  const expressions = arrayAt(term, 'matchExpressions').filter((one) => !isOurs(one))
  return { ...term, matchExpressions: expressions }
}

/** A term without any requirement selects nothing. */
function isSelecting(term: JsonObject): boolean {
  return arrayAt(term, 'matchExpressions').length > 0 || arrayAt(term, 'matchFields').length > 0
}

/** Terms are alternatives, so each of them gets the requirement. */
function withRule(own: readonly JsonObject[], { operator, values }: Rule): JsonObject[] {
  const ours: JsonObject = { key: PROXY_LABEL, operator, values: [...values] }
  const selecting = own.filter(isSelecting)
  if (selecting.length === 0) return [{ matchExpressions: [ours] }]
  return selecting.map((term) => ({
    ...term,
    matchExpressions: [...arrayAt(term, 'matchExpressions'), ours],
  }))
}

/** Leaves no empty object behind, so that the DaemonSet is in the end what it was. */
function affinityPatch(before: JsonObject, terms: JsonObject[]): Json {
  if (terms.length > 0) return { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: terms } } }
  const ofNode = objectAt(before, 'nodeAffinity')
  if (Object.keys(ofNode).some((key) => key !== REQUIRED)) {
    return { nodeAffinity: { [REQUIRED]: null } }
  }
  const isAlone = Object.keys(before).every((key) => key === 'nodeAffinity')
  return isAlone || valueAt(before) === undefined ? null : { nodeAffinity: null }
}

function ruleText(rule: Rule | undefined): string {
  return rule === undefined ? '' : `${rule.operator} ${rule.values.toSorted().join(' ')}`
}
