import { BlockList } from 'node:net'
import type { Peer, Policy, PolicySet, PortRule, Rule, Selector } from './policy-set.ts'
import { NAMESPACES, type Probe, type TestPod } from './universe.ts'

/**
 * Whether the policies of a set admit a connection, by the documentation of the API alone: it shares no code with the
 * modules under test, and looks at every policy, rule, peer and port for each question. An end on another node is judged
 * there, and so not here.
 */
export function isAdmitted(set: PolicySet, probe: Probe): boolean {
  if (probe.source === probe.target) return true
  return admitsEnd(set, probe, 'Egress') && admitsEnd(set, probe, 'Ingress')
}

type PolicyType = 'Ingress' | 'Egress'

function admitsEnd(set: PolicySet, probe: Probe, type: PolicyType): boolean {
  const own = type === 'Egress' ? probe.source : probe.target
  if (!own.isLocal) return true
  let isIsolated = false
  for (const policy of set.policies) {
    if (policy.metadata.namespace !== own.namespace) continue
    if (!matches(policy.spec.podSelector, podLabels(set, own))) continue
    if (!typesOf(policy).includes(type)) continue
    isIsolated = true
    const rules = (type === 'Egress' ? policy.spec.egress : policy.spec.ingress) ?? []
    for (const rule of rules) if (ruleAdmits(set, policy, rule, probe, type)) return true
  }
  return !isIsolated
}

function typesOf({ spec }: Policy): readonly PolicyType[] {
  if (spec.policyTypes !== undefined && spec.policyTypes.length > 0) return spec.policyTypes
  return spec.egress === undefined || spec.egress.length === 0 ? ['Ingress'] : ['Ingress', 'Egress']
}

function ruleAdmits(
  set: PolicySet,
  policy: Policy,
  rule: Rule,
  probe: Probe,
  type: PolicyType,
): boolean {
  const peers = type === 'Egress' ? rule.to : rule.from
  const other = type === 'Egress' ? probe.target : probe.source
  const ports = rule.ports ?? []
  const isPeer =
    peers === undefined ||
    peers.length === 0 ||
    peers.some((peer) => isOfPeer(set, policy, peer, other, probe))
  return isPeer && (ports.length === 0 || ports.some((port) => isOfPort(port, probe)))
}

function isOfPeer(
  set: PolicySet,
  policy: Policy,
  { ipBlock, namespaceSelector, podSelector }: Peer,
  other: TestPod,
  { family }: Probe,
): boolean {
  if (ipBlock !== undefined) {
    const ip = other.ips[family]
    return isWithin(ipBlock.cidr, ip) && !(ipBlock.except ?? []).some((one) => isWithin(one, ip))
  }
  if (namespaceSelector === undefined) {
    if (other.namespace !== policy.metadata.namespace) return false
  } else if (!matches(namespaceSelector, namespaceLabels(set, other.namespace))) {
    return false
  }
  return podSelector === undefined || matches(podSelector, podLabels(set, other))
}

function isOfPort(
  { protocol = 'TCP', port, endPort }: PortRule,
  { target, ...probe }: Probe,
): boolean {
  if (protocol !== probe.protocol) return false
  if (port === undefined) return true
  if (typeof port === 'string') {
    return target.namedPorts.some(
      (one) => one.name === port && one.protocol === protocol && one.port === probe.port,
    )
  }
  return endPort === undefined ? probe.port === port : probe.port >= port && probe.port <= endPort
}

function matches(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Readonly<Record<string, string>>,
): boolean {
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false
  for (const { key, operator, values = [] } of matchExpressions) {
    const value = labels[key]
    if (operator === 'Exists' && value === undefined) return false
    if (operator === 'DoesNotExist' && value !== undefined) return false
    if (operator === 'In' && (value === undefined || !values.includes(value))) return false
    if (operator === 'NotIn' && value !== undefined && values.includes(value)) return false
  }
  return true
}

/** The labels of a Pod while a set is probed. */
export function podLabels(set: PolicySet, pod: TestPod): Readonly<Record<string, string>> {
  return { ...pod.labels, ...set.podLabels?.[pod.key] }
}

/** The labels of a namespace while a set is probed. */
export function namespaceLabels(set: PolicySet, name: string): Readonly<Record<string, string>> {
  return { ...NAMESPACES[name], ...set.namespaceLabels?.[name] }
}

const blocks = new Map<string, BlockList>()

/** A BlockList takes an IPv4 address for a mapped one of IPv6, so families are compared here. */
function isWithin(cidr: string, ip: string): boolean {
  const [address = '', bits] = cidr.split('/')
  const family = familyName(ip)
  if (familyName(address) !== family) return false
  let block = blocks.get(cidr)
  if (block === undefined) {
    block = new BlockList()
    block.addSubnet(address, Number(bits), family)
    blocks.set(cidr, block)
  }
  return block.check(ip, family)
}

function familyName(ip: string): 'ipv4' | 'ipv6' {
  return ip.includes(':') ? 'ipv6' : 'ipv4'
}
