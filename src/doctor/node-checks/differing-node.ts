import type { Finding, NodeCheck, NodeEvidence } from '../evidence/finding.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** The fewest nodes among which one can be called different from the others. */
const ENOUGH_NODES = 3

/** One value of a node that should be equal on all of them. */
interface Compared {
  readonly what: string
  readonly symptom: Finding['symptom']
  readonly remedy: string
  /** Undefined: not known. */
  readonly valueOf: (facts: NodeFacts) => string | undefined
}

const COMPARED: readonly Compared[] = [
  {
    what: 'mode at work',
    symptom: 'Connection timeout',
    remedy:
      'give all nodes the same configuration; node-proxy status there says why its mode differs',
    valueOf: ({ daemon }) => daemon?.mode,
  },
  {
    what: 'version',
    symptom: 'Service not reachable',
    remedy: 'finish the roll-out of node-proxy, or see why this node keeps another version',
    valueOf: ({ daemon, version }) => (daemon === undefined ? undefined : version),
  },
  {
    what: 'MTU of the uplink',
    symptom: 'Connection timeout',
    remedy:
      'give the uplinks of one network the same MTU: larger packets to the node with less are lost',
    valueOf: ({ interfaces, uplink }) => {
      const found = interfaces.find(({ name }) => name === uplink)
      return found === undefined ? undefined : String(found.mtu)
    },
  },
]

/** A value of a node that differs from the value of nearly all others. */
export const differingNode: NodeCheck = {
  name: 'differing-node',
  find: (nodes) =>
    nodes.size < ENOUGH_NODES
      ? []
      : [...COMPARED, ...settingsOf(nodes)].flatMap((compared) => differing(nodes, compared)),
}

/** The settings of running node-proxies that should be alike. */
function settingsOf(nodes: NodeEvidence): readonly Compared[] {
  const paths = [...nodes.values()].flatMap(({ configuration }) =>
    Object.keys(configuration?.shared ?? {}),
  )
  return [...new Set(paths)].map((path) => ({
    what: path,
    symptom: 'Connection timeout',
    remedy:
      'give all nodes the same configuration; node-proxy status there says if a file is refused',
    valueOf: ({ configuration }) => configuration?.shared[path],
  }))
}

function differing(nodes: NodeEvidence, { valueOf, ...compared }: Compared): readonly Finding[] {
  const known = [...nodes].flatMap(([node, facts]) => {
    const value = valueOf(facts)
    return value === undefined ? [] : [{ node, value }]
  })
  const groups = [...Map.groupBy(known, ({ value }) => value)]
  const [usual, members = []] = groups.toSorted(([, a], [, b]) => b.length - a.length)[0] ?? []
  if (usual === undefined || members.length * 2 <= known.length) return []
  return known
    .filter(({ value }) => value !== usual)
    .map(({ node, value }) => ({
      check: differingNode.name,
      symptom: compared.symptom,
      object: `node/${node}`,
      affects: [],
      cause: `its ${compared.what} is ${value}; ${members.length} of ${known.length} nodes have ${usual}`,
      evidence: members.slice(0, 3).map((one) => `${one.node}: ${one.value}`),
      remedy: compared.remedy,
      commands: ['node-proxy facts'],
    }))
}

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
        check: 'differing-clock',
        symptom: 'Changes do not arrive' as const,
        object: `node/${node}`,
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
