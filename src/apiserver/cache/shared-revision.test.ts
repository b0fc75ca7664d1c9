import { expect, test } from 'vitest'
import { createMemoryStore } from '../../storage/memory-store.ts'
import { withSharedRevision } from '../api-server.ts'

/** A store whose answers the test gives, in the order of its calls. */
function scene() {
  const calls: PromiseWithResolvers<number>[] = []
  const revision = (): Promise<number> => {
    const call = Promise.withResolvers<number>()
    calls.push(call)
    return call.promise
  }
  return { calls, shared: withSharedRevision({ ...createMemoryStore(), revision }) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a reader never shares a call that began before it; all waiting readers share the next', async () => {
  const { calls, shared } = scene()
  const first = shared.revision()
  await turn()
  const later = [shared.revision(), shared.revision()]
  await turn()
  expect(calls).toHaveLength(1)
  calls[0]?.resolve(1)
  expect(await first).toBe(1)
  await turn()
  const last = shared.revision()
  await turn()
  expect(calls).toHaveLength(2)
  calls[1]?.resolve(2)
  expect(await Promise.all(later)).toEqual([2, 2])
  await turn()
  calls[2]?.resolve(3)
  expect(await last).toBe(3)
})

test('a call that fails does so for the readers that shared it, and for no later one', async () => {
  const { calls, shared } = scene()
  const first = shared.revision()
  await turn()
  const next = shared.revision()
  calls[0]?.reject(new Error('the store is away'))
  await expect(first).rejects.toThrow('the store is away')
  await turn()
  calls[1]?.resolve(2)
  expect(await next).toBe(2)
})
