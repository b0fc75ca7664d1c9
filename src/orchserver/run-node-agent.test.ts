import { expect, it, vi } from 'vitest'
import type { ApiClient } from '../client/http/api-client.ts'
import type { Cidr } from '../lib/ip.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { runNodeAgent } from './run-node-agent.ts'
import { createProcessMetrics } from './system/process-metrics.ts'

it('a machine without an address is no node, and nothing else ends', async () => {
  const metrics = createProcessMetrics()
  const failed = Promise.withResolvers<unknown>()
  const agent = runNodeAgent({
    config: {
      dataDir: '/nowhere',
      sandboxNode: {
        enabled: true,
        name: 'n1',
        addresses: [],
        podCIDRs: ['10.244.0.0/24' as Cidr],
        bridge: 'cbr0',
        namespacePrefix: 'orch-pod',
      },
    } as unknown as OrchServerConfiguration,
    clientOf: () => ({}) as ApiClient,
    clock: new FakeClock(),
    interfaces: {},
    nodes: new Map(),
    metrics,
    log: { info: vi.fn(), warn: vi.fn(), error: failed.resolve },
  })
  expect(await failed.promise).toMatchObject({ err: { code: 'NP_ORCHSERVER_NODE_ADDRESS' } })
  await agent.close()
  expect(await metrics.text()).toContain('orchserver_node_agent_up{node="n1"} 0\n')
})
