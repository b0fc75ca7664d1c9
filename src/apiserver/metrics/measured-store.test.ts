import { expect, test } from 'vitest'
import { createMemoryStore } from '../../storage/memory-store.ts'
import { measuredStore } from '../api-server.ts'
import { createServerMetrics } from './server-metrics.ts'

test('measures what the store took, also when it failed', async () => {
  const metrics = createServerMetrics()
  const inner = createMemoryStore()
  const failing = { ...inner, get: () => Promise.reject(new Error('gone')) }
  let now = 0
  const store = measuredStore(
    Object.assign(failing, { revision: () => inner.revision() }),
    metrics,
    () => (now += 250),
  )
  expect(await store.revision()).toBe(0)
  await expect(store.get('a')).rejects.toThrow('gone')
  const text = await metrics.text()
  const sum = 'apiserver_store_request_duration_seconds_sum'
  expect(text).toContain(`${sum}{operation="revision",result="answered"} 0.25`)
  expect(text).toContain(`${sum}{operation="get",result="failed"} 0.25`)
})
