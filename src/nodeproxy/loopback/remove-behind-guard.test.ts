import { expect, test } from 'vitest'
import { recordingLog } from '../testing/wiring.ts'
import { removeAll, removeBehindGuard } from './remove-behind-guard.ts'

function rig(outcome: 'closed' | 'kept' | Error, guardError?: Error) {
  const { log, lines } = recordingLog()
  const calls: string[] = []
  const loopback = {
    async close() {
      calls.push('close')
      if (outcome instanceof Error) throw outcome
      return outcome
    },
    async guard() {
      calls.push('guard')
      if (guardError) throw guardError
    },
    unguard: async () => void calls.push('unguard'),
  }
  const remove = async () => {
    calls.push('remove')
    return []
  }
  return { calls, lines, run: () => removeBehindGuard(loopback, log, remove) }
}

const OPEN = new Error('read-only')

test('loopback is closed before anything is removed', async () => {
  const { calls, lines, run } = rig('closed')
  expect([await run(), calls, lines]).toEqual([[], ['close', 'remove'], []])
})

test('the guard of a loopback that another program opened is removed last, with a warning', async () => {
  const { calls, lines, run } = rig('kept')
  expect([await run(), calls]).toEqual([[], ['close', 'remove', 'unguard']])
  expect(lines).toEqual([expect.stringContaining('CVE-2020-8558')])
})

test('a loopback that cannot be closed keeps the guard that belongs to no mode', async () => {
  const { calls, run } = rig(OPEN)
  expect([await run(), calls]).toEqual([[OPEN], ['close', 'guard', 'remove']])
})

test('if that guard cannot be written, the rules of the modes stay', async () => {
  const busy = new Error('busy')
  const { calls, run } = rig(OPEN, busy)
  expect([await run(), calls]).toEqual([
    [OPEN, busy],
    ['close', 'guard', 'guard'],
  ])
})

function failing() {
  const calls: string[] = []
  /** Fails its first `failures` times. */
  const removal = (name: string, failures: number) => {
    let left = failures
    return async () => {
      calls.push(name)
      if (left-- > 0) throw new Error(`${name} stays`)
    }
  }
  return { calls, removal }
}

test('a removal that another one had blocked succeeds in the second attempt', async () => {
  const { calls, removal } = failing()
  expect(await removeAll([removal('set', 1), removal('rule', 0)])).toEqual([])
  expect(calls).toEqual(['set', 'rule', 'set'])
})

test('a removal that fails twice is returned, and all others run', async () => {
  const { calls, removal } = failing()
  const failures = await removeAll([removal('a', 9), removal('b', 0), removal('c', 2)])
  expect(failures.map(String)).toEqual(['Error: a stays', 'Error: c stays'])
  expect(calls).toEqual(['a', 'b', 'c', 'a', 'c'])
})
