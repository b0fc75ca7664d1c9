import {
  arrayAt,
  isJsonObject,
  type Json,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { Describer } from './describer.ts'
import type { Row } from './rows.ts'
import { selectorText } from './workloads.ts'

/** A NetworkPolicy in words: what it lets in and out. */
export const describeNetworkPolicy: Describer = (policy) => {
  const spec = objectAt(policy, 'spec')
  const types = arrayAt(spec, 'policyTypes').map(scalarText)
  const created = stringAt(policy, 'metadata', 'creationTimestamp')
  const selector = selectorText(objectAt(spec, 'podSelector'))
  const pods =
    selector === '<none>'
      ? '<none> (Allowing the specific traffic to all pods in this namespace)'
      : selector
  return [
    ['Created on', created.replace('T', ' ').replace('Z', ' +0000 UTC')],
    [
      'Spec',
      {
        rows: [
          ['PodSelector', pods],
          direction('ingress', types, arrayAt(spec, 'ingress')),
          direction('egress', types, arrayAt(spec, 'egress')),
          ['Policy Types', types.join(', ')],
        ],
      },
    ],
  ]
}

type Direction = 'ingress' | 'egress'

function direction(way: Direction, types: readonly string[], rules: readonly Json[]): Row {
  const label = `Allowing ${way} traffic`
  const type = way === 'ingress' ? 'Ingress' : 'Egress'
  if (!types.includes(type)) return [`Not affecting ${way} traffic`, { lines: [] }]
  if (rules.length === 0) {
    return [label, { lines: [`<none> (Selected pods are isolated for ${way} connectivity)`] }]
  }
  return [label, { rows: rules.flatMap((rule) => ruleRows(way, rule)) }]
}

function ruleRows(way: Direction, rule: Json): readonly Row[] {
  const ports = arrayAt(rule, 'ports').map((port): Row => {
    const number = scalarText(valueAt(port, 'port'))
    const end = scalarText(valueAt(port, 'endPort'))
    return ['To Port', `${number}${end === '' ? '' : `-${end}`}/${stringAt(port, 'protocol')}`]
  })
  const peers = arrayAt(rule, way === 'ingress' ? 'from' : 'to')
  const label = way === 'ingress' ? 'From' : 'To'
  const unrestricted = `<any> (traffic not restricted by ${way === 'ingress' ? 'source' : 'destination'})`
  return [
    ...(ports.length === 0
      ? [['To Port', '<any> (traffic allowed to all ports)'] as const]
      : ports),
    ...(peers.length === 0
      ? [[label, unrestricted] as const]
      : peers.map((peer): Row => [label, { rows: peerRows(peer) }])),
  ]
}

function peerRows(peer: Json): readonly Row[] {
  const { podSelector, namespaceSelector, ipBlock } = isJsonObject(peer) ? peer : {}
  if (ipBlock !== undefined) {
    const except = arrayAt(ipBlock, 'except').map(scalarText)
    const rows: readonly Row[] = [
      ['CIDR', stringAt(ipBlock, 'cidr')],
      ['Except', except.join(', ')],
    ]
    return [['IPBlock', { rows }]]
  }
  return [
    [
      'NamespaceSelector',
      isJsonObject(namespaceSelector) ? selectorText(namespaceSelector) : undefined,
    ],
    ['PodSelector', isJsonObject(podSelector) ? selectorText(podSelector) : undefined],
  ]
}
