import { checkOfEachNode, type NodeFinding } from '../evidence/finding.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'
import { packetText } from './lost-packets.ts'

const CALLS_IPTABLES = 'net.bridge.bridge-nf-call-iptables'

/** Pods of one bridge answer each other without passing the rules, so that translated addresses stay untranslated. */
export const bridgeNetfilter = checkOfEachNode('bridge-netfilter', (facts) => {
  const { daemon, configuration, settings, modules, interfaces } = facts
  if (daemon === undefined || daemon.mode === 'userspace' || settings[CALLS_IPTABLES] === '1')
    return []
  if (configuration?.masqueradeAll === true) return []
  const ports = Map.groupBy(interfaces, ({ master }) => master)
  const backendBridges = facts.localBackends.flatMap(({ interface: name, count }) => {
    const isBridge = interfaces.some((one) => one.name === name && one.kind === 'bridge')
    const pods = ports.get(name)?.length ?? 0
    return isBridge && pods > 1 ? [{ name, count, pods }] : []
  })
  if (backendBridges.length === 0) return []
  const value = settings[CALLS_IPTABLES]
  return [
    {
      symptom: 'Connection timeout',
      cause:
        'bridged packets bypass the rules: Pods of one bridge do not reach each other through a Service',
      evidence: [
        value === undefined
          ? `${CALLS_IPTABLES} is absent: module br_netfilter is ${modules['br_netfilter'] ?? 'not loaded'}`
          : `${CALLS_IPTABLES} = ${value}`,
        ...backendBridges.map(
          ({ name, count, pods }) =>
            `bridge ${name} has ${pods} ports; ${count} backends are behind it`,
        ),
      ],
      remedy: 'load br_netfilter and set it; or set iptables.masqueradeAll',
      commands: ['modprobe br_netfilter', `sysctl -w ${CALLS_IPTABLES}=1`],
    },
  ]
})

const ROUTE_LOCALNET = 'net.ipv4.conf.all.route_localnet'

type Walk = NodeFacts['walks'][number]
type WalkEnd = Walk['outcomes'][number]

/** The walks with an outcome that passes the test, which is their `end`. */
function endingIn(
  walks: readonly Walk[],
  isEnd: (end: WalkEnd) => boolean,
): readonly (Walk & { readonly end: WalkEnd })[] {
  return walks.flatMap((walk) => {
    const end = walk.outcomes.find(isEnd)
    return end === undefined ? [] : [{ ...walk, end }]
  })
}

/** route_localnet without a rule that keeps neighbours from 127.0.0.1 (CVE-2020-8558). */
export const exposedLoopback = checkOfEachNode('exposed-loopback', ({ settings, walks }) => {
  const reached = endingIn(
    walks.filter(({ purpose }) => purpose === 'toLoopback'),
    ({ kind, where }) => kind === 'delivered' || (kind === 'refused' && where === 'socket'),
  )
  return reached.map(({ src, inInterface, dst, port, end }) => ({
    symptom: 'Services on 127.0.0.1 are exposed',
    cause: `neighbours reach services on 127.0.0.1 of this node by ${inInterface}: no rule drops their packets`,
    evidence: [
      `${ROUTE_LOCALNET} = ${settings[ROUTE_LOCALNET] ?? 'absent'}`,
      `from ${src} by ${inInterface} to ${dst} port ${port}: ${end.kind}`,
    ],
    remedy:
      'set it to 0 unless a program needs it; node-proxy sets it with a guard where iptables.localhostNodePorts is true',
    commands: [`sysctl -w ${ROUTE_LOCALNET}=0`],
  }))
})

/** Settings of each family, and how its addresses are recognised. */
const FAMILIES = [
  { setting: 'net.ipv4.ip_forward', family: 'IPv4', isOf: (ip: string) => ip.includes('.') },
  {
    setting: 'net.ipv6.conf.all.forwarding',
    family: 'IPv6',
    isOf: (ip: string) => ip.includes(':'),
  },
] as const

/** The node does not forward packets of a family, or not those of one interface: Pods reach no backend elsewhere. */
export const forwardingOff = checkOfEachNode('forwarding-off', (facts) => {
  if (facts.daemon === undefined || facts.daemon.mode === 'userspace') return []
  const off = FAMILIES.filter(({ setting }) => facts.settings[setting] === '0').filter(({ isOf }) =>
    facts.walks.some(({ dst, service }) => service !== '' && isOf(dst)),
  )
  return off.length > 0 ? off.map(ofNode) : ofInterfaces(facts)
})

