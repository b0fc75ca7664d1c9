import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { readClusterPolicy } from '../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../networkpolicy/read-policy.ts'
import type { PolicyEvent } from '../../policy/policy-content.ts'
import { PolicyModel } from '../../policy/policy-model.ts'
import { parsePolicies, policyLines } from './policies-document.ts'

const PODS = ['web', 'client', 'stranger', 'late', 'free'].map((name, index) => ({
  name,
  ip: `10.0.0.${index + 1}` as IpAddress,
}))
const OUTSIDE = ['192.0.2.7', '192.0.2.130', '2001:db8::1'] as IpAddress[]

function podEvent({ name, ip }: (typeof PODS)[number]): PolicyEvent {
  const namespace = name === 'late' ? 'unknown' : name === 'free' ? 'free' : 'shop'
  const key = `${namespace}/${name}`
  const namedPorts = [{ name: 'http', protocol: 'TCP', port: 8080 }] as const
  const rest = { nodeName: 'n1', isBeingDeleted: false, createdAt: 0 }
  return {
    kind: 'pod',
    key,
    value: { key, namespace, labels: { app: name }, ips: [ip], namedPorts, ...rest },
  }
}

function policyEvent(name: string, spec: JsonObject): PolicyEvent {
  const object = { metadata: { namespace: 'shop', name }, spec }
  return { kind: 'policy', key: `shop/${name}`, value: readPolicy(object) }
}

function clusterPolicyEvent(name: string, spec: JsonObject): PolicyEvent {
  const { policy } = readClusterPolicy({ metadata: { name }, spec })
  return { kind: 'clusterPolicy', key: name, value: policy }
}

/** Every kind of set, chain and verdict. */
const EVENTS: readonly PolicyEvent[] = [
  ...['shop', 'free'].map((name): PolicyEvent => ({ kind: 'namespace', name, labels: { name } })),
  ...PODS.map(podEvent),
  policyEvent('web', {
    podSelector: { matchLabels: { app: 'web' } },
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: 'client' } } }], ports: [{ port: 'http' }] },
      { from: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.128/25'] } }] },
      { ports: [{ protocol: 'UDP', port: 53, endPort: 60 }] },
    ],
  }),
  policyEvent('none', {
    podSelector: { matchLabels: { app: 'stranger' } },
    policyTypes: ['Egress'],
  }),
  clusterPolicyEvent('fence', {
    tier: 'Admin',
    priority: 5,
    subject: { namespaces: { matchLabels: { name: 'free' } } },
    ingress: [
      {
        action: 'Accept',
        from: [{ namespaces: {} }],
        protocols: [{ tcp: { destinationPort: { number: 80 } } }],
      },
      { action: 'Deny', from: [{ namespaces: {} }] },
    ],
  }),
]

test('a document refuses what the node refuses, for the same reason', () => {
  const model = new PolicyModel({ nodeName: 'n1' })
  model.apply(EVENTS)
  const refusalOf = parsePolicies([...policyLines(model.content)].join(''))
  const ips = [...PODS.map(({ ip }) => ip), ...OUTSIDE]
  const reasons = new Set<string>()
  for (const source of ips) {
    for (const destination of ips) {
      for (const protocol of ['TCP', 'UDP', 'other'] as const) {
        for (const port of [53, 61, 80, 8080]) {
          const flow = { source, destination, protocol, port }
          const found = refusalOf(flow)
          expect({ flow, found }).toEqual({ flow, found: model.refusalOf(flow) })
          reasons.add(JSON.stringify(found ?? 'admitted'))
        }
      }
    }
  }
  expect([...reasons].toSorted()).toEqual([
    '"admitted"',
    '{"direction":"egress","policies":["shop/none"]}',
    '{"direction":"ingress","policies":["fence"],"isDenied":true}',
    '{"direction":"ingress","policies":["shop/web"]}',
    '{"direction":"ingress","policies":[]}',
  ])
})

test('a damaged document is an error, and an empty one refuses nothing', () => {
  expect(() => parsePolicies('["sets"')).toThrow(SyntaxError)
  const [source, destination] = OUTSIDE as [IpAddress, IpAddress]
  expect(parsePolicies('')({ source, destination, protocol: 'TCP', port: 80 })).toBeUndefined()
})
