import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stateOf } from '../../../test/support/modes/fake-nftables-node.ts'
import { strayClients } from '../../../test/support/modes/nftables-histories/clients.ts'
import { freshKernel, History } from '../../../test/support/modes/nftables-histories/run-history.ts'
import { someHistory } from '../../../test/support/modes/nftables-histories/some-step.ts'
import type { Family } from '../../lib/ip.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 2_000)

const someFamilies = fc.constantFrom<readonly Family[]>([4], [4], [4], [6], [4, 6])

test(`any of ${HISTORIES} histories ends in the kernel state of a fresh start`, async () => {
  await fc.assert(
    fc.asyncProperty(someFamilies, someHistory, async (families, steps) => {
      const { namespace, entries, isSettled } = await new History(families).run(steps)
      const fresh = await freshKernel(families, entries)
      expect(stateOf(namespace)).toEqual(stateOf(fresh))
      expect(strayClients(namespace)).toEqual([])
      expect(isSettled).toBe(true)
    }),
    { numRuns: HISTORIES },
  )
}, 900_000)
