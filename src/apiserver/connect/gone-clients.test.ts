import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { NodeStreams } from '../../streams/node-streams.ts'
import { lateCaches } from '../testing/late-caches.ts'
import { PODS, SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

/** A node whose logs do not end by themselves, and how many it sends. */
function endlessLogs() {
  const running = new Set<symbol>()
  const logs: NodeStreams['logs'] = async (_container, _options, signal) => {
    const own = Symbol('log')
    running.add(own)
    signal.addEventListener('abort', () => running.delete(own))
    return (async function* () {
      yield Buffer.from('line\n')
      if (!signal.aborted) await once(signal, 'abort')
    })()
  }
  return { logs, running }
}

/** How many requests with these labels have ended, by the metrics of the server. */
async function ended(api: TestApi, labels: string): Promise<number> {
  const { text } = await api.call('GET', '/metrics')
  return text.split('\n').filter((one) => one.includes('request_total{') && one.includes(labels))
    .length
}

async function isInFlight(api: TestApi): Promise<boolean> {
  const { text } = await api.call('GET', '/metrics')
  return text.includes('current_inflight_requests{request_kind="readOnly"} 1')
}

test.each([
  ['watch', `${PODS}?watch=1`, 'verb="WATCH"'],
  ['log', `${PODS}/web/log?follow=1`, 'subresource="log"'],
])(
  'a %s whose client leaves before it begins does not count as running',
  async (_, path, labels) => {
    const caches = lateCaches()
    const { logs, running } = endlessLogs()
    const unused = () => Promise.reject(new Error('not for this test'))
    const api = await startApi({
      wrap: caches.wrap,
      nodeStreams: () => ({ logs, run: unused, dialer: unused }),
      limits: { watches: 1, streams: 1, futureRevisionTimeout: 60_000 },
    })
    const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'none' }] }
    await api.make(PODS, { metadata: { name: 'web' }, spec })
    caches.hold()
    await api.make(SERVICES, service('a'))
    const socket = connect({ port: api.port, host: '127.0.0.1' })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await expect.poll(() => isInFlight(api)).toBe(true)
    socket.destroy()
    await expect.poll(() => ended(api, labels)).toBe(1)
    caches.release()
    await expect.poll(() => isInFlight(api)).toBe(false)
    expect(running.size).toBe(0)
    const watch = await api.watch(`${PODS}?watch=1`)
    const log = await api.watch(`${PODS}/web/log?follow=1`)
    expect([watch.status, log.status]).toEqual([200, 200])
    watch.close()
    log.close()
  },
)
