import { hostPort } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import type { Check } from '../evidence/finding.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** Two Services with one address and port: nodes forward it to the one whose name comes first, and not to the other. */
export const addressConflict: Check = {
  name: 'address-conflict',
  find: (evidence) => {
    const claims = evidence.all('services').flatMap(claimsOf)
    const rivals = [...Map.groupBy(claims, ({ claim }) => claim)]
      .map(([claim, all]) => ({ claim, keys: [...new Set(all.map(({ key }) => key))].sort() }))
      .filter(({ keys }) => keys.length > 1)
    const services = new Map(evidence.all('services').map((one) => [keyOf(one), one]))
    return rivals.map(({ claim, keys: [winner = '', ...losers] }) => {
      const loser = services.get(losers[0] ?? '') ?? {}
      return {
        check: addressConflict.name,
        symptom: 'Service not reachable',
        object: `service/${losers[0]}`,
        affects: losers.slice(1).map((key) => `service/${key}`),
        cause: `${claim} belongs to service/${winner}, too, which gets its connections`,
        evidence: [
          `${losers.length + 1} Services claim ${claim}: ${[winner, ...losers].join(', ')}`,
        ],
        remedy: 'give one of them another address or port',
        commands: [`orchctl -n ${namespaceOf(loser)} edit service/${nameOf(loser)}`],
      }
    })
  },
}

interface Claim {
  /** `192.0.2.1:80/TCP` */
  readonly claim: string
  readonly key: string
}

function claimsOf(service: JsonObject): readonly Claim[] {
  const spec = (list: string) => arrayAt(service, 'spec', list).map(scalarText)
  const balanced = arrayAt(service, 'status', 'loadBalancer', 'ingress').filter(
    (one) => stringAt(one, 'ipMode') !== 'Proxy',
  )
  const addresses = [
    ...spec('clusterIPs'),
    ...spec('externalIPs'),
    ...balanced.map((one) => stringAt(one, 'ip')),
  ].filter((ip) => ip !== '' && ip !== 'None')
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const number = scalarText(valueAt(port, 'port'))
    const protocol = stringAt(port, 'protocol') || 'TCP'
    return [...new Set(addresses)].map((ip) => ({
      claim: `${hostPort(ip, number)}/${protocol}`,
      key: keyOf(service),
    }))
  })
}
