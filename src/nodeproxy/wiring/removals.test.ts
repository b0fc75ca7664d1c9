import { expect, test } from 'vitest'
import { removeAll } from './clean-up.ts'

function rig() {
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
  const { calls, removal } = rig()
  expect(await removeAll([removal('set', 1), removal('rule', 0)])).toEqual([])
  expect(calls).toEqual(['set', 'rule', 'set'])
})

test('a removal that fails twice is returned, and all others run', async () => {
  const { calls, removal } = rig()
  const failures = await removeAll([removal('a', 9), removal('b', 0), removal('c', 2)])
  expect(failures.map(String)).toEqual(['Error: a stays', 'Error: c stays'])
  expect(calls).toEqual(['a', 'b', 'c', 'a', 'c'])
})
