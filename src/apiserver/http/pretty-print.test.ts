import { expect, test } from 'vitest'
import { SERVICES, service, startApi } from '../testing/test-api.ts'

test.each([
  ['the object', `${SERVICES}/web`, ''],
  ['a Status', `${SERVICES}/none`, ''],
])('%s is indented with pretty=true only', async (_, path) => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const plain = await api.call('GET', path)
  const pretty = await api.call('GET', `${path}?pretty=true`)
  expect(pretty.text).toBe(`${JSON.stringify(plain.body, null, 2)}\n`)
  expect(pretty.status).toBe(plain.status)
  expect((await api.call('GET', `${path}?pretty=false`)).text).toBe(plain.text)
})

test('lists, discovery documents and YAML are the same with pretty=true', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  for (const [path, accept] of [
    [SERVICES, 'application/json'],
    ['/api/v1', 'application/json'],
    [`${SERVICES}/web`, 'application/yaml'],
  ] as const) {
    const headers = { accept }
    const plain = await api.call('GET', path, { headers })
    const pretty = await api.call('GET', `${path}?pretty=true`, { headers })
    expect(pretty.text).toBe(plain.text)
  }
})
