import { expect, test } from 'vitest'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'
import { serverMetricsDocument } from './document.ts'
import { SERVER_METRICS, SERVER_PREFIX } from './server-metric-table.ts'

/** The value of one sample, by its name and labels as they are written. */
async function sample(api: TestApi, name: string): Promise<number | undefined> {
  const { text } = await api.call('GET', '/metrics')
  const line = text.split('\n').find((one) => one.startsWith(`${SERVER_PREFIX}${name} `))
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

const SERVICE = 'group="",version="v1",resource="services",subresource=""'

test('every metric is exported with its help, in the format of Prometheus', async () => {
  const api = await startApi()
  const { text, headers } = await api.call('GET', '/metrics')
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
  for (const { name, type, help } of Object.values(SERVER_METRICS)) {
    expect(text).toContain(
      `# HELP ${SERVER_PREFIX}${name} ${help}\n# TYPE ${SERVER_PREFIX}${name} ${type}\n`,
    )
  }
})

test('requests are counted and timed by what they do, to what, and how it ended', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  await api.call('POST', SERVICES, { body: service('a') })
  await api.call('GET', SERVICES)
  await api.call('GET', `${SERVICES}/a`)
  await api.call('PUT', `${SERVICES}/a/status`, { body: {} })
  await api.call('DELETE', SERVICES)
  await api.call('GET', '/secret-path')
  await api.call('PURGE', '/secret-path')
  const counts = await Promise.all(
    [
      `verb="POST",${SERVICE},code="201"`,
      `verb="POST",${SERVICE},code="409"`,
      `verb="LIST",${SERVICE},code="200"`,
      `verb="GET",${SERVICE},code="200"`,
      'verb="PUT",group="",version="v1",resource="services",subresource="status",code="200"',
      `verb="DELETECOLLECTION",${SERVICE},code="200"`,
      'verb="GET",group="",version="",resource="",subresource="",code="404"',
      'verb="other",group="",version="",resource="",subresource="",code="404"',
    ].map((labels) => sample(api, `request_total{${labels}}`)),
  )
  expect(counts).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
  expect(await sample(api, `request_duration_seconds_count{verb="LIST",${SERVICE}}`)).toBe(1)
  expect((await api.call('GET', '/metrics')).text).not.toContain('secret-path')
})

test('watches, objects and the store are shown as they are', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  const watch = await api.watch(`${SERVICES}?watch=true`)
  await watch.next()
  expect(await sample(api, 'longrunning_requests{verb="WATCH"}')).toBe(1)
  expect(await sample(api, 'storage_objects{resource="services"}')).toBe(1)
  expect(await sample(api, 'cache_lag_revisions')).toBe(0)
  const commits = 'store_request_duration_seconds_count{operation="txn",result="answered"}'
  expect(await sample(api, commits)).toBeGreaterThan(0)
  watch.close()
})

test('docs/apiserver-metrics.md is what the table says', async () => {
  await expect(serverMetricsDocument()).toMatchFileSnapshot('../../../docs/apiserver-metrics.md')
})

test('watches are counted when they end, but not timed', async () => {
  const api = await startApi()
  await api.call('GET', `${SERVICES}?watch=true&resourceVersion=x`)
  await api.call('GET', '/api/v1/watch/namespaces/default/services/a?resourceVersion=x')
  expect(await sample(api, `request_total{verb="WATCH",${SERVICE},code="400"}`)).toBe(2)
  const timed = `request_duration_seconds_count{verb="WATCH",${SERVICE}}`
  expect(await sample(api, timed)).toBeUndefined()
})
