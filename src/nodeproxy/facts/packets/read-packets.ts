import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { WalkWorld } from '../../../explain/walk/walk-packet.ts'
import { arrivalInterface } from '../../../explain/world/first-hop.ts'
import type { InspectionClient } from '../../../inspection/client/inspection-client.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { DesiredRules } from '../../explanation/desired-state.ts'
import type { NodeSource } from '../kernel/node-source.ts'
import { chooseProbes, type Senders } from './choose-probes.ts'
import { connectBackends } from './connect-backends.ts'
import { countLocalBackends } from './local-backends.ts'
import { nodeAddresses, outsideSources, podSources } from './packet-sources.ts'
import type { SampledEntries } from './sampled-entries.ts'
import { walkProbes } from './walk-probes.ts'

/** Pods that packets may come from. */
const MAX_PODS = 8

/** What is known of the node when its packets are followed. */
export interface KnownNode {
  readonly source: Pick<NodeSource, 'run'>
  readonly client: InspectionClient
  readonly sample: SampledEntries
  readonly rules: DesiredRules
  readonly world: WalkWorld
}

/** What is wanted of them. */
export interface PacketOptions {
  readonly uplink: string
  readonly connects: boolean
  readonly client: IpAddress | undefined
}

/** What becomes of packets to a sample of Services. */
export async function readPackets(
  known: KnownNode,
  options: PacketOptions,
): Promise<Pick<NodeFacts, 'walks' | 'connects' | 'localBackends'>> {
  const { sample, world, client, rules } = known
  const backends = [...sample.localBackends.values()]
  const probes = chooseProbes(sample, await findSenders(known, options), rules)
  return {
    walks: await walkProbes(probes, { world, client, now: () => performance.now() }),
    localBackends: await countLocalBackends(world.routing, backends),
    connects: options.connects ? await connectBackends(backends) : [],
  }
}

async function findSenders(
  { source, sample, world }: KnownNode,
  { uplink, client }: PacketOptions,
): Promise<Senders> {
  const { run } = source
  const { routing } = world
  const [outside4, outside6, node4, node6] = await Promise.all([
    outsideSources(run, routing, 4),
    outsideSources(run, routing, 6),
    nodeAddresses(run, uplink, 4),
    nodeAddresses(run, uplink, 6),
  ])
  const inInterface = client === undefined ? '' : await arrivalInterface(routing, client)
  return {
    pods: await podSources(routing, sample.localBackends.values(), MAX_PODS),
    outside: [...outside4, ...outside6],
    node: [...node4, ...node6],
    client: client === undefined || !inInterface ? undefined : { src: client, inInterface },
  }
}
