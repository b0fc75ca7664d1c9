import { scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { CIDR_FAULT, readCidr } from '../../resources/address.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isPortName } from '../../resources/names.ts'
import { isIntegerIn, isPort } from '../../resources/port.ts'
import type { Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import { checkItemCount } from './shared/checks.ts'
import { checkLabelSelector } from './shared/label-selector.ts'

const TIERS = ['Admin', 'Baseline']
const ACTIONS = ['Accept', 'Deny', 'Pass']
const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const
const PODS = ['namespaces', 'pods'] as const
/** Peers whose addresses have no named ports. */
const UNNAMED = ['nodes', 'networks', 'domainNames'] as const
/** The limit of each list: the rules of a direction, the peers and protocols of a rule, the networks and names of a peer. */
const MAX_ITEMS = 25
const MAX_NAME = 100
const MAX_PRIORITY = 1_000
const DOMAIN = /^(\*\.)?([a-z0-9]([-a-z0-9_]*[a-z0-9])?\.)+[a-z0-9]([-a-z0-9_]*[a-z0-9])?\.?$/i

const columns: readonly Column[] = [
  nameColumn,
  column('Tier', 'Whether it is judged before or after NetworkPolicies.', (object) =>
    stringAt(object, 'spec', 'tier'),
  ),
  column('Priority', 'Its place in the tier; the lowest is judged first.', (object) =>
    scalarText(valueAt(object, 'spec', 'priority')),
  ),
  ageColumn,
]

/** policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy, which upstream is a custom resource. */
export const clusterNetworkPolicies: Resource = {
  plural: 'clusternetworkpolicies',
  singular: 'clusternetworkpolicy',
  kind: 'ClusterNetworkPolicy',
  shortNames: ['cnp'],
  namespaced: false,
  versions: aliasVersions('policy.networking', 'v1alpha2'),
  countsGenerations: true,
  status: { initial: () => undefined },
  columns,
  validate: checkClusterNetworkPolicy,
  validateUpdate: 'none',
  defaults: 'none',
}

function checkClusterNetworkPolicy(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
  const spec = object.object('spec')
  if (!TIERS.includes(String(spec.value('tier')))) spec.refuse('tier', { supported: TIERS })
  if (!isIntegerIn(spec.value('priority'), 0, MAX_PRIORITY)) {
    spec.refuse('priority', `must be an integer from 0 to ${MAX_PRIORITY}`)
  }
  const subject = spec.object('subject')
  if (checkOnly(subject, PODS) === undefined) {
    spec.refuse('subject', 'must have one of namespaces and pods')
  } else checkPods(subject)
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    checkItemCount(spec, direction, MAX_ITEMS)
    for (const rule of spec.objects(direction)) checkRule(rule, peers)
  }
}

/** The one of these fields that is present; undefined if none or several are. */
function checkOnly<K extends string>(object: Reader, keys: readonly K[]): K | undefined {
  const present = keys.filter((key) => object.value(key) !== undefined)
  return present.length === 1 ? present[0] : undefined
}

function checkPods(peer: Reader): void {
  if (peer.value('namespaces') !== undefined) checkLabelSelector(peer.object('namespaces'))
  if (peer.value('pods') === undefined) return
  const pods = peer.object('pods')
  checkLabelSelector(pods.object('namespaceSelector'))
  if (pods.value('podSelector') === undefined)
    pods.refuse('podSelector', 'must be a label selector')
  else checkLabelSelector(pods.object('podSelector'))
}

function checkRule(rule: Reader, peers: 'from' | 'to'): void {
  if (!ACTIONS.includes(String(rule.value('action')))) {
    rule.refuse('action', { supported: ACTIONS })
  }
  if ((rule.text('name') ?? '').length > MAX_NAME) {
    rule.refuse('name', `must have at most ${MAX_NAME} characters`)
  }
  if (rule.list(peers).length === 0) rule.refuse(peers, 'must have at least one peer')
  checkItemCount(rule, peers, MAX_ITEMS)
  for (const [index, peer] of rule.objects(peers).entries()) checkPeer(rule, { peers, index }, peer)
  checkItemCount(rule, 'protocols', MAX_ITEMS)
  const protocols = rule.objects('protocols')
  for (const [index, protocol] of protocols.entries()) checkProtocol(rule, index, protocol)
  const isUnnamed = rule
    .objects(peers)
    .some((peer) => UNNAMED.some((key) => peer.value(key) !== undefined))
  const isNamed = protocols.some((one) => one.value('destinationNamedPort') !== undefined)
  if (isUnnamed && isNamed) {
    const fault =
      'must have no destinationNamedPort, because nodes, networks and domainNames have no named ports'
    rule.refuse('protocols', fault)
  }
}

interface PeerPlace {
  readonly peers: 'from' | 'to'
  readonly index: number
}

function checkPeer(rule: Reader, { peers, index }: PeerPlace, peer: Reader): void {
  const keys = peers === 'from' ? PODS : [...PODS, ...UNNAMED]
  const key = checkOnly(peer, keys)
  if (key === undefined || peer.keys().length > 1) {
    rule.refuseItem(peers, index, `must have exactly one of ${keys.join(', ')}`)
    return
  }
  checkPods(peer)
  if (key === 'nodes') checkLabelSelector(peer.object('nodes'))
  if (key === 'networks') checkNetworks(peer)
  if (key === 'domainNames') checkDomainNames(rule, peer)
}

function checkNetworks(peer: Reader): void {
  const networks = peer.list('networks')
  if (networks.length === 0) peer.refuse('networks', 'must have at least one network')
  checkItemCount(peer, 'networks', MAX_ITEMS)
  for (const [index, network] of networks.entries()) {
    if (typeof network !== 'string' || !/^\S+\/\S+$/.test(network)) {
      peer.refuseItem('networks', index, CIDR_FAULT)
    } else readCidr(network, (fault) => peer.refuseItem('networks', index, fault))
  }
}

function checkDomainNames(rule: Reader, peer: Reader): void {
  const names = peer.list('domainNames')
  if (names.length === 0) peer.refuse('domainNames', 'must have at least one name')
  checkItemCount(peer, 'domainNames', MAX_ITEMS)
  for (const [index, name] of names.entries()) {
    if (typeof name === 'string' && DOMAIN.test(name)) continue
    peer.refuseItem('domainNames', index, 'must be a name such as example.com or *.example.com')
  }
  if (rule.value('action') !== 'Accept') {
    peer.refuse('domainNames', 'must be in a rule with action Accept')
  }
}

function checkProtocol(rule: Reader, index: number, protocol: Reader): void {
  const key = checkOnly(protocol, [...PROTOCOLS, 'destinationNamedPort'])
  if (key === undefined) {
    const fault = 'must have exactly one of tcp, udp, sctp, destinationNamedPort'
    rule.refuseItem('protocols', index, fault)
  } else if (key === 'destinationNamedPort') {
    const name = protocol.value(key)
    if (typeof name !== 'string' || !isPortName(name)) {
      protocol.refuse(key, 'must be the name of a container port')
    }
  } else checkPort(protocol.object(key))
}

function checkPort(attributes: Reader): void {
  const port = attributes.object('destinationPort')
  const key = checkOnly(port, ['number', 'range'])
  if (key === undefined) {
    attributes.refuse('destinationPort', 'must have exactly one of number and range')
  } else if (key === 'number') {
    if (!isPort(port.value('number'))) port.refuse('number', 'must be from 1 to 65535')
  } else {
    const range = port.object('range')
    const [start, end] = [range.value('start'), range.value('end')]
    if (!isPort(start)) range.refuse('start', 'must be from 1 to 65535')
    else if (!isIntegerIn(end, start + 1, 65_535)) {
      range.refuse('end', `must be more than ${start}, which is start, and at most 65535`)
    }
  }
}
