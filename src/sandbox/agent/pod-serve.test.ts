import { expect, test } from 'vitest'
import { READY_PATH, servePod } from './pod-serve.ts'

test('a pod that drains is not ready, and answers all the same', async () => {
  const pod = await servePod({ name: 'pod-9', ip: '127.0.0.1', port: 0 })
  const statuses = () =>
    Promise.all(
      [READY_PATH, '/'].map(
        async (path) => (await fetch(`http://127.0.0.1:${pod.port}${path}`)).status,
      ),
    )
  expect(await statuses()).toEqual([200, 200])
  pod.drain()
  expect(await statuses()).toEqual([503, 200])
  await pod.close()
  await expect(statuses()).rejects.toThrow('fetch failed')
})
