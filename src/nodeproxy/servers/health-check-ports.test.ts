import { createServer, type Server } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import { freePort } from '../../lib/testing/free-port.ts'
import type { NodePortScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { request } from '../testing/request.ts'
import { HealthCheckPorts } from './health-check-ports.ts'
import { healthCheckAddresses } from './health-checks.ts'

const CART = 'shop/cart' as ServiceKey
const TILL = 'shop/till' as ServiceKey
const LOOPBACK = [ip('127.0.0.1'), ip('::1')]

function ip(text: string): IpAddress {
  return parseIp(text) as IpAddress
}

let healthy: boolean
let blocked: string[]
let counts: [number, number]
let retries: (() => void)[]
let ports: HealthCheckPorts

const clock: Clock = {
  now: () => 0,
  after: (_ms, task) => {
    retries.push(task)
    return () => {
      retries = retries.filter((other) => other !== task)
    }
  },
}

beforeEach(async () => {
  healthy = true
  blocked = []
  counts = [0, 0]
  retries = []
  ports = new HealthCheckPorts({
    clock,
    healthy: () => healthy,
    onBlocked: (service, error) => blocked.push(`${service} ${error.code}`),
    onCount: (listening, waiting) => {
      counts = [listening, waiting]
    },
  })
  await ports.setAddresses(LOOPBACK)
})
afterEach(() => ports.close())

async function occupy(port: number): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}

describe('HealthCheckPorts', () => {
  it('answers on its own port, in both families, on any path', async () => {
    const port = await freePort()
    await ports.replace(CART, { service: CART, port, localEndpoints: 2 })
    for (const host of ['127.0.0.1', '[::1]']) {
      expect(await request(`http://${host}:${port}/any/path`, { method: 'POST' })).toMatchObject({
        code: 200,
        headers: {
          'content-type': 'application/json',
          'x-content-type-options': 'nosniff',
          'x-load-balancing-endpoint-weight': '2',
        },
        body: '{"service":{"namespace":"shop","name":"cart"},"localEndpoints":2,"serviceProxyHealthy":true}',
      })
    }
    expect(counts).toEqual([2, 0])
  })

  it('follows endpoints and health without opening anything anew', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    await ports.replace(CART, { service: CART, port, localEndpoints: 1 })
    healthy = false
    expect(await request(url)).toMatchObject({
      code: 503,
      body: expect.stringContaining('"localEndpoints":1,"serviceProxyHealthy":false'),
    })
    healthy = true
    await ports.replace(CART, { service: CART, port, localEndpoints: 0 })
    expect(await request(url)).toMatchObject({
      code: 503,
      headers: { 'x-load-balancing-endpoint-weight': '0' },
    })
  })

  it('closes when the Service goes, and moves with its port', async () => {
    const [first, second] = [await freePort(), await freePort()]
    await ports.replace(CART, { service: CART, port: first, localEndpoints: 1 })
    await ports.replace(CART, { service: CART, port: second, localEndpoints: 1 })
    await expect(request(`http://127.0.0.1:${first}/`)).rejects.toThrow('ECONNREFUSED')
    expect((await request(`http://127.0.0.1:${second}/`)).code).toBe(200)
    await ports.replace(CART, undefined)
    await expect(request(`http://127.0.0.1:${second}/`)).rejects.toThrow('ECONNREFUSED')
    expect(counts).toEqual([0, 0])
  })

  it('gives a port that two Services want to the smaller one, in any order', async () => {
    const port = await freePort()
    await ports.replace(TILL, { service: TILL, port, localEndpoints: 1 })
    await ports.replace(CART, { service: CART, port, localEndpoints: 1 })
    expect(blocked).toEqual(['shop/till NP_NODEPROXY_HEALTH_CHECK_CONFLICT'])
    const name = async () =>
      JSON.parse((await request(`http://127.0.0.1:${port}/`)).body).service.name
    expect(await name()).toBe('cart')
    await ports.replace(CART, undefined)
    expect(await name()).toBe('till')
  })

  it('reports a Service that does not get its port once for each Service that has it', async () => {
    const port = await freePort()
    const claim = (name: string) => {
      const service = `shop/${name}` as ServiceKey
      return ports.replace(service, { service, port, localEndpoints: 1 })
    }
    for (const name of ['b', 'c', 'd']) await claim(name)
    expect(blocked.map((line) => line.split(' ')[0])).toEqual(['shop/c', 'shop/d'])
    await claim('a')
    expect(blocked.map((line) => line.split(' ')[0]).slice(2)).toEqual([
      'shop/b',
      'shop/c',
      'shop/d',
    ])
  })

  it('waits for a port in use by another process, and logs it once', async () => {
    const port = await freePort()
    const other = await occupy(port)
    await ports.replace(CART, { service: CART, port, localEndpoints: 1 })
    expect(blocked).toEqual(['shop/cart NP_NODEPROXY_BIND'])
    expect(counts).toEqual([1, 1])
    for (const retry of retries.splice(0)) retry()
    await expect.poll(() => retries.length).toBe(1)
    expect(blocked).toHaveLength(1)
    await new Promise((resolve) => other.close(resolve))
    for (const retry of retries.splice(0)) retry()
    await expect.poll(() => counts).toEqual([2, 0])
    expect((await request(`http://127.0.0.1:${port}/`)).code).toBe(200)
  })

  it('stops waiting when the Service goes', async () => {
    const port = await freePort()
    const other = await occupy(port)
    await ports.replace(CART, { service: CART, port, localEndpoints: 1 })
    await ports.replace(CART, undefined)
    expect(retries).toEqual([])
    await new Promise((resolve) => other.close(resolve))
  })

  it('follows the addresses of the node', async () => {
    const port = await freePort()
    await ports.replace(CART, { service: CART, port, localEndpoints: 1 })
    await ports.setAddresses([ip('127.0.0.2')])
    await expect(request(`http://127.0.0.1:${port}/`)).rejects.toThrow('ECONNREFUSED')
    expect((await request(`http://127.0.0.2:${port}/`)).code).toBe(200)
  })
})

describe('healthCheckAddresses', () => {
  const node = {
    local: [ip('127.0.0.1'), ip('192.0.2.10'), ip('10.0.0.1'), ip('2001:db8::1')],
    families: [4, 6] as const,
  }
  const networks = ['10.0.0.0/8', '2001:db8::/32'].map(parseCidr).filter((net) => net !== undefined)
  it.each<readonly [NodePortScope, readonly string[]]>([
    [{ kind: 'all' }, ['0.0.0.0', '::']],
    [{ kind: 'networks', networks }, ['10.0.0.1', '2001:db8::1']],
    [{ kind: 'networks', networks: [] }, []],
    [{ kind: 'addresses', addresses: [ip('192.0.2.10'), ip('203.0.113.9')] }, ['192.0.2.10']],
    [{ kind: 'addresses', addresses: [ip('0.0.0.0'), ip('::')] }, []],
    [{ kind: 'addresses', addresses: [] }, []],
  ])('%j listens on %j', (scope, addresses) => {
    expect(healthCheckAddresses(scope, node)).toEqual(addresses)
  })

  it('leaves out a family that the node does not have', () => {
    expect(healthCheckAddresses({ kind: 'all' }, { ...node, families: [4] })).toEqual(['0.0.0.0'])
  })
})
