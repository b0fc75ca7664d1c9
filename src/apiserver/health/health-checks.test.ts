import { expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { startApi } from '../testing/test-api.ts'

const ALL = '[+]ping ok\n[+]store ok\n[+]caches ok\n[+]start ok\n[+]shutdown ok\n[+]conditions ok\n'
const HEALTHY =
  '[+]ping ok\n[+]store ok\n[+]caches ok\n[+]writes ok\n[+]conditions ok\nhealthz check passed\n'

test.each([
  ['/healthz', 200, 'ok'],
  ['/healthz?verbose', 200, HEALTHY],
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

test.each(['/healthz', '/livez', '/readyz'])('HEAD %s is answered without a body', async (path) => {
  const answer = await (await startApi()).call('HEAD', path)
  expect([answer.status, answer.text, answer.headers['content-length']]).toEqual([200, '', '2'])
})

const away = new NodeProxyError('NP_STORAGE_ETCD_UNREACHABLE', 'no etcd answers at 10.0.0.1:2379')

test('without its store the server is alive but not ready, and says why', async () => {
  let isAway = false
  const api = await startApi({
    wrap: (store) => ({
      ...store,
      revision: () => (isAway ? Promise.reject(away) : store.revision()),
    }),
  })
  isAway = true
  expect((await api.call('GET', '/livez')).status).toBe(200)
  const answer = await api.call('GET', '/readyz')
  expect([answer.status, answer.text]).toEqual([
    503,
    '[+]ping ok\n[-]store failed: etcd cannot be reached\n[-]caches failed: the newest revision of the store cannot be read\n[+]start ok\n[+]shutdown ok\n[+]conditions ok\nreadyz check failed\n',
  ])
  const excluded = await api.call('GET', '/readyz?exclude=store&exclude=caches&verbose')
  expect([excluded.status, excluded.text]).toEqual([
    200,
    '[+]ping ok\n[+]store excluded: ok\n[+]caches excluded: ok\n[+]start ok\n[+]shutdown ok\n[+]conditions ok\nreadyz check passed\n',
  ])
})
