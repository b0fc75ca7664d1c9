import { isIntegerIn } from '../../../resources/integer.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { isPortName } from '../../../resources/names.ts'
import { isPort, readProtocol } from '../../../resources/port.ts'
import type { Reader } from '../../../resources/reader.ts'
import { checkLabelSelector } from '../shared/label-selector.ts'
import { checkPeerBlock } from './ip-block.ts'

const TYPES: readonly unknown[] = ['Ingress', 'Egress']
const PEER_SELECTORS = ['podSelector', 'namespaceSelector'] as const

/** The rules of Kubernetes for the shape of a NetworkPolicy. node-proxy does not enforce policies. */
export function checkNetworkPolicy(object: Reader): void {
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
