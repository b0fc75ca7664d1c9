import { type Cidr, parseCidr } from '../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
} from '../lib/json.ts'
import { MAX_PORT } from '../lib/port-range.ts'
import { Findings, type Problem } from '../resources/problem.ts'
import type {
  ClusterNetworkPolicy,
  ClusterPolicyRule,
  ClusterPolicySubject,
  RuleAction,
  Tier,
} from './cluster-network-policy.ts'
import { type Direction, isSelector, type PolicyPeer, type PolicyPort } from './network-policy.ts'

const TIERS: readonly Tier[] = ['Admin', 'Baseline']
const ACTIONS: readonly RuleAction[] = ['Accept', 'Deny', 'Pass']
const MAX_PRIORITY = 1_000
const PROTOCOLS = { tcp: 'TCP', udp: 'UDP', sctp: 'SCTP' } as const

/** What follows from a rule of which a part cannot be read, by its action. */
const CLOSED = {
  Accept: 'until then this rule accepts nothing',
  Deny: 'until then this rule denies every connection',
  Pass: 'until then this rule denies every connection',
} as const
const SUBJECT_IS_UNREADABLE = 'until then the policy applies to no Pod'
const ALL_CLOSED =
  'until then the policy comes first in the tier Admin, accepts nothing, and its rules of Deny and Pass deny every connection'

/** A policy as it is judged, and what of the object could not be read. */
export interface ReadClusterPolicy {
  readonly policy: ClusterNetworkPolicy
  /** Each with the field, its value, and what holds until it is corrected. */
  readonly problems: readonly Problem[]
}

/**
 * Reads a ClusterNetworkPolicy of `policy.networking.k8s.io/v1alpha2`. What cannot be read, which includes fields of later
 * versions, closes: a rule of Accept matches nothing, one of Deny or Pass denies everything. If the tier or the priority
 * cannot be read, that holds for all rules, and the policy is judged first. A subject that cannot be read selects no
 * Pod, because nothing says which Pods may be closed.
 */
export function readClusterPolicy(object: JsonObject): ReadClusterPolicy {
  const findings = new Findings('decode')
  const tier = oneOf(TIERS, valueAt(object, 'spec', 'tier'))
  const priority = valueAt(object, 'spec', 'priority')
  const hasPriority = isInteger(priority, 0, MAX_PRIORITY)
  if (tier === undefined) {
    const wrong = { supported: TIERS }
    findings.add('spec.tier', valueAt(object, 'spec', 'tier'), wrong, ALL_CLOSED)
  }
  if (!hasPriority) {
    findings.add(
      'spec.priority',
      priority,
      `must be an integer from 0 to ${MAX_PRIORITY}`,
      ALL_CLOSED,
    )
  }
  const isReadable = tier !== undefined && hasPriority
  const policy = {
    key: stringAt(object, 'metadata', 'name'),
    tier: isReadable ? tier : 'Admin',
    priority: isReadable ? priority : 0,
    subject: readSubject(valueAt(object, 'spec', 'subject'), findings),
    rules: {
      ingress: readRules(object, 'ingress', { findings, isReadable }),
      egress: readRules(object, 'egress', { findings, isReadable }),
    },
  } as const
  return { policy, problems: findings.all }
}

function readSubject(subject: Json | undefined, findings: Findings) {
  const reading = { findings, instead: SUBJECT_IS_UNREADABLE }
  const peer = readPods(subject, 'spec.subject', reading)
  if (peer !== undefined) return peer
  if (findings.all.every(({ field }) => !field.startsWith('spec.subject'))) {
    const wrong = 'must have one of namespaces and pods, and nothing else'
    findings.add('spec.subject', subject, wrong, SUBJECT_IS_UNREADABLE)
  }
  return undefined
}

interface RulesReading {
  readonly findings: Findings
  /** Whether tier and priority are known. */
  readonly isReadable: boolean
}

function readRules(
  object: JsonObject,
  direction: Direction,
  { findings, isReadable }: RulesReading,
): readonly ClusterPolicyRule[] {
  return arrayAt(object, 'spec', direction).map((rule, at) => {
    const field = `spec.${direction}[${at}]`
    const written = valueAt(rule, 'action')
    const action = oneOf(ACTIONS, written)
    if (action === undefined) {
      findings.add(`${field}.action`, written, { supported: ACTIONS }, CLOSED.Deny)
    }
    const reading = { findings, instead: CLOSED[action ?? 'Deny'] }
    const list = direction === 'ingress' ? 'from' : 'to'
    const peers = readPeers(valueAt(rule, list), `${field}.${list}`, { ...reading, direction })
    const ports = readPorts(valueAt(rule, 'protocols'), `${field}.protocols`, reading)
    const name = stringAt(rule, 'name')
    if (isReadable && action && peers && ports) return { name, action, peers, ports }
    if (action === 'Accept') return { name, action, peers: [], ports: 'any' }
    return { name, action: 'Deny', peers: 'any', ports: 'any' }
  })
}

/** Where findings go, and what holds until they are corrected. */
interface Reading {
  readonly findings: Findings
  readonly instead: string
}

