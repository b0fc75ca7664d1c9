import { expect, onTestFinished, test } from 'vitest'
import { SERVICES, startApi } from '../../apiserver/testing/test-api.ts'
import { anonymous } from '../../client/connection/credential/credential.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { silentReporter } from '../../client/testing/silent-reporter.ts'
import { systemClock } from '../../lib/clock.ts'
import { stringAt } from '../../lib/json.ts'
import { systemRandom } from '../../lib/random.ts'
import { createObjectFollower } from './object-follower.ts'

test('reports the version of a list, and whether every watch is open', async () => {
  const api = await startApi()
  const connection = { origin: api.url, basePath: '', tls: undefined, credentials: anonymous }
  const client = createApiClient({
    clock: systemClock,
    userAgent: 'test',
    connection: { ...connection, source: 'test' },
  })
  onTestFinished(() => client.close())
  const follower = createObjectFollower({
    client,
    clock: systemClock,
    random: systemRandom,
    reporter: silentReporter,
  })
  const { promise: version, resolve: listed } = Promise.withResolvers<string>()
  const stop = new AbortController()
  const following = follower.follow('services', { changed: () => {}, listed }, stop.signal)
  expect(follower.isConnected()).toBe(false)
  const { body } = await api.call('GET', SERVICES)
  expect(await version).toBe(stringAt(body, 'metadata', 'resourceVersion'))
  expect(follower.isConnected()).toBe(true)
  stop.abort()
  await following
})
