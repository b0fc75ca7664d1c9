import { checkOfEachNode } from '../evidence/node-check.ts'
import type { CounterFacts } from '../evidence/node-facts.ts'

/** The part of the table from which on it counts as full, because the kernel will soon drop connections. */
const FULL = 0.95

/** The connection tracking table is full, or the kernel drops connections because it was. */
export const conntrackFull = checkOfEachNode('conntrack-full', ({ conntrack, counters }) => {
  if (conntrack === undefined) return []
  const { count, max } = conntrack
  const dropped =
    counters === undefined ? 0 : fullDrops(counters.after) - fullDrops(counters.before)
  const early = counters === undefined ? 0 : counters.after.earlyDrop - counters.before.earlyDrop
  const isFull = max > 0 && count >= max * FULL
  if (!isFull && dropped <= 0 && early <= 0) return []
  return [
    {
      symptom: 'Connection timeout',
      cause: `the connection tracking table is full: ${count} of ${max} entries`,
      evidence: [
        `net.netfilter.nf_conntrack_count = ${count}, nf_conntrack_max = ${max}`,
        ...(counters === undefined
          ? []
          : [
              `in ${counters.seconds} s ${dropped} packets were dropped and ${early} connections ended early; since the start ${fullDrops(counters.after)} and ${counters.after.earlyDrop}`,
            ]),
      ],
      remedy:
        'raise conntrack.maxPerCore or conntrack.min of node-proxy (or nf_conntrack_max), and find what opens so many connections',
      commands: [
        'conntrack -S',
        `sysctl -w net.netfilter.nf_conntrack_max=${Math.max(max * 2, 131_072)}`,
        "conntrack -L | awk '{print $4, $5}' | sort | uniq -c | sort -rn | head",
      ],
    },
  ]
})

/** Packets dropped because the table was full: `drop` less the insertions that failed for another reason. */
function fullDrops({ drop, insertFailed }: CounterFacts): number {
  return Math.max(0, drop - insertFailed)
}
