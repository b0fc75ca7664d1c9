import { expect, test } from 'vitest'
import { runInside } from '../interfaces/run-inside.ts'

const clean = { status: 0, errors: [], left: 0, foreign: [true, true] }

test.each([
  ['nothing', '', ''],
  ['rules of nft', 'nft', ''],
  ['rules of legacy', 'legacy', ''],
  ['rules of both, with sets that both name', 'nft,legacy', ''],
  ['rules of nft where there is no legacy', 'nft', 'iptables-legacy'],
  ['rules of legacy where there is no nft', 'legacy', 'iptables-nft'],
])('clean-up finds %s and leaves nothing of it', async (_, made, absent) => {
  const report = await runInside('../modes/clean-up.script.ts', { args: [made, absent] })
  expect(report).toMatchObject(clean)
})

test('a legacy variant that no program used is not even loaded', async () => {
  const report = await runInside('../modes/clean-up.script.ts', { args: ['nft', ''] })
  expect(report).toMatchObject({ legacyUntouched: true })
})
