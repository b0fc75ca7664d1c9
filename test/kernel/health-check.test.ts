import { beforeEach, describe, expect, test } from 'vitest'
import type { HttpReply } from '../support/agent/protocol.ts'
import { type Deployment, deploy, objectsOf } from '../support/flows/deploy.ts'
import { proxyMode } from '../support/lab/daemon-config.ts'
import { sumOf } from '../support/lab/metrics.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import { refusingKernel } from '../support/lab/refusing-kernel.ts'
import { useLab } from '../support/lab/use-lab.ts'

const CHECK_PORT = 30111

describe('the health check of a Service', () => {
  const lab = useLab()
  beforeEach(() => lab().reset())

  const query = (): Promise<HttpReply> =>
    lab().outside.agent.call('http', { url: `http://192.168.0.2:${CHECK_PORT}/` })

  test('three ready local endpoints and one unready: 200', async () => {
    const ready = [1, 2, 3].map((n) => ({ ip: `10.180.0.${n}` }))
    await deploy(lab(), checked([...ready, { ip: '10.180.0.4', ready: false }, FAR]))
    const reply = await query()
    expect(reply.status).toBe(200)
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'x-load-balancing-endpoint-weight': '3',
    })
    expect(JSON.parse(reply.body)).toMatchObject({
      service: { namespace: 'ns', name: 'checked' },
      localEndpoints: 3,
      serviceProxyHealthy: true,
    })
  })

  test('local endpoints that terminate do not count, remote ones neither: 503', async () => {
    const leaving = { ip: '10.180.0.1', ready: false, serving: true, terminating: true }
    await deploy(lab(), checked([leaving, { ip: '10.180.0.2', ready: false }, FAR]))
    const reply = await query()
    expect(reply.status).toBe(503)
    expect(JSON.parse(reply.body)).toMatchObject({ localEndpoints: 0 })
  })

  test('it follows the endpoints, and closes with the Service', async () => {
    await deploy(lab(), checked([FAR]))
    expect((await query()).status).toBe(503)
    await deploy(lab(), checked([FAR, { ip: '10.180.0.1' }]))
    expect((await query()).status).toBe(200)
    await lab().api.remove('Service', 'ns/checked')
    await lab().daemon.synced()
    await expect(query()).rejects.toThrow('ECONNREFUSED')
  })
})

describe('a proxy that cannot program the kernel', () => {
  const lab = useLab({ config: { iptables: { syncPeriod: '1s' }, nftables: { syncPeriod: '1s' } } })

  // In ipvs and userspace mode a change starts no program that could fail.
  test.skipIf(!['iptables', 'nftables'].includes(proxyMode()))(
    'says so: 503 at both health checks',
    async () => {
      await deploy(lab(), checked([{ ip: '10.180.0.1' }]))
      expect((await lab().daemon.http(10256, '/healthz')).status).toBe(200)
      const kernel = refusingKernel(lab())
      const { programs } = kernel
      await lab().daemon.stop()
      await lab().daemon.start({
        config: { iptables: { syncPeriod: '1s' }, nftables: { syncPeriod: '1s' } },
        ...(programs && { programs }),
      })
      await lab().daemon.synced()
      await kernel.begin()
      await lab().api.apply(
        ...objectsOf({ ...checked([FAR]), key: 'ns/later', clusterIP: '172.30.22.2' }),
      )
      const status = async (): Promise<number> =>
        (await lab().daemon.http(10256, '/healthz')).status
      await expect.poll(status).toBe(503)
      const reply = await lab().node.agent.call('http', {
        url: `http://192.168.0.2:${CHECK_PORT}/`,
      })
      expect(reply.status).toBe(503)
      expect(JSON.parse(reply.body)).toMatchObject({
        localEndpoints: 1,
        serviceProxyHealthy: false,
      })
      await kernel.end()
      await expect.poll(status).toBe(200)
      await lab().daemon.synced()
    },
    90_000,
  )
})

describe('the count of Services without local endpoints', () => {
  const lab = useLab()
  beforeEach(() => lab().reset())

  test.each([
    { iTP: 'Local', eTP: 'Cluster', endpoints: ['local', 'far'], internal: 0, external: 0 },
    { iTP: 'Local', eTP: 'Cluster', endpoints: ['far', 'far'], internal: 1, external: 0 },
    { iTP: 'Cluster', eTP: 'Local', endpoints: ['far', 'far'], internal: 0, external: 1 },
    { iTP: 'Local', eTP: 'Local', endpoints: ['far', 'far'], internal: 1, external: 1 },
    { iTP: 'Local', eTP: 'Local', endpoints: [], internal: 0, external: 0 },
  ])('$iTP/$eTP with $endpoints: $internal, $external', async (row) => {
    const endpoints = row.endpoints.map((where, i) =>
      where === 'far' ? { ip: `10.180.2.${i + 1}`, node: 'far' } : { ip: `10.180.0.${i + 1}` },
    )
    const spec = {
      type: 'LoadBalancer',
      internalTrafficPolicy: row.iTP,
      externalTrafficPolicy: row.eTP,
    } as const
    await deploy(lab(), { ...checked(endpoints), spec })
    const name = 'nodeproxy_sync_proxy_rules_no_local_endpoints_total'
    const samples = await lab().daemon.metrics()
    expect(sumOf(samples, name, { traffic_policy: 'internal' })).toBe(row.internal)
    expect(sumOf(samples, name, { traffic_policy: 'external' })).toBe(row.external)
  })
})

const FAR = { ip: '10.180.2.1', node: 'far' }

function checked(endpoints: readonly EndpointSpec[]): Deployment {
  return {
    key: 'ns/checked',
    clusterIP: '172.30.22.1',
    endpoints,
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: CHECK_PORT,
    },
    ingress: [{ ip: '1.2.3.4' }],
  }
}
