import { expect, test } from 'vitest'
import { runInside } from '../interfaces/run-inside.ts'

const REFUSED = 'NP_IPTABLES_REFUSED'
const fine = { refused: [], uncertain: false }

const common = {
  'a rule that iptables cannot read': {
    refused: [`${REFUSED} s7`],
    uncertain: false,
    served: [1, 6, 7, 8, 60],
    drift: [],
  },
  corrected: { ...fine, served: [7] },
  'rules that the kernel refuses': {
    refused: expect.toSatisfy(
      (refused: readonly string[]) =>
        refused.toSorted().join() === `${REFUSED} s40,${REFUSED} s41,${REFUSED} s9`,
    ),
    uncertain: false,
    changed: 57,
  },
  'accepted later': { ...fine, drift: [] },
  'a chain that a foreign rule leads to': {
    refused: [`${REFUSED} 4/nat/NPROXY-C-…`],
    uncertain: false,
    left: 1,
    drift: [],
  },
  'let go': { ...fine, left: 0 },
  'too slow': { codes: ['NP_IPTABLES_TIMEOUT'], uncertain: true },
  'with time': { ...fine, served: [98], drift: [] },
}

const withLock = {
  ...common,
  'another process holds the lock': {
    refused: [
      'NP_IPTABLES_LOCKED late',
      'NP_IPTABLES_LOCKED 4/nat/NPROXY-VIPS',
      'NP_IPTABLES_LOCKED 4/filter/NPROXY-FILTER-VIPS',
    ],
    // Of two tables the first one may have been written.
    uncertain: true,
  },
  'the lock is free': { ...fine, served: [99] },
}

/** One bad object never holds up another, whatever the words of iptables are. */
test.each([
  ['nft', common],
  ['legacy', withLock],
])('refusals of %s are blamed on their object and tried again', async (backend, expected) => {
  expect(await runInside('../modes/refusals.script.ts', { args: [backend] })).toEqual(expected)
})