function ofNode({ setting, family }: (typeof FAMILIES)[number]): NodeFinding {
  return {
    symptom: 'Connection timeout',
    cause: `the node does not forward ${family}: ${setting} is 0`,
    evidence: [`${setting} = 0`, 'only processes of the node itself reach backends elsewhere'],
    remedy: 'set it, and in /etc/sysctl.d so that it stays; find the program that reset it',
    commands: [`sysctl -w ${setting}=1`],
  }
}

function ofInterfaces({ walks }: NodeFacts): readonly NodeFinding[] {
  const dropped = endingIn(
    walks.filter(({ desired }) => desired === 'deliver'),
    ({ text }) => DOES_NOT_FORWARD.test(text),
  )
  if (dropped.length === 0) return []
  const names = [...new Set(dropped.map(({ inInterface }) => inInterface))]
  return [
    {
      symptom: 'Connection timeout',
      cause: `the node does not forward packets that come in by ${names.join(', ')}`,
      evidence: dropped.slice(0, 3).map(({ src, end }) => `from ${src}: ${end.text}`),
      remedy: 'set forwarding of the interface; find the program that reset it',
      commands: names.map((name) => `sysctl -w net/ipv4/conf/${name}/forwarding=1`),
      services: dropped.map(({ service }) => service),
    },
  ]
}

/** Matches the text of explain. */
const DOES_NOT_FORWARD = /does not forward/

const STRICT = 1

/** Strict rp_filter drops packets whose answers would leave by another interface. */
export const reversePath = checkOfEachNode('reverse-path', ({ counters, interfaces, walks }) => {
  const strict = interfaces.filter(({ rpFilter, isUp }) => rpFilter === STRICT && isUp)
  const grown =
    counters === undefined ? 0 : counters.after.reversePath - counters.before.reversePath
  const dropped = walks.filter(({ outcomes }) =>
    outcomes.some(({ where, text }) => where === 'route' && text.includes('rp_filter')),
  )
  if (dropped.length === 0 && (grown <= 0 || strict.length === 0)) return []
  const names = strict.map(({ name }) => name)
  return [
    {
      symptom: 'Connection timeout',
      cause: `rp_filter is strict on ${names.slice(0, 5).join(', ')}, and drops packets whose answers leave by another interface`,
      evidence: [
        ...(counters === undefined
          ? []
          : [
              `IPReversePathFilter grew by ${grown} in ${counters.seconds} s, to ${counters.after.reversePath}`,
            ]),
        ...dropped.slice(0, 3).map(packetText),
      ],
      remedy:
        'set it to 2 (loose) where clients come in by one interface and answers leave by another',
      commands: ['sysctl -w net.ipv4.conf.all.rp_filter=2', 'nstat -az TcpExtIPReversePathFilter'],
      services: dropped.map(({ service }) => service).filter((one) => one !== ''),
    },
  ]
})

/** Mode ipvs is configured, but is not active, because the kernel does not have what it needs. */
export const missingModules = checkOfEachNode('missing-modules', (facts) => {
  const { configuration, daemon, modules } = facts
  if (configuration?.mode !== 'ipvs' || daemon?.mode === 'ipvs') return []
  const missing = modulesOf(facts)
  if (missing.length === 0) return []
  const atWork =
    daemon === undefined ? 'node-proxy does not run' : `the mode at work is ${daemon.mode}`
  return [
    {
      symptom: 'IPVS mode has no effect',
      cause: `mode ipvs is configured, but the kernel has not ${missing.join(', ')}`,
      evidence: [atWork, ...missing.map((name) => `module ${name}: ${modules[name] ?? 'unknown'}`)],
      remedy:
        'load the modules on the host (absent ones: boot a kernel that has them, or install its modules), then start node-proxy again; or set mode auto, which takes the best mode that works',
      commands: [`modprobe -a ${missing.join(' ')}`],
    },
  ]
})

/** Without IPVS in the kernel, ip_vs is missing, even if its state is unknown. Others of unknown state may be there. */
function modulesOf({ configuration, modules, hasIpvs }: NodeFacts): readonly string[] {
  const isKnownMissing = (name: string) => ['absent', 'loadable'].includes(modules[name] ?? '')
  const others = [`ip_vs_${configuration?.scheduler || 'rr'}`, 'ip_set', 'xt_set']
  return [...(hasIpvs ? [] : ['ip_vs']), ...others.filter(isKnownMissing)]
}
