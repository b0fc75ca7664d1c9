import { expect, test } from 'vitest'
import { startApi } from '../testing/test-api.ts'

test.each([
  ['kubectl/v1.33.1 (linux/amd64) kubernetes/8adc0f0', '33'],
  ['kubectl/v1.36.0 (linux/amd64) kubernetes/abc', '36'],
  ['kubectl.1.35/v1.35.2 (darwin/arm64) kubernetes/abc', '35'],
  ['kubectl/v1.20.2 (linux/amd64) kubernetes/abc', '20'],
  ['kubectl/v1.18.0 (linux/amd64) kubernetes/abc', '20'],
  ['kubectl/v1.99.0 (linux/amd64) kubernetes/abc', '36'],
  ['node-fetch', '33'],
  ['x kubectl/v1.36.0', '33'],
])('/version reports to the user agent %s the minor version %s', async (userAgent, minor) => {
  const api = await startApi()
  const { body } = await api.call('GET', '/version', { headers: { 'user-agent': userAgent } })
  expect(body).toMatchObject({ major: '1', minor, gitVersion: `v1.${minor}.0+orch` })
})
