import { hostPort } from '../../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../../lib/json.ts'

/** A Service as the screen shows it. */
export interface ServiceRow {
  readonly name: string
  /** `NodePort`, with `Local` and `affinity` where they are set. */
  readonly kind: string
  /** Every address that leads to it: `10.96.0.20:80`, `node:30080`. */
  readonly addresses: readonly string[]
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
    const own = ips.map((ip) => hostPort(ip, scalarText(valueAt(port, 'port'))))
    return nodePort === '' || nodePort === '0' ? own : [...own, `node:${nodePort}`]
  })
}
