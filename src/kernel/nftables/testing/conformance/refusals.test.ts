import { expect, test } from 'vitest'
import { FakeClock } from '../../../../lib/testing/fake-clock.ts'
import { FakeNamespace } from '../fake-namespace.ts'
import { FakeNftables } from '../fake-nftables.ts'
import { runCase } from './refusal-case.ts'
import { REFUSALS } from './refusals.ts'

test.each(REFUSALS)('$name', async (refusal) => {
  const namespace = new FakeNamespace(new FakeClock())
  const answer = await runCase(() => new FakeNftables(namespace), refusal)
  expect(answer).toEqual(refusal.refused)
  expect(namespace.dump()).toEqual([])
})
