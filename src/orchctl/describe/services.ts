import { hostPort } from '../../lib/ip.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import type { Describer, Read } from './describer.ts'
import { unreadable } from './describer.ts'
import { conditionsOf } from './pods.ts'
import { orElse, pairs, type Row } from './rows.ts'

/** The most endpoints that a row lists; it gives only the number of the others. */
const MAX_LISTED = 3

/** A Service with the endpoints of each port. */
export const describeService: Describer = async (service, related) => {
  const [name, namespace] = [
    stringAt(service, 'metadata', 'name'),
    stringAt(service, 'metadata', 'namespace'),
  ]
  const slices = await related.list('endpointslices', namespace, {
    labelSelector: `kubernetes.io/service-name=${name}`,
  })
  const spec = objectAt(service, 'spec')
  const text = (field: string): string | undefined => {
    const value = scalarText(valueAt(spec, field))
    return value === '' ? undefined : value
  }
  const texts = (field: string): readonly string[] => arrayAt(spec, field).map(scalarText)
  const type = stringAt(spec, 'type')
  const optional = (field: string, separator = ','): string | undefined =>
    texts(field).length === 0 ? undefined : texts(field).join(separator)
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress').map(ingressText)
  return [
    ['Selector', orElse(pairs(objectAt(spec, 'selector')).join(','), '<none>')],
    ['Type', type],
    ['IP Family Policy', text('ipFamilyPolicy')],
    ['IP Families', orElse(texts('ipFamilies').join(','), '<none>')],
    ['IP', stringAt(spec, 'clusterIP')],
    ['IPs', orElse(texts('clusterIPs').join(','), '<none>')],
    ['External IPs', optional('externalIPs')],
    ['Desired LoadBalancer IP', text('loadBalancerIP')],
    ['LoadBalancer Class', text('loadBalancerClass')],
    ['LoadBalancer Ingress', ingress.length === 0 ? undefined : ingress.join(', ')],
    ['External Name', text('externalName')],
    ...arrayAt(spec, 'ports').flatMap((port) => portRows(port, slices)),
    ['Session Affinity', stringAt(spec, 'sessionAffinity')],
    ['Session Affinity Timeout', timeoutOf(spec)],
    ['External Traffic Policy', text('externalTrafficPolicy')],
    ['Internal Traffic Policy', text('internalTrafficPolicy')],
    ['Traffic Distribution', text('trafficDistribution')],
    ['HealthCheck NodePort', text('healthCheckNodePort')],
    ['LoadBalancer Source Ranges', optional('loadBalancerSourceRanges')],
    ['Conditions', conditionsOf(objectAt(service, 'status'))],
  ]
}

