import { describe, expect, test } from 'vitest'
import { compileService } from '../../src/forwarding/compile.ts'
import { localReadyEndpoints } from '../../src/forwarding/health-check.ts'
import { countNoLocalEndpoints } from '../../src/forwarding/problems.ts'
import {
  CLUSTER_IP,
  clusterOf,
  endpoint,
  LEAVING,
  nodeContext,
  service,
  serviceKey,
  servicePort,
  slice,
} from '../../src/forwarding/testing/fixtures.ts'
import { readFlows } from './flow-file.ts'

const file = readFlows()
const node = nodeContext({ name: 'here' })
const key = serviceKey('shop/cart')

describe('no local endpoints', () => {
  test.each(file.noLocalEndpointsMetric.cases)('%o', (one) => {
    const nodePort = one.eTP === null ? 0 : 30080
    const preferring = service({
      type: one.eTP === null ? 'ClusterIP' : 'NodePort',
      clusterIPs: [CLUSTER_IP],
      ports: [servicePort({ nodePort })],
      internalTrafficPolicy: one.iTP ?? 'Cluster',
      externalTrafficPolicy: one.eTP ?? 'Cluster',
    })
    const endpoints = one.endpoints.map((where, index) =>
      endpoint(`10.0.0.${index + 1}`, { nodeName: where === 'local' ? 'here' : 'there' }),
    )
    const entries = compileService(key, clusterOf([preferring], [slice(endpoints)]), node)
    const { internal, external } = one
    expect(countNoLocalEndpoints(entries)).toEqual({ internal, external })
  })
})

describe('health check node port', () => {
  test.each(file.healthCheckNodePort.cases)('$name', ({ localReady }) => {
    const here = { nodeName: 'here' }
    const ready = Array.from({ length: localReady }, (_, i) => endpoint(`10.0.0.${i + 1}`, here))
    const others = [
      endpoint('10.0.1.1', { ...here, ready: false, serving: false }),
      endpoint('10.0.1.2', { ...here, ...LEAVING }),
      endpoint('10.0.1.3', { nodeName: 'there' }),
    ]
    const cluster = clusterOf([service()], [slice([...ready, ...others])])
    expect(localReadyEndpoints(key, cluster, node)).toBe(localReady)
  })
})
