import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SERVICES, service, startApi } from '../testing/test-api.ts'

const YAML = { accept: 'application/yaml' }

test('objects and lists are answered as YAML', async () => {
  const api = await startApi()
  const empty = await api.call('GET', SERVICES, { headers: YAML })
  expect(parse(empty.text)).toMatchObject({ kind: 'ServiceList', apiVersion: 'v1', items: [] })
  await api.make(SERVICES, service('a'))
  await api.make(SERVICES, service('b'))
  for (const path of [SERVICES, `${SERVICES}?limit=1`, `${SERVICES}/a`]) {
    const answer = await api.call('GET', path, { headers: YAML })
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/yaml'])
    expect(parse(answer.text)).toEqual((await api.call('GET', path)).body)
  }
})

test('what YAML answered can be sent again', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('a'))
  const { text } = await api.call('GET', `${SERVICES}/a`, { headers: YAML })
  const headers = { ...YAML, 'content-type': 'application/yaml' }
  const put = await api.call('PUT', `${SERVICES}/a`, { body: text, headers })
  expect([put.status, put.text]).toEqual([200, text])
})

test('there are no watches and no tables in YAML', async () => {
  const api = await startApi()
  const watch = await api.call('GET', `${SERVICES}?watch=1`, { headers: YAML })
  expect([watch.status, watch.body['message']]).toEqual([
    406,
    'only the following media types are accepted: application/json',
  ])
  const accept = 'application/yaml;as=Table;v=v1;g=meta.k8s.io'
  expect((await api.call('GET', SERVICES, { headers: { accept } })).status).toBe(406)
})