function timeoutOf(spec: JsonObject): string | undefined {
  const seconds = scalarText(valueAt(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds'))
  return seconds === '' ? undefined : `${seconds}s`
}

function ingressText(ingress: Json): string {
  const mode = stringAt(ingress, 'ipMode')
  const address = stringAt(ingress, 'ip') || stringAt(ingress, 'hostname')
  return mode === '' ? address : `${address} (${mode})`
}

function portRows(port: Json, slices: Read): readonly Row[] {
  const protocol = stringAt(port, 'protocol')
  const name = orElse(stringAt(port, 'name'), '<unset>')
  const target = scalarText(valueAt(port, 'targetPort')) || scalarText(valueAt(port, 'port'))
  const nodePort = scalarText(valueAt(port, 'nodePort'))
  const { ready, waiting, leaving } = endpointsOf(port, slices.ok ? slices.objects : [])
  return [
    ['Port', `${name}  ${scalarText(valueAt(port, 'port'))}/${protocol}`],
    ['TargetPort', `${target}/${protocol}`],
    [
      'NodePort',
      nodePort === '' || nodePort === '0' ? undefined : `${name}  ${nodePort}/${protocol}`,
    ],
    ['Endpoints', slices.ok ? ready : unreadable(slices.why)],
    ['Not Ready', waiting || undefined],
    ['Terminating', leaving || undefined],
  ]
}

/** The endpoints of a port: those that get new connections, and the others. */
function endpointsOf(port: Json, slices: readonly JsonObject[]) {
  const [ready, waiting, leaving] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const slice of slices) {
    const slicePort = arrayAt(slice, 'ports').find(
      (one) => stringAt(one, 'name') === stringAt(port, 'name'),
    )
    if (slicePort === undefined) continue
    for (const endpoint of arrayAt(slice, 'endpoints')) {
      for (const address of arrayAt(endpoint, 'addresses').map(scalarText)) {
        const text = hostPort(address, scalarText(valueAt(slicePort, 'port')))
        if (valueAt(endpoint, 'conditions', 'ready') !== false) ready.add(text)
        else if (valueAt(endpoint, 'conditions', 'terminating') === true) leaving.add(text)
        else waiting.add(text)
      }
    }
  }
  return { ready: listed(ready), waiting: listed(waiting), leaving: listed(leaving) }
}

/** The first addresses, and the number of the others. */
function listed(all: ReadonlySet<string>): string {
  const [texts, rest] = [[...all].slice(0, MAX_LISTED).join(','), all.size - MAX_LISTED]
  return rest > 0 ? `${texts} + ${rest} more...` : texts
}

/** The addresses of Endpoints, grouped by their ports. */
export const describeEndpoints: Describer = (endpoints) => {
  const addresses = (subset: Json, field: string): string =>
    orElse(
      arrayAt(subset, field)
        .map((one) => stringAt(one, 'ip'))
        .join(','),
      '<none>',
    )
  const rows = arrayAt(endpoints, 'subsets').flatMap((subset): readonly Row[] => [
    ['Addresses', addresses(subset, 'addresses')],
    ['NotReadyAddresses', addresses(subset, 'notReadyAddresses')],
    ['Ports', { table: portTable(arrayAt(subset, 'ports')) }],
  ])
  return [['Subsets', { rows }]]
}

/** The endpoints of a slice with their conditions. */
export const describeEndpointSlice: Describer = (slice) => [
  ['AddressType', stringAt(slice, 'addressType')],
  ['Ports', { table: portTable(arrayAt(slice, 'ports')) }],
  ['Endpoints', { items: arrayAt(slice, 'endpoints').map(endpointRows) }],
]

function portTable(ports: readonly Json[]): readonly (readonly string[])[] {
  const rows = ports.map((port) => [
    orElse(stringAt(port, 'name'), '<unset>'),
    scalarText(valueAt(port, 'port')),
    stringAt(port, 'protocol'),
  ])
  return [['Name', 'Port', 'Protocol'], ...rows]
}

function endpointRows(endpoint: Json): readonly Row[] {
  const conditions = objectAt(endpoint, 'conditions')
  const condition = (field: string): string | undefined =>
    conditions[field] === undefined ? undefined : scalarText(conditions[field])
  const text = (field: string): string => orElse(stringAt(endpoint, field), '<unset>')
  const kind = stringAt(endpoint, 'targetRef', 'kind')
  const hints = arrayAt(endpoint, 'hints', 'forZones').map((one) => stringAt(one, 'name'))
  return [
    ['Addresses', arrayAt(endpoint, 'addresses').map(scalarText).join(', ')],
    [
      'Conditions',
      {
        rows: [
          ['Ready', condition('ready') ?? '<unset>'],
          ['Serving', condition('serving')],
          ['Terminating', condition('terminating')],
        ],
      },
    ],
    ['Hostname', text('hostname')],
    ['TargetRef', kind === '' ? undefined : `${kind}/${stringAt(endpoint, 'targetRef', 'name')}`],
    ['NodeName', text('nodeName')],
    ['Zone', text('zone')],
    ['Hints', hints.length === 0 ? undefined : hints.join(', ')],
  ]
}
