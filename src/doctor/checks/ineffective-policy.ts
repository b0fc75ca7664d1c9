import { isJsonObject, type Json, type JsonObject, objectAt } from '../../lib/json.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import type { NetworkPolicy } from '../../networkpolicy/network-policy.ts'
import { readClusterPolicy } from '../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import { labelMatcher } from '../../resources/label-selector.ts'
import type { Check, Finding } from '../evidence/finding.ts'
import { labelsOf, labelText, nameOf } from '../evidence/objects.ts'

/**
 * Policies with a selector of namespaces that selects none, where one has a label that differs by a slip. Without such a
 * namespace it may be meant for one that comes later.
 */
export const policySelectsNothing: Check = {
  name: 'policy-selects-nothing',
  find: (evidence) => {
    if (!evidence.has('namespaces')) return []
    const namespaces = evidence.all('namespaces')
    return [
      ...evidence.all('clusternetworkpolicies').map(clusterSelectors),
      ...evidence.all('networkpolicies').map(selectorsOf),
    ].flatMap(({ object, selectors }) =>
      selectors
        .flatMap(({ selector, field }) => slipOf({ object, selector, field }, namespaces))
        .slice(0, 1),
    )
  },
}

interface PolicySelectors {
  /** As findings name it. */
  readonly object: string
  readonly selectors: readonly { readonly field: string; readonly selector: Json }[]
}

function clusterSelectors(object: JsonObject): PolicySelectors {
  const { policy } = readClusterPolicy(object)
  const ofSubject = policy.subject && {
    field: 'subject',
    selector: policy.subject.namespaceSelector,
  }
  return {
    object: `clusternetworkpolicy/${policy.key}`,
    selectors: [...(ofSubject ? [ofSubject] : []), ...peerSelectors(policy.rules)],
  }
}

function selectorsOf(object: JsonObject): PolicySelectors {
  const { key, rules } = readPolicy(object)
  return { object: `networkpolicy/${key}`, selectors: peerSelectors(rules) }
}

function peerSelectors(rules: NetworkPolicy['rules']): PolicySelectors['selectors'] {
  return (['ingress', 'egress'] as const).flatMap((direction) =>
    (rules[direction] ?? []).flatMap(({ peers }, at) => {
      const found = peers === 'any' ? [] : peers
      return found.flatMap((peer) =>
        peer.kind === 'pods' && peer.namespaceSelector !== undefined
          ? [{ field: `rule ${direction}[${at}]`, selector: peer.namespaceSelector }]
          : [],
      )
    }),
  )
}

function slipOf(
  { object, selector, field }: { object: string; selector: Json; field: string },
  namespaces: readonly JsonObject[],
): readonly Finding[] {
  const isSelected = labelMatcher(selector)
  if (namespaces.some((one) => isSelected(labelsOf(one)))) return []
  const wanted = isJsonObject(selector) ? objectAt(selector, 'matchLabels') : {}
  const near = namespaces.flatMap((one) => slip(wanted, one) ?? [])[0]
  if (near === undefined) return []
  const [policy = '', ...rest] = object.split('/')
  const place = rest.length > 1 ? `-n ${rest[0]} ` : ''
  return [
    {
      check: policySelectsNothing.name,
      symptom: 'NetworkPolicies have no effect',
      object,
      affects: [],
      cause: `its ${field} selects namespaces by ${labelText(wanted as Record<string, string>)}, and there is none`,
      evidence: [near],
      remedy: 'correct the selector, or the label of the namespace',
      commands: [
        'orchctl get namespaces --show-labels',
        `orchctl ${place}edit ${policy}/${rest.at(-1)}`,
      ],
    },
  ]
}

/** How a namespace differs in one label that is probably misspelt; undefined: in more, or in one that is not alike. */
function slip(wanted: JsonObject, namespace: JsonObject): string | undefined {
  const labels = labelsOf(namespace)
  const wrong = Object.entries(wanted).filter(([key, value]) => labels[key] !== value)
  const [[key, value] = ['', '']] = wrong
  const own = Object.hasOwn(labels, key) ? labels[key] : undefined
  if (wrong.length !== 1 || own === undefined || typeof value !== 'string') return undefined
  if (nearest(value, [own]) === undefined) return undefined
  return `namespace/${nameOf(namespace)} has ${key}=${quote(own)} instead of ${quote(value)}`
}

/** Policies that a node does not enforce although nothing else was found there that does, and its settings ask for it. */
export const policiesNotEnforced: Check = {
  name: 'policies-not-enforced',
  find: (evidence) => {
    const all = evidence.all('networkpolicies').length
    const ofCluster = evidence.all('clusternetworkpolicies').length
    const found = evidence.enforcement.flatMap(({ node, state }) => {
      const [, why] = NOT_ENFORCED.exec(state) ?? []
      if (why !== undefined && !MEANT.test(why) && all + ofCluster > 0) {
        return [
          {
            node,
            state,
            kinds: `${all} NetworkPolicies and ${ofCluster} ClusterNetworkPolicies`,
            why,
          },
        ]
      }
      const [, unread] = NOT_READ.exec(state) ?? []
      if (unread === undefined || ofCluster === 0) return []
      return [{ node, state, kinds: `${ofCluster} ClusterNetworkPolicies`, why: unread }]
    })
    return [...Map.groupBy(found, ({ kinds, why }) => `${kinds} ${why}`).values()].flatMap(
      notEnforced,
    )
  },
}

/** The words of the daemon for the state of its enforcement. */
const NOT_ENFORCED = /^not enforced: (.*)$/
const NOT_READ = /; ClusterNetworkPolicies are not read: (.*)$/
/** Somebody else enforces them, or the administrator decided so. */
const MEANT = /^(another program on this node enforces them|networkPolicy\.enforce is false)/

function notEnforced(
  group: readonly {
    readonly node: string
    readonly state: string
    readonly kinds: string
    readonly why: string
  }[],
): readonly Finding[] {
  return group.slice(0, 1).map(({ node, state, kinds, why }) => ({
    check: policiesNotEnforced.name,
    symptom: 'NetworkPolicies have no effect' as const,
    object: `node/${node}`,
    affects: group.slice(1).map((one) => `node/${one.node}`),
    cause: `nothing enforces ${kinds} of the cluster on it: ${why}`,
    evidence: [
      `node-proxy status there: policies ${state}`,
      ...(group.length > 1
        ? [`the same on ${group.length - 1} more ${group.length === 2 ? 'node' : 'nodes'}`]
        : []),
    ],
    remedy:
      'give node-proxy the rights of config/kubernetes/components/network-policy, or what is named as missing',
    commands: ['node-proxy status'],
  }))
}
