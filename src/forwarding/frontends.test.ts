import { describe, expect, test } from 'vitest'
import type { Service } from '../resources/types.ts'
import type { Frontend } from './entry.ts'
import { frontendsOf } from './frontends.ts'
import type { NodeContext } from './node-context.ts'
import { CLUSTER_IP, cidr, ip, nodeContext, service, servicePort } from './testing/fixtures.ts'

const port = servicePort({ nodePort: 30080 })

function listen(overrides: Partial<Service>, node: Partial<NodeContext> = {}, family: 4 | 6 = 4) {
  return frontendsOf(service(overrides), port, family, nodeContext(node))
}

function kinds(frontends: readonly Frontend[]): readonly string[] {
  return frontends.map((one) => `${one.kind} ${one.ip}:${one.port}`)
}

const EVERYTHING = {
  type: 'LoadBalancer',
  loadBalancerIPs: [ip('1.2.3.4')],
  externalIPs: [ip('5.6.7.8')],
} as const

describe('which addresses', () => {
  test('every kind of a LoadBalancer, sorted by kind', () => {
    expect(kinds(listen(EVERYTHING).frontends)).toEqual([
      'clusterIP 172.30.0.41:80',
      'externalIP 5.6.7.8:80',
      'loadBalancerIP 1.2.3.4:80',
      'nodePort node:30080',
    ])
  })

  test.each([
    ['ClusterIP', ['clusterIP 172.30.0.41:80', 'externalIP 5.6.7.8:80']],
    ['NodePort', ['clusterIP 172.30.0.41:80', 'externalIP 5.6.7.8:80', 'nodePort node:30080']],
  ] as const)('type %s leaves alone what its type does not have', (type, expected) => {
    expect(kinds(listen({ ...EVERYTHING, type }).frontends)).toEqual(expected)
  })

  test('no node port while none was allocated', () => {
    const none = servicePort({ nodePort: 0 })
    const { frontends } = frontendsOf(service(EVERYTHING), none, 4, nodeContext())
    expect(frontends.some(({ kind }) => kind === 'nodePort')).toBe(false)
  })

  test('only addresses of the family', () => {
    const both = { clusterIPs: [CLUSTER_IP, ip('fd00::1')], externalIPs: [ip('2001:db8::9')] }
    expect(kinds(listen(both, {}, 4).frontends)).toEqual(['clusterIP 172.30.0.41:80'])
    expect(kinds(listen(both, {}, 6).frontends)).toEqual([
      'clusterIP fd00::1:80',
      'externalIP 2001:db8::9:80',
    ])
    expect(listen(both, {}, 4).refused).toEqual([])
  })

  test('an address of a family without a ClusterIP is reported', () => {
    expect(listen({ externalIPs: [ip('2001:db8::9')] }).refused).toMatchObject([
      { code: 'NP_FORWARDING_FAMILY_NOT_SERVED', kind: 'externalIP', ip: '2001:db8::9' },
    ])
  })

  test('an externalIP that is the own ClusterIP is served as ClusterIP', () => {
    const { frontends, refused } = listen({ externalIPs: [CLUSTER_IP] })
    expect(kinds(frontends)).toEqual(['clusterIP 172.30.0.41:80'])
    expect(refused).toEqual([])
  })

  test('an address that is both externalIP and load balancer keeps the source ranges', () => {
    const { frontends } = listen({
      type: 'LoadBalancer',
      externalIPs: [ip('1.2.3.4'), ip('1.2.3.4')],
      loadBalancerIPs: [ip('1.2.3.4')],
      loadBalancerSourceRanges: [cidr('9.0.0.0/8')],
    })
    expect(frontends.filter((one) => one.ip === '1.2.3.4')).toMatchObject([
      { kind: 'loadBalancerIP', sourceRanges: ['9.0.0.0/8'] },
    ])
  })
})

describe('traffic policy', () => {
  const internal = { pool: 'cluster', shortCircuit: false, masquerade: 'offCluster' }
  const external = { pool: 'cluster', shortCircuit: false, masquerade: 'always' }
  const internalLocal = { ...internal, pool: 'local' }
  const externalLocal = { pool: 'local', shortCircuit: true, masquerade: 'onNode' }

  test.each([
    ['Cluster', 'Cluster', internal, external],
    ['Local', 'Cluster', internalLocal, external],
    ['Cluster', 'Local', internal, externalLocal],
    ['Local', 'Local', internalLocal, externalLocal],
  ] as const)('internal %s, external %s', (itp, etp, inside, outside) => {
    const { frontends } = listen({
      ...EVERYTHING,
      internalTrafficPolicy: itp,
      externalTrafficPolicy: etp,
    })
    expect(frontends).toMatchObject([inside, outside, outside, outside])
  })
})

describe('refused addresses', () => {
  test.each([
    '0.0.0.0',
    '127.0.0.1',
    '169.254.1.1',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
  ])('%s is never captured', (address) => {
    const { frontends, refused } = listen({ externalIPs: [ip(address)] })
    expect(kinds(frontends)).toEqual(['clusterIP 172.30.0.41:80'])
    expect(refused).toMatchObject([{ code: 'NP_FORWARDING_SPECIAL_ADDRESS', ip: address }])
  })

  test('a special load balancer address is refused', () => {
    const { refused } = listen({ type: 'LoadBalancer', loadBalancerIPs: [ip('127.0.0.5')] })
    expect(refused).toMatchObject([{ kind: 'loadBalancerIP', ip: '127.0.0.5' }])
  })

  test('allowedExternalIPs limits externalIPs and nothing else', () => {
    const node = { allowedExternalIPs: [cidr('5.0.0.0/8')] }
    const requested = { ...EVERYTHING, externalIPs: [ip('5.6.7.8'), ip('6.6.7.8')] }
    const { frontends, refused } = listen(requested, node)
    expect(kinds(frontends)).toContain('externalIP 5.6.7.8:80')
    expect(kinds(frontends)).toContain('loadBalancerIP 1.2.3.4:80')
    expect(kinds(frontends)).not.toContain('externalIP 6.6.7.8:80')
    expect(refused).toMatchObject([
      { code: 'NP_FORWARDING_NOT_ALLOWED', kind: 'externalIP', ip: '6.6.7.8', port: 80 },
    ])
  })

  test('an empty allowedExternalIPs allows none', () => {
    const { refused } = listen({ externalIPs: [ip('5.6.7.8')] }, { allowedExternalIPs: [] })
    expect(refused.length).toBe(1)
  })
})
