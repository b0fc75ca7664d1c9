import { expect, test } from 'vitest'
import { cidr, ip } from '../../forwarding/testing/fixtures.ts'
import type { Cidr } from '../../lib/ip.ts'
import type { Node } from '../../resources/types.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { reviewNode } from './reviews.ts'

const node: Node = {
  name: 'here',
  zone: undefined,
  addresses: [ip('192.0.2.1')],
  podCIDRs: [cidr('10.180.0.0/24')],
  leaving: false,
}

function rig(values: Readonly<Record<string, unknown>>, serviceCIDRs: readonly Cidr[] = []) {
  const conditions = new Conditions({ ...recordingLog(), metrics: createMetrics() })
  const config = configuration(values)
  return (known: Node | undefined) => {
    reviewNode(conditions, { config, nodeName: 'he\nre', node: known, serviceCIDRs })
    return conditions.current()
  }
}

test.each([
  [
    { nodePortAddresses: 'primary' },
    'addresses',
    { reason: 'node-port-addresses-unknown', message: /^no address serves node ports/ },
  ],
  [
    { detectLocalMode: 'NodeCIDR' },
    'podCIDRs',
    { reason: 'pod-networks-unknown', message: /^no source counts as a pod/ },
  ],
] as const)(
  '%j without %s is a condition that blocks readiness',
  (values, field, { reason, message }) => {
    const after = rig(values)
    const [missing] = after(undefined)
    expect(missing).toEqual({
      reason,
      message: expect.stringMatching(message),
      blocksReadiness: true,
    })
    expect(missing?.message).toContain(
      String.raw`Node "he\nre" does not exist; create it, or correct hostnameOverride`,
    )
    expect(after({ ...node, [field]: [] })[0]?.message).toContain('has no ')
    expect(after(node)).toEqual([])
  },
)

test('detectLocalMode ClusterCIDR without a network is a warning, the default is not', () => {
  const after = rig({ detectLocalMode: 'ClusterCIDR' })
  expect(after(node)).toEqual([
    {
      reason: 'cluster-cidr-unset',
      message: expect.stringMatching(/set clusterCIDR$/),
      blocksReadiness: false,
    },
  ])
  expect(rig({ detectLocalMode: '' })(node)).toEqual([])
})

test('what the configuration does not take from the Node object may be missing', () => {
  const values = { nodePortAddresses: [cidr('10.0.0.0/8')], detectLocalMode: '' }
  expect(rig(values)(undefined)).toEqual([])
  expect(rig({})(undefined)).toEqual([])
})

test('Service ranges with addresses of nodes or Pods are a warning', () => {
  const after = rig({}, [cidr('192.0.0.0/16'), cidr('10.180.0.0/16'), cidr('10.96.0.0/12')])
  const [warning, ...more] = after(node)
  expect(more).toEqual([])
  expect(warning).toEqual({
    reason: 'service-ranges-overlap',
    message:
      'the Service range 192.0.0.0/16 has an address of this node: nothing in it is refused; ' +
      'the Service range 10.180.0.0/16 overlaps networks of Pods: their addresses are not refused; ' +
      'set serviceCIDRs to networks that only Services have',
    blocksReadiness: false,
  })
  expect(rig({ serviceCIDRs: 'none' }, [cidr('192.0.0.0/16')])(node)).toEqual([])
})
