import { connect, createServer as createTcpServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import type { NodeProxyError } from '../../lib/error.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import { Health } from '../../telemetry/health/health.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { request } from '../testing/request.ts'
import { type StatusServers, startStatusServers } from './status-servers.ts'

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

function address(ip: string, port = 0): SocketAddress {
  return { ip: parseIp(ip) as IpAddress, port }
}

async function occupied(): Promise<{ port: number; server: Server }> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => server.close() })
  return { port: (server.address() as { port: number }).port, server }
}

/** Sends the head of a request as it is; the first packet of the answer. */
function rawRequest(port: number | undefined, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port ?? 0, '127.0.0.1')
    socket.once('error', reject)
    socket.once('data', (data) => {
      resolve(String(data))
      socket.destroy()
    })
    socket.write(`${head}\r\n`)
  })
}

async function start(
  config: Partial<Parameters<typeof startStatusServers>[0]['config']> = {},
  more: Partial<Parameters<typeof startStatusServers>[0]> = {},
) {
  const health = new Health({
    clock: systemClock,
    families: ['IPv4'],
    syncPeriod: () => 30_000,
    inherited: false,
  })
  const metrics = createMetrics()
  const blocked: NodeProxyError[] = []
  const pages: string[] = []
  const errors: unknown[] = []
  const ready = { ready: false, reasons: [{ code: 'x', message: 'because' }], warnings: [] }
  const servers: StatusServers = await startStatusServers({
    config: {
      healthzBindAddress: address('127.0.0.1'),
      metricsBindAddress: address('127.0.0.1'),
      bindAddressHardFail: false,
      ...config,
    },
    sources: {
      health,
      metrics,
      readiness: () => ready,
      configz: () => '{"config":{}}',
      mode: () => 'iptables',
    },
    clock: systemClock,
    onBlocked: (page, error) => {
      blocked.push(error)
      pages.push(`${page} is blocked`)
    },
    onListening: (page) => pages.push(`${page} listens`),
    onError: (error) => errors.push(error),
    ...more,
  })
  open.push(servers)
  const healthz = (path: string) => request(`http://127.0.0.1:${servers.healthzPort}${path}`)
  const monitor = (path: string, options = {}) =>
    request(`http://127.0.0.1:${servers.metricsPort}${path}`, options)
  return { servers, health, blocked, pages, errors, healthz, monitor }
}

describe('the health pages', () => {
  it('answer as the loop proceeds, and are counted', async () => {
    const { health, healthz, monitor } = await start()
    expect((await healthz('/healthz')).code).toBe(503)
    expect((await healthz('/livez?verbose')).code).toBe(200)
    health.begun()
    health.succeeded()
    const answer = await healthz('/healthz')
    expect(answer.code).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(JSON.parse(answer.body)).toMatchObject({ healthy: true, nodeEligible: true })
    expect(await healthz('/readyz')).toMatchObject({
      code: 503,
      body: '{"ready":false,"reasons":["because"],"warnings":[]}\n',
    })
    const { body } = await monitor('/metrics')
    expect(body).toContain('nodeproxy_proxy_healthz_total{code="503"} 1')
    expect(body).toContain('nodeproxy_proxy_healthz_total{code="200"} 1')
    expect(body).toContain('nodeproxy_proxy_livez_total{code="200"} 1')
  })
})

describe('the metrics pages', () => {
  it.each([
    ['/healthz', 200, 'text/plain; charset=utf-8', /^ok$/],
    ['/proxyMode', 200, 'text/plain; charset=utf-8', /^iptables$/],
    ['/configz', 200, 'application/json', /^\{"config":\{\}\}$/],
    ['/readyz', 503, 'application/json', /because/],
    ['/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8', /nodeproxy_build_info/],
    ['/nothing', 404, 'text/plain; charset=utf-8', /one of: \/metrics/],
    ['/__proto__', 404, 'text/plain; charset=utf-8', /one of/],
  ])('%s is %d', async (path, code, type, body) => {
    const { monitor } = await start()
    const answer = await monitor(path)
    expect([answer.code, answer.headers['content-type']]).toEqual([code, type])
    expect(answer.body).toMatch(body)
  })

  it('refuse writes, and drop the connection of a client that sends a body', async () => {
    const { servers, monitor } = await start()
    const reply = await rawRequest(
      servers.metricsPort,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n',
    )
    expect(reply).toMatch(/^HTTP\/1\.1 405 /)
    expect(reply).toMatch(/^Allow: GET, HEAD\r$/m)
    expect(reply).toMatch(/^Connection: close\r$/m)
    expect(await monitor('/metrics', { method: 'HEAD' })).toMatchObject({ code: 200, body: '' })
  })

  it('refuse large headers', async () => {
    const { servers } = await start()
    const large = `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(10_000)}\r\n`
    const reply = await rawRequest(servers.metricsPort, large)
    expect(reply).toMatch(/^HTTP\/1\.1 431 /)
  })

  it('answer 500 and report when a page throws', async () => {
    const bug = new Error('bug')
    const { monitor, errors } = await start(
      {},
      {
        sources: {
          ...({} as Parameters<typeof startStatusServers>[0]['sources']),
          mode: () => {
            throw bug
          },
        },
      },
    )
    expect((await monitor('/proxyMode')).code).toBe(500)
    expect(errors).toEqual([bug])
  })
})

