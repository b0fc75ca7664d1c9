import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { FakeNamespace } from '../../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../../kernel/nftables/testing/fake-nftables.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { keepTranslating } from '../mode.ts'

const { EINVAL, ENOMEM, EOPNOTSUPP } = constants.errno

function opened() {
  const namespace = new FakeNamespace(new FakeClock())
  return { namespace, nftables: new FakeNftables(namespace) }
}

/** Each has one rule, which uses connection tracking. */
const GUARDS = [4, 6].flatMap((family) => [
  expect.stringMatching(
    `^${family} node-proxy-guard chain postrouting .*"type":"nat","hook":"postrouting".*\\n.*"type":"ct","key":"status"`,
  ),
  `${family} node-proxy-guard owned`,
])

test('a chain of type nat outlives a flush of all tables, and goes with its socket', async () => {
  const { namespace, nftables } = opened()
  expect(await keepTranslating(nftables, [4, 6])).toBe(true)
  namespace.alter({ do: 'flushRuleset' })
  expect(namespace.dump()).toEqual(GUARDS)
  nftables.close()
  expect(namespace.dump()).toEqual([])
})

test('the table of another daemon that still runs is left', async () => {
  const { namespace, nftables } = opened()
  const other = new FakeNftables(namespace)
  await keepTranslating(other, [4, 6])
  expect(await keepTranslating(nftables, [4, 6])).toBe(true)
  expect(nftables.transactions).toEqual([])
})

test.each([
  [EINVAL, true],
  [EOPNOTSUPP, true],
  [ENOMEM, false],
])('after errno %i it is settled: %s', async (errno, isSettled) => {
  const { namespace, nftables } = opened()
  nftables.failNext({ kind: 'refused', errno, command: 0 })
  expect(await keepTranslating(nftables, [4, 6])).toBe(isSettled)
  expect(namespace.dump()).toEqual(GUARDS.slice(2))
})
