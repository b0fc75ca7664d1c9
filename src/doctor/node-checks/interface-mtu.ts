import { checkOfEachNode, type NodeFinding } from '../evidence/finding.ts'
import type { InterfaceFacts, NodeFacts } from '../evidence/node-facts.ts'

/** Bytes that a tunnel adds to a packet over IPv4; over IPv6 twenty more. */
const OVERHEAD: Readonly<Record<string, number>> = {
  vxlan: 50,
  geneve: 50,
  gretap: 38,
  gre: 24,
  ipip: 20,
}
const MORE_IN_IPV6 = 20

/**
 * An interface whose MTU is larger than that of the next one. Either no ICMP error is sent (a bridge with a larger MTU
 * than its port, a tunnel whose packets do not fit into the device below), or firewalls drop the error (an uplink with
 * a smaller MTU than the interfaces of Pods).
 */
export const interfaceMtu = checkOfEachNode('interface-mtu', (facts) => {
  const up = facts.interfaces.filter(({ isUp, mtu }) => isUp && mtu > 0)
  const byName = new Map(up.map((one) => [one.name, one]))
  return [
    ...bridges(up, byName),
    ...up.flatMap((tunnel) => ofTunnel(tunnel, byName)),
    ...ofUplink(facts, byName),
  ]
})

function ofUplink(
  { uplink: name, localBackends }: NodeFacts,
  byName: ByName,
): readonly NodeFinding[] {
  const uplink = byName.get(name)
  const larger = localBackends.flatMap((one) => {
    const found = byName.get(one.interface)
    return found !== undefined && uplink !== undefined && found.mtu > uplink.mtu ? [found] : []
  })
  const [first] = larger
  if (uplink === undefined || first === undefined) return []
  return [
    {
      symptom: 'Connection timeout',
      cause: `the uplink ${name} has MTU ${uplink.mtu}, and Pods send packets of up to ${first.mtu}: larger ones leave only where the ICMP error of this node reaches the Pod`,
      evidence: [
        `${name}: MTU ${uplink.mtu}`,
        ...larger.slice(0, 5).map((one) => `${one.name}, to Pods of this node: MTU ${one.mtu}`),
      ],
      remedy:
        'give Pods the MTU of the uplink in the network plugin (it takes effect for new Pods), or set that of the uplink right',
      commands: ['ip -d link', `ip link set ${name} mtu ${first.mtu}`],
    },
  ]
}

type ByName = ReadonlyMap<string, InterfaceFacts>

function bridges(up: readonly InterfaceFacts[], byName: ByName): readonly NodeFinding[] {
  const small = up.filter(({ master, mtu }) => {
    const bridge = byName.get(master)
    return bridge?.kind === 'bridge' && bridge.mtu > mtu
  })
  return [...Map.groupBy(small, ({ master }) => master)].map(([name, ports]) => {
    const mtu = byName.get(name)?.mtu ?? 0
    const least = Math.min(...ports.map((one) => one.mtu))
    return {
      symptom: 'Connection timeout',
      cause: `the bridge ${name} has MTU ${mtu}, but ${ports.length} of its ports have less: larger packets to them are lost without an error`,
      evidence: ports.slice(0, 5).map((port) => `${port.name}: MTU ${port.mtu}`),
      remedy: 'give the bridge and all its ports the MTU of the network plugin',
      commands: [`ip link set ${name} mtu ${least}`, 'ip -d link'],
    }
  })
}

function ofTunnel(tunnel: InterfaceFacts, byName: ByName): readonly NodeFinding[] {
  const overhead = OVERHEAD[tunnel.kind]
  const lower = byName.get(tunnel.lower)
  if (overhead === undefined || lower === undefined) return []
  const added = overhead + (tunnel.isTunnelV6 ? MORE_IN_IPV6 : 0)
  if (tunnel.mtu + added <= lower.mtu) return []
  const fit = lower.mtu - added
  return [
    {
      symptom: 'Connection timeout',
      cause: `the tunnel ${tunnel.name} has MTU ${tunnel.mtu}, but ${lower.name} below carries ${fit}: larger packets to other nodes are lost`,
      evidence: [
        `${tunnel.name}: ${tunnel.kind}, MTU ${tunnel.mtu}, adds ${added} bytes`,
        `${lower.name}: MTU ${lower.mtu}`,
      ],
      remedy:
        'set the MTU of the network plugin to what the uplink carries, less what the tunnel adds',
      commands: [`ip link set ${tunnel.name} mtu ${fit}`],
    },
  ]
}
