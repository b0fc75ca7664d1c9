import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'

/** A Service as the screen shows it. */
export interface ServiceRow {
  readonly name: string
  /** `NodePort`, with `Local` and `affinity` where they are set. */
  readonly kind: string
  /** Every address that leads to it: `10.96.0.20:80`, `node:30080`. */
  readonly addresses: readonly string[]
}

/** What one EndpointSlice says: the ready endpoints by the name of their pod, else by address. */
export interface BackendsRow {
  readonly service: string
  readonly ready: readonly string[]
  readonly notReady: readonly string[]
}

export function serviceRow(service: JsonObject): ServiceRow {
  const type = stringAt(service, 'spec', 'type') || 'ClusterIP'
  const local = stringAt(service, 'spec', 'externalTrafficPolicy') === 'Local' ? ['Local'] : []
  const sticky = stringAt(service, 'spec', 'sessionAffinity') === 'ClientIP' ? ['affinity'] : []
  const ranges = arrayAt(service, 'spec', 'loadBalancerSourceRanges').map(scalarText)
  const from = ranges.length > 0 ? [`only ${ranges.join(',')}`] : []
  return {
    name: stringAt(service, 'metadata', 'name'),
    kind: [type, ...local, ...sticky, ...from].join(' '),
    addresses: addressesOf(service),
  }
}

function addressesOf(service: JsonObject): readonly string[] {
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  const ips = [
    stringAt(service, 'spec', 'clusterIP'),
    ...arrayAt(service, 'spec', 'externalIPs').map(scalarText),
    ...ingress.map((one) => stringAt(one, 'ip')),
  ].filter((ip) => ip !== '' && ip !== 'None')
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const nodePort = scalarText(valueAt(port, 'nodePort'))
    const own = ips.map((ip) => `${ip}:${scalarText(valueAt(port, 'port'))}`)
    return nodePort === '' || nodePort === '0' ? own : [...own, `node:${nodePort}`]
  })
}

export function backendsRow(slice: JsonObject): BackendsRow {
  const endpoints = arrayAt(slice, 'endpoints').map((endpoint) => ({
    ready: valueAt(endpoint, 'conditions', 'ready') !== false,
    name: stringAt(endpoint, 'targetRef', 'name') || nameOf(endpoint),
  }))
  return {
    service: stringAt(slice, 'metadata', 'labels', 'kubernetes.io/service-name'),
    ready: endpoints.filter(({ ready }) => ready).map(({ name }) => name),
    notReady: endpoints.filter(({ ready }) => !ready).map(({ name }) => name),
  }
}

function nameOf(endpoint: Parameters<typeof stringAt>[0]): string {
  const [address] = arrayAt(endpoint, 'addresses')
  const node = stringAt(endpoint, 'nodeName')
  return `${scalarText(address)}${node === '' ? '' : ` on ${node}`}`
}
