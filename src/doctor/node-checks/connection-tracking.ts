import { checkOfEachNode, type NodeFinding } from '../evidence/finding.ts'
import type { CounterFacts, NodeFacts } from '../evidence/node-facts.ts'

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

/** More failed insertions per second than this do not happen by chance. */
const MANY_A_SECOND = 10

/**
 * First packets that are lost because two packets claim the same conntrack entry: either two clients got the same
 * source port, or one socket sent two packets at once (mostly DNS lookups over UDP), and the kernel does not resolve
 * the clash.
 */
export const lostInsertions = checkOfEachNode('lost-insertions', ({ counters, masquerades }) => {
  if (counters === undefined || counters.seconds <= 0) return []
  const { before, after, seconds } = counters
  const lost = after.insertFailed - before.insertFailed
  if (lost < MANY_A_SECOND * seconds) return []
  const { evidence, ...wrong } = portFinding(masquerades) ?? clashFinding(before, after)
  const cause = `connection tracking loses first packets, ${lost} in ${seconds} s: ${wrong.cause}`
  const grown = `insert_failed grew from ${before.insertFailed} to ${after.insertFailed}`
  return [{ ...wrong, cause, evidence: [grown, ...evidence] }]
})

/** The finding about a rule that keeps the source ports of clients, or has few ports. */
function portFinding([first, ...others]: NodeFacts['masquerades']): NodeFinding | undefined {
  if (first === undefined) return undefined
  return {
    symptom: 'Connection timeout',
    cause: `a rule gives several of them one source port: ${first.where}: ${first.rule}`,
    evidence: [first, ...others.slice(0, 2)].map(
      ({ where, packets }) =>
        `${where} does not choose source ports at random${packets < 0 ? '' : `; it has counted ${packets} connections so far`}`,
    ),
    remedy:
      'let that rule choose source ports at random (--random-fully; in nftables, fully-random), from the whole range',
    commands: ['conntrack -S', listCommand(first.where)],
  }
}

/** `where`: `nft FAMILY TABLE …`, or `iptables-nft TABLE CHAIN`. */
function listCommand(where: string): string {
  const [program = '', second = '', third = ''] = where.split(' ')
  return program === 'nft'
    ? `nft -a list table ${second} ${third}`
    : `${program} -t ${second} -vnL ${third}`
}

function clashFinding(before: CounterFacts, after: CounterFacts): NodeFinding {
  if (after.clashesResolved >= 0) {
    return {
      symptom: 'Connection timeout',
      cause: 'masqueraded connections to one backend claim the same source port, or none is free',
      evidence: [
        'each rule that masquerades chooses source ports at random',
        `this kernel loses none of two packets of one socket (clash_resolve grew by ${after.clashesResolved - before.clashesResolved})`,
      ],
      remedy:
        'look for the backend to which most connections are tracked, beyond 60,000: add further backends, let clients keep their connections, or shorten the timeouts of conntrack',
      commands: ['conntrack -S', 'conntrack -C'],
    }
  }
  return {
    symptom: 'DNS resolution fails',
    cause: 'two packets of one socket at once, as resolvers send A and AAAA',
    evidence: ['this kernel does not resolve it: it does not count clash_resolve'],
    remedy:
      'let resolvers of Pods use one socket for each question (options single-request-reopen) or TCP, or a cache of names on the node; or a kernel from 5.10 on',
    commands: ['conntrack -S', 'watch -n1 conntrack -S'],
  }
}
