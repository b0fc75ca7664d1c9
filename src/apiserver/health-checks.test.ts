import { expect, test } from 'vitest'
import type { Store } from '../storage/store.ts'
import { healthChecks } from './health-checks.ts'
import { Lifecycle } from './lifecycle.ts'
import { createManualClock } from './manual-clock.ts'
import { startApi } from './test-api.ts'

const ALL = '[+]ping ok\n[+]store ok\n[+]caches ok\n[+]shutdown ok\n'

test.each([
  ['/healthz', 200, 'ok'],
  ['/readyz?verbose', 200, `${ALL}readyz check passed\n`],
  ['/livez?verbose', 200, '[+]ping ok\nlivez check passed\n'],
  ['/readyz/store', 200, 'ok'],
  ['/readyz/store?verbose', 200, '[+]store ok\nreadyz check passed\n'],
  ['/livez/store', 404, undefined],
])('%s: %i %j', async (path, status, text) => {
  const answer = await (await startApi()).call('GET', path)
  expect(answer.status).toBe(status)
  if (text !== undefined) expect(answer.text).toBe(text)
})

/** A store that answers until it is broken. */
function breakable() {
  let isBroken = false
  const wrap = (store: Store): Store => ({
    revision: () => (isBroken ? Promise.reject(new Error('gone')) : store.revision()),
    get: (key) => store.get(key),
    list: (query) => store.list(query),
    txn: (transaction) => store.txn(transaction),
    watch: (query) => store.watch(query),
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
  })
  return { wrap, break: () => (isBroken = true) }
}

test('without its store the server is alive but not ready, and says why', async () => {
  const store = breakable()
  const api = await startApi({ wrap: store.wrap })
  store.break()
  expect((await api.call('GET', '/livez')).status).toBe(200)
  const answer = await api.call('GET', '/readyz')
  expect([answer.status, answer.text]).toEqual([
    503,
    '[+]ping ok\n[-]store failed\n[-]caches failed\n[+]shutdown ok\nreadyz check failed\n',
  ])
  const excluded = await api.call('GET', '/readyz?exclude=store&exclude=caches&verbose')
  expect([excluded.status, excluded.text]).toEqual([
    200,
    '[+]ping ok\n[+]store excluded: ok\n[+]caches excluded: ok\n[+]shutdown ok\nreadyz check passed\n',
  ])
})

test('a store that does not answer fails its check in time', async () => {
  const clock = createManualClock()
  const store = { revision: () => new Promise<number>(() => undefined) }
  const feed = { until: () => Promise.resolve(true) }
  const checks = healthChecks({ store, feed, clock, lifecycle: new Lifecycle() })
  const check = checks.readyz.find(({ name }) => name === 'store')!
  const passes = check.passes()
  clock.advance(2000)
  expect(await passes).toBe(false)
})
