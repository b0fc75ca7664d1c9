import { stringify } from 'yaml'
import type { Lab } from '../lab/lab.ts'
import { BRIDGE, GATEWAY, hostNet } from '../lab/plan.ts'
import type { Site } from '../lab/site.ts'
import { writeSysctls } from '../lab/sysctl.ts'
import { isAdmitted } from './evaluate.ts'
import type { PolicySet } from './policy-set.ts'
import { OUTCOME, outcomeName, type Prober, startProber } from './prober.ts'
import {
  addressed,
  allProbes,
  FAMILIES,
  PODS,
  type PolicyFamily,
  type Probe,
  type ProbeRoute,
} from './universe.ts'

/** Where every Pod reaches the node. */
const CONTROL_PORT = 9
/** Mismatches that a message lists. */
const SHOWN = 12

/** Whether a probe should be answered. */
type Expectation = (probe: Probe) => boolean

/** The Pods of the universe in a lab, with servers that answer. */
export interface PolicyLab {
  /** Tries all connections, and returns what is wrong, by the policies of a set unless `expect` says otherwise. */
  probe(set: PolicySet, ways: readonly ProbeRoute[], expect?: Expectation): Promise<Mismatches>
  /** Connections tried so far. */
  readonly probes: number
  close(): Promise<void>
}

/** What was wrong in one table; `text` is empty if nothing was. */
export interface Mismatches {
  readonly count: number
  readonly text: string
}

export async function createPolicyLab(lab: Lab): Promise<PolicyLab> {
  const namespaces = await placePods(lab)
  await forgetSoon(lab)
  const prober = await startProber({
    namespaces,
    control: {
      namespace: lab.node.namespace.name,
      ips: [GATEWAY.v4, GATEWAY.v6],
      port: CONTROL_PORT,
    },
  })
  let probes = 0
  return {
    get probes() {
      return probes
    },
    async probe(set, ways, expect = (probe) => isAdmitted(set, probe)) {
      const tried = allProbes(ways)
      probes += tried.length
      return compare(set, tried, { prober, ways, expect })
    },
    close: () => prober.close(),
  }
}

interface Comparison {
  readonly prober: Prober
  readonly ways: readonly ProbeRoute[]
  readonly expect: Expectation
}

async function compare(
  set: PolicySet,
  tried: readonly Probe[],
  { prober, ways, expect }: Comparison,
): Promise<Mismatches> {
  const expected = Uint8Array.from(tried, (probe) => (expect(probe) ? 1 : 0))
  const { outcomes, heard } = await prober.run({ ways, expected })
  const wrong = tried.flatMap((probe, index) => {
    const wanted = expected[index] === 1 ? OUTCOME.answered : OUTCOME.silent
    if (outcomes[index] === wanted) return []
    const found = `${outcomeName(outcomes[index])} ${heard.get(index) ?? ''}`.trim()
    return [`${described(probe)}: ${found}, expected ${outcomeName(wanted)}`]
  })
  if (wrong.length === 0) return { count: 0, text: '' }
  const more = wrong.length > SHOWN ? [`and ${wrong.length - SHOWN} more`] : []
  const lines = [`${set.name}: ${wrong.length} of ${tried.length} connections are wrong`]
  const text = [...lines, ...wrong.slice(0, SHOWN), ...more, stringify(set)].join('\n')
  return { count: wrong.length, text }
}

function described(probe: Probe): string {
  const { source, target, family, protocol, port, way } = probe
  const { ip, port: sent } = addressed(probe)
  const to = way === 'Pod' ? '' : ` through its Service (${ip} port ${sent})`
  return `${source.key} to ${target.key} ${protocol}/${port} IPv${family}${to}`
}

/** Gives each Pod its addresses: on the node a namespace of its own, elsewhere the world's. */
async function placePods(lab: Lab): Promise<Readonly<Record<string, string>>> {
  const namespaces: Record<string, string> = {}
  const { world } = lab
  for (const { key, ips, isLocal } of PODS) {
    if (!isLocal) {
      const added = FAMILIES.map(
        (family) => `addr add ${hostNet(ips[family])} dev lo${family === 6 ? ' nodad' : ''}`,
      )
      await world.namespace.ip(added)
      namespaces[key] = world.namespace.name
      continue
    }
    namespaces[key] = (await dualStackPod(lab, ips)).namespace.name
  }
  return namespaces
}

/** A Pod of the node with an address of each family. */
export async function dualStackPod(
  { node, pods }: Lab,
  ips: Readonly<Record<PolicyFamily, string>>,
): Promise<Site> {
  const site = await pods.at(ips[4])
  await site.namespace.ip([
    `addr add ${hostNet(ips[6])} dev eth0 nodad`,
    `route add ${hostNet(GATEWAY.v6)} dev eth0`,
    `route add default via ${GATEWAY.v6} dev eth0`,
  ])
  await node.namespace.ip([`route replace ${hostNet(ips[6])} dev ${BRIDGE}`])
  return site
}

/** Connections end at once, so that tables of many policy sets do not fill the node's table of connections. */
async function forgetSoon({ node }: Lab): Promise<void> {
  const seconds = { udp_timeout: 2, udp_timeout_stream: 2, tcp_timeout_close: 1 }
  await writeSysctls(
    node.agent,
    Object.fromEntries(
      Object.entries(seconds).map(([name, value]) => [`net/netfilter/nf_conntrack_${name}`, value]),
    ),
  )
}
