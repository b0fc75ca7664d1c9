import { expect, test } from 'vitest'
import type { ObjectKey } from '../mode.ts'
import { ip } from '../testing/mode-fixtures.ts'
import { whilePaused } from './apply.ts'
import { serverKey } from './objects/object.ts'

type State = Parameters<typeof whilePaused>[1]

/** The members that are paused, of sets that take everything. */
function recordingSets(): { readonly paused: Set<ObjectKey>; readonly state: State } {
  const paused = new Set<ObjectKey>()
  const sets: Pick<State['sets'], 'add' | 'delete'> = {
    add: (keys) => {
      for (const key of keys) paused.add(key)
      return Promise.resolve(new Map())
    },
    delete: (keys) => {
      for (const key of keys) paused.delete(key)
      return Promise.resolve(new Map())
    },
  }
  return { paused, state: { sets } as State }
}

test('first packets pass again, also where the virtual servers could not be written', async () => {
  const { paused, state } = recordingSets()
  const server = serverKey({ family: 4, protocol: 'TCP', ip: ip('172.30.0.1'), port: 80 })
  const seen: string[] = []
  const write = async () => {
    seen.push(...paused)
    throw new Error('no answer')
  }
  await expect(whilePaused([server], state, write)).rejects.toThrow('no answer')
  expect(seen).toEqual([expect.stringMatching(/PAUSED.*172\.30\.0\.1/)])
  expect([...paused]).toEqual([])
})
