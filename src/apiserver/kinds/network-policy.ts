import { type Cidr, cidrContains, type IpAddress } from '../../lib/ip.ts'
import { valueAt } from '../../lib/json.ts'
import { CIDR_FAULT, type Note, readCidr } from '../../resources/address.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isPortName } from '../../resources/names.ts'
import { isIntegerIn, isPort, readProtocol } from '../../resources/port.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import { change, changeEach, defaultProtocol, fill } from './shared/edit.ts'
import { checkLabelSelector, selectorText } from './shared/label-selector.ts'

const TYPES: readonly unknown[] = ['Ingress', 'Egress']
const PEER_SELECTORS = ['podSelector', 'namespaceSelector'] as const

const columns: readonly Column[] = [
  nameColumn,
  column('Pod-Selector', 'Labels of the pods that the policy applies to.', (object) =>
    selectorText(valueAt(object, 'spec', 'podSelector')),
  ),
  ageColumn,
]

export const networkPolicies: Resource = {
  plural: 'networkpolicies',
  singular: 'networkpolicy',
  kind: 'NetworkPolicy',
  shortNames: ['netpol'],
  namespaced: true,
  versions: aliasVersions('networking', 'v1'),
  countsGenerations: true,
  columns,
  validate: checkNetworkPolicy,
  validateUpdate: 'none',
  defaults: defaultNetworkPolicy,
}

/**
 * The defaults of Kubernetes. Without `policyTypes` a policy is of type Ingress, and of type Egress too if it has
 * egress rules; a port without a protocol is TCP.
 */
function defaultNetworkPolicy(policy: Raw): Raw {
  return change(policy, 'spec', (given) => {
    const spec = fill(given, { podSelector: {} })
    const rules = changeEach(changeEach(spec, 'ingress', defaultRule), 'egress', defaultRule)
    const types = ownField(rules, 'policyTypes')
    const isAbsent = types === undefined || (Array.isArray(types) && types.length === 0)
    return isAbsent ? { ...rules, policyTypes: impliedTypes(rules) } : rules
  })
}

function impliedTypes(spec: Raw): readonly string[] {
  const egress = ownField(spec, 'egress')
  return Array.isArray(egress) && egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
}

function defaultRule(rule: Raw): Raw {
  return changeEach(rule, 'ports', defaultProtocol)
}

/** The rules of Kubernetes for the shape of a NetworkPolicy. */
function checkNetworkPolicy(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  const spec = object.object('spec')
  checkLabelSelector(spec.object('podSelector'))
  const types = spec.list('policyTypes')
  for (const [index, type] of types.entries()) {
    if (!TYPES.includes(type)) spec.refuseItem('policyTypes', index, 'must be Ingress or Egress')
    else if (types.indexOf(type) < index) {
      spec.refuseItem('policyTypes', index, { isDuplicate: true, other: 'those before it' })
    }
  }
  for (const rule of spec.objects('ingress')) checkRule(rule, 'from')
  for (const rule of spec.objects('egress')) checkRule(rule, 'to')
}

function checkRule(rule: Reader, peers: 'from' | 'to'): void {
  for (const port of rule.objects('ports')) checkPort(port)
  for (const [index, peer] of rule.objects(peers).entries()) {
    const selectors = PEER_SELECTORS.filter((key) => peer.value(key) !== undefined)
    for (const key of selectors) checkLabelSelector(peer.object(key))
    if (peer.value('ipBlock') !== undefined) {
      checkPeerBlock(peer.object('ipBlock'))
      if (selectors.length > 0) peer.refuse('ipBlock', 'must be the only field of its peer')
    } else if (selectors.length === 0) {
      rule.refuseItem(peers, index, 'must have a podSelector, a namespaceSelector or an ipBlock')
    }
  }
}

function checkPort(port: Reader): void {
  readProtocol(port)
  const value = port.value('port')
  const end = port.value('endPort')
  const isName = typeof value === 'string' && isPortName(value)
  if (value !== undefined && !isPort(value) && !isName) {
    port.refuse('port', 'must be from 1 to 65535, or the name of a container port')
  }
  if (end === undefined) return
  if (!isPort(value)) port.refuse('endPort', 'must be absent unless port is a number')
  else if (!isIntegerIn(end, value, 65_535)) {
    port.refuse('endPort', `must be from ${value}, which is port, to 65535`)
  }
}

/** Checks `ipBlock` of a peer: the network `cidr`, without the smaller networks of `except` inside it. */
function checkPeerBlock(block: Reader): void {
  const cidr = readNetwork(block.value('cidr'), (fault) => block.refuse('cidr', fault))
  for (const [index, value] of block.list('except').entries()) {
    const excluded = readNetwork(value, (fault) => block.refuseItem('except', index, fault))
    if (excluded !== undefined && cidr !== undefined && !isStrictSubset(excluded, cidr)) {
      block.refuseItem('except', index, `must be a smaller network inside ${cidr}`)
    }
  }
}

/** Parses a network. An address without a prefix length, or with blanks, is a fault, as in Kubernetes. */
function readNetwork(value: unknown, note: Note): Cidr | undefined {
  if (typeof value === 'string' && /^\S+\/\S+$/.test(value)) return readCidr(value, note)
  note(CIDR_FAULT, '')
  return undefined
}

function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  const [address = '', prefix] = inner.split('/')
  const longer = Number(prefix) > Number(outer.split('/')[1])
  return longer && cidrContains(outer, address as IpAddress)
}