describe('an address that is taken', () => {
  it('is tried again until it is free', async () => {
    const { port, server } = await occupied()
    const retries: (() => void)[] = []
    const clock = {
      now: () => 0,
      after: (_ms: number, task: () => void) => {
        retries.push(task)
        return () => {}
      },
    }
    const { blocked, pages, servers } = await start(
      { healthzBindAddress: address('127.0.0.1', port) },
      { clock },
    )
    expect(blocked).toEqual([
      expect.objectContaining({
        code: 'NP_NODEPROXY_BIND',
        message: `cannot listen on 127.0.0.1:${port}: EADDRINUSE`,
      }),
    ])
    expect(servers.healthzPort).toBeUndefined()
    await new Promise((resolve) => server.close(resolve))
    retries[0]?.()
    await expect.poll(() => servers.healthzPort).toBe(port)
    expect((await request(`http://127.0.0.1:${port}/livez`)).code).toBe(200)
    expect(pages).toEqual(['healthz is blocked', 'metrics listens', 'healthz listens'])
  })

  it('is tried again twice a second for as long as it is taken, and reported once', async () => {
    const { port, server } = await occupied()
    const pauses: number[] = []
    let retry: (() => void) | undefined
    const clock = {
      now: () => 0,
      after: (ms: number, task: () => void) => {
        pauses.push(ms)
        retry = task
        return () => {}
      },
    }
    const { blocked, servers } = await start(
      { healthzBindAddress: address('127.0.0.1', port) },
      { clock },
    )
    for (let tries = 2; tries <= 20; tries++) {
      retry?.()
      await expect.poll(() => pauses.length, { interval: 1, timeout: 10_000 }).toBe(tries)
    }
    expect(Math.max(...pauses)).toBeLessThanOrEqual(500)
    expect(blocked).toHaveLength(1)
    await new Promise((resolve) => server.close(resolve))
    retry?.()
    await expect.poll(() => servers.healthzPort).toBe(port)
  })

  it('is fatal with bindAddressHardFail, and leaves nothing open', async () => {
    const { port, server } = await occupied()
    const free = await occupied()
    await new Promise((resolve) => free.server.close(resolve))
    await expect(
      start({
        healthzBindAddress: address('127.0.0.1', free.port),
        metricsBindAddress: address('127.0.0.1', port),
        bindAddressHardFail: true,
      }),
    ).rejects.toMatchObject({ code: 'NP_NODEPROXY_BIND' })
    await expect(request(`http://127.0.0.1:${free.port}/livez`)).rejects.toThrow('ECONNREFUSED')
    expect(server.listening).toBe(true)
  })

  it('that the node does not have is explained', async () => {
    const { blocked } = await start({ healthzBindAddress: address('192.0.2.1', 10_256) })
    expect(blocked[0]).toMatchObject({ message: expect.stringContaining('EADDRNOTAVAIL') })
  })
})

it('an address that is none is not served', async () => {
  const { servers } = await start({ healthzBindAddress: undefined, metricsBindAddress: undefined })
  expect([servers.healthzPort, servers.metricsPort]).toEqual([undefined, undefined])
})

it('[::] answers both families', async () => {
  const { servers } = await start({ healthzBindAddress: address('::') })
  expect((await request(`http://[::1]:${servers.healthzPort}/livez`)).code).toBe(200)
  expect((await request(`http://127.0.0.1:${servers.healthzPort}/livez`)).code).toBe(200)
})
