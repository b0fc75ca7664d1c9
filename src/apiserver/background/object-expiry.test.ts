import { expect, test } from 'vitest'
import { arrayAt, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { startApi, type TestApi } from '../testing/test-api.ts'

const EVENTS = '/api/v1/namespaces/default/events'

test('an Event is removed an hour after its lastTimestamp, else after its creation', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const involvedObject = { kind: 'Service', name: 'web', namespace: 'default' }
  const lastTimestamp = new Date(clock.now() + 1_800_000).toISOString()
  await api.make(EVENTS, { metadata: { name: 'once' }, involvedObject })
  await api.make(EVENTS, { metadata: { name: 'again' }, involvedObject, lastTimestamp })
  const afterMinutes = async (): Promise<readonly string[]> => {
    await clock.advance(60_000)
    return namesOf(api)
  }
  await clock.advance(3_600_000)
  await expect.poll(afterMinutes).toEqual(['again'])
  await clock.advance(1_800_000)
  await expect.poll(afterMinutes).toEqual([])
})

async function namesOf(api: TestApi): Promise<readonly string[]> {
  const { body } = await api.call('GET', EVENTS)
  return arrayAt(body, 'items').map((item) => stringAt(item, 'metadata', 'name'))
}