/** Undefined if one of them cannot be read. */
function readPeers(
  list: Json | undefined,
  field: string,
  reading: Reading & { readonly direction: Direction },
): readonly PolicyPeer[] | undefined {
  const { findings, instead, direction } = reading
  if (!Array.isArray(list) || list.length === 0) {
    findings.add(field, list, 'must be a list of at least one peer', instead)
    return undefined
  }
  const read = list.map((peer: Json, at): readonly PolicyPeer[] | undefined => {
    const place = `${field}[${at}]`
    const isBlock = direction === 'egress' && hasOnly(peer, 'networks')
    if (isBlock) return readNetworks(valueAt(peer, 'networks'), `${place}.networks`, reading)
    const before = findings.all.length
    const pods = readPods(peer, place, reading)
    if (pods !== undefined) return [{ kind: 'pods', ...pods }]
    if (findings.all.length === before) {
      const supported =
        direction === 'egress' ? 'namespaces, pods and networks' : 'namespaces and pods'
      findings.add(
        place,
        peer,
        `must have exactly one of ${supported}; others are not enforced`,
        instead,
      )
    }
    return undefined
  })
  return read.every((one) => one !== undefined) ? read.flat() : undefined
}

/** Pods by `namespaces` or by `pods`; undefined for anything else, with a finding if the fault is in a selector. */
function readPods(
  value: Json | undefined,
  field: string,
  { findings, instead }: Reading,
): ClusterPolicySubject | undefined {
  const selectorAt = (selector: Json | undefined, place: string): JsonObject | undefined => {
    if (isSelector(selector)) return selector
    findings.add(place, selector, 'must be a label selector', instead)
    return undefined
  }
  if (hasOnly(value, 'namespaces')) {
    const selector = selectorAt(valueAt(value, 'namespaces'), `${field}.namespaces`)
    return selector && { namespaceSelector: selector, podSelector: {} }
  }
  if (!hasOnly(value, 'pods')) return undefined
  const namespaces = valueAt(value, 'pods', 'namespaceSelector') ?? {}
  const namespaceSelector = selectorAt(namespaces, `${field}.pods.namespaceSelector`)
  const podSelector = selectorAt(valueAt(value, 'pods', 'podSelector'), `${field}.pods.podSelector`)
  return namespaceSelector && podSelector && { namespaceSelector, podSelector }
}

function readNetworks(
  list: Json | undefined,
  field: string,
  { findings, instead }: Reading,
): readonly PolicyPeer[] | undefined {
  if (!Array.isArray(list) || list.length === 0) {
    findings.add(field, list, 'must be a list of at least one network', instead)
    return undefined
  }
  const read = list.map((text: Json, at): Cidr | undefined => {
    const cidr = typeof text === 'string' && text.includes('/') ? parseCidr(text) : undefined
    if (cidr === undefined) {
      findings.add(`${field}[${at}]`, text, 'must be a network as 10.0.0.0/8 or fd00::/8', instead)
    }
    return cidr
  })
  if (!read.every((one) => one !== undefined)) return undefined
  return read.map((cidr) => ({ kind: 'block', cidr, except: [] }))
}

/** Undefined if one of them cannot be read; an absent or empty list matches any. */
function readPorts(
  list: Json | undefined,
  field: string,
  { findings, instead }: Reading,
): readonly PolicyPort[] | 'any' | undefined {
  if (list === undefined || list === null) return 'any'
  if (Array.isArray(list) && list.length === 0) return 'any'
  const read = Array.isArray(list) ? list.map(readProtocol) : [undefined]
  if (read.every((one) => one !== undefined)) return read.flat()
  for (const [at, ports] of read.entries()) {
    const place = Array.isArray(list) ? `${field}[${at}]` : field
    const wrong =
      'must have exactly one of tcp, udp and sctp with a destinationPort (a number from 1 to 65535, or a range of them), and destinationNamedPort'
    if (ports === undefined)
      findings.add(place, Array.isArray(list) ? list[at] : list, wrong, instead)
  }
  return undefined
}

/** A name is that of a port of any protocol. */
function readProtocol(item: Json): readonly PolicyPort[] | undefined {
  if (hasOnly(item, 'destinationNamedPort')) {
    const port = stringAt(item, 'destinationNamedPort')
    return port === ''
      ? undefined
      : Object.values(PROTOCOLS).map((protocol) => ({ protocol, port }))
  }
  for (const [key, protocol] of Object.entries(PROTOCOLS)) {
    if (!hasOnly(item, key)) continue
    const port = readRange(valueAt(item, key))
    return port && [{ protocol, port }]
  }
  return undefined
}

function readRange(attributes: Json | undefined) {
  if (!hasOnly(attributes, 'destinationPort')) return undefined
  const port = valueAt(attributes, 'destinationPort')
  const isRange = hasOnly(port, 'range')
  if (!isRange && !hasOnly(port, 'number')) return undefined
  const [first, last] = isRange
    ? [valueAt(port, 'range', 'start'), valueAt(port, 'range', 'end')]
    : [valueAt(port, 'number'), valueAt(port, 'number')]
  const isPort = isInteger(first, 1, MAX_PORT) && isInteger(last, 1, MAX_PORT) && first <= last
  return isPort ? { first, last } : undefined
}

/** Whether the value is an object with this field and no other. */
function hasOnly(value: Json | undefined, key: string): boolean {
  return isJsonObject(value) && valueAt(value, key) !== undefined && Object.keys(value).length === 1
}

function isInteger(value: Json | undefined, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && min <= value && value <= max
}

function oneOf<T extends string>(allowed: readonly T[], value: Json | undefined): T | undefined {
  return allowed.find((one) => one === value)
}
