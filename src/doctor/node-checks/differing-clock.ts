import type { NodeCheck } from '../evidence/node-check.ts'

/** The fewest nodes among which one can be called different from the others. */
const ENOUGH_NODES = 3
/** Reading all nodes may take minutes, so a smaller skew cannot be measured, although it may make tokens invalid. */
const MAX_SKEW_MS = 300_000

/** The clock of a node differs from those of the others by more than reading them takes. */
export const differingClock: NodeCheck = {
  name: 'differing-clock',
  find(nodes) {
    if (nodes.size < ENOUGH_NODES) return []
    const times = [...nodes.values()].map(({ at }) => at).toSorted((a, b) => a - b)
    const middle = times[Math.floor(times.length / 2)] ?? 0
    return [...nodes]
      .filter(([, { at }]) => Math.abs(at - middle) > MAX_SKEW_MS)
      .map(([node, { at }]) => ({
        ...({
          check: 'differing-clock',
          symptom: 'Changes do not arrive',
          object: `node/${node}`,
        } as const),
        affects: [],
        cause: `its clock is ${Math.round(Math.abs(at - middle) / 1_000)} s ${at < middle ? 'behind' : 'ahead of'} the other nodes`,
        evidence: [
          `${new Date(at).toISOString()} there, ${new Date(middle).toISOString()} on most nodes`,
        ],
        remedy: 'repair its time service: certificates and tokens are refused by a wrong clock',
        commands: ['timedatectl', 'chronyc tracking'],
      }))
  },
}
