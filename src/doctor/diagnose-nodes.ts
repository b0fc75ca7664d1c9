import type { Finding } from './evidence/finding.ts'
import {
  checkOfEachNode,
  type NodeCheck,
  type NodeEvidence,
  type NodeFinding,
} from './evidence/node-check.ts'
import type { DaemonFacts, NodeFacts } from './evidence/node-facts.ts'
import { bridgeNetfilter } from './node-checks/bridge-netfilter.ts'
import { conntrackFull } from './node-checks/conntrack-full.ts'
import { differingNode } from './node-checks/differing-node.ts'
import { expiredCredential } from './node-checks/expired-credential.ts'
import { forwardingOff } from './node-checks/forwarding-off.ts'
import { interfaceMtu } from './node-checks/interface-mtu.ts'
import { lostInsertions } from './node-checks/lost-insertions.ts'
import { noLocalEndpoint } from './node-checks/no-local-endpoint.ts'
import { nodeFirewall } from './node-checks/node-firewall.ts'
import { notReady } from './node-checks/not-ready.ts'
import { packetText } from './node-checks/packet-text.ts'
import { reversePath } from './node-checks/reverse-path.ts'
import { tooManyRules } from './node-checks/too-many-rules.ts'
import { unbalancedLoad } from './node-checks/unbalanced-load.ts'
import { unusableRoute } from './node-checks/unusable-route.ts'

/** Nodes of which one can be said to differ from the others. */
const ENOUGH_NODES = 3
/** Reading all nodes may take minutes; tokens are refused for less. */
const MAX_SKEW_MS = 300_000

/** The clock of a node differs from those of the others by more than reading them takes. */
const differingClock: NodeCheck = {
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

/** Addresses of Services that are not served: claimed by another Service, or refused by the kernel. */
const unservedServices = checkOfEachNode('unserved-services', ({ daemon }) =>
  daemon === undefined
    ? []
    : [...daemon.problems.map(ofProblem), ...daemon.refusals.map(ofRefusal)],
)

/** Another process listens at a node port: its packets go to the Service instead. */
const takenNodePort = checkOfEachNode('taken-node-port', ({ takenPorts, settings }) => {
  const range = settings['net.ipv4.ip_local_port_range'] ?? ''
  const [first = 0, last = 0] = range.split(/\s+/).map(Number)
  return takenPorts.map(({ protocol, address, port, process, pid, entry }) => {
    const isEphemeral = port >= first && port <= last
    return {
      symptom: 'External access fails',
      cause: `${process} (pid ${pid}) listens at ${protocol} port ${port}, which is a node port of ${entry}`,
      evidence: [
        `socket ${address}:${port}/${protocol}`,
        ...(isEphemeral
          ? [
              `net.ipv4.ip_local_port_range = ${first} ${last}: the kernel gives such ports to processes`,
            ]
          : []),
      ],
      remedy: isEphemeral
        ? 'reserve the range of node ports, then start the process again'
        : 'give one of the two another port',
      commands: [
        `ss -lntup sport = :${port}`,
        ...(isEphemeral ? ['sysctl -w net.ipv4.ip_local_reserved_ports=30000-32767'] : []),
      ],
      services: [entry.split(':')[0] ?? ''],
    }
  })
})

/** The loadBalancerSourceRanges of a Service do not admit the client that was named. */
const sourceRanges = checkOfEachNode('source-ranges', ({ walks }) =>
  walks
    .filter(
      ({ purpose, desired, outcomes, sourceRanges: ranges }) =>
        purpose === 'fromClient' &&
        desired === 'drop' &&
        ranges.length > 0 &&
        outcomes.some(({ kind, isOwn }) => kind === 'silent' && isOwn),
    )
    .map((walk) => {
      const { service, src, outcomes } = walk
      const [namespace = '', name = ''] = service.split('/')
      const counted = outcomes[0]?.packets ?? -1
      return {
        symptom: 'External access fails',
        cause: `loadBalancerSourceRanges of service/${service} do not admit ${src}`,
        evidence: [
          `they are ${walk.sourceRanges.join(', ')}`,
          `${packetText(walk)}: dropped${counted < 0 ? '' : `, as ${counted} packets before`}`,
        ],
        remedy: "add the client's network, if it is meant to reach the Service",
        commands: [`kubectl -n ${namespace} edit service ${name}`],
        services: [service],
      }
    }),
)

/** Mode ipvs is configured, is not at work, and the kernel has not what it needs. */
const missingModules = checkOfEachNode('missing-modules', (facts) => {
  const { configuration, daemon, modules } = facts
  if (configuration?.mode !== 'ipvs' || daemon?.mode === 'ipvs') return []
  const missing = missingOf(facts)
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

/** No node-proxy answers: rules of an earlier one go stale, or nothing forwards packets to Services. */
const daemonAbsent = checkOfEachNode('daemon-absent', (facts) => {
  if (facts.daemon !== undefined) return []
  const own = facts.rules.filter(({ own: count }) => count > 0)
  if (own.length === 0 && facts.proxies.length > 0) return []
  const isStale = own.length > 0
  return [
    {
      symptom: isStale ? 'Changes do not arrive' : 'Service not reachable',
      cause: isStale
        ? 'node-proxy does not answer, but its rules are in the kernel: they go stale'
        : 'no node-proxy runs, and its rules are not in the kernel',
      evidence: [facts.daemonAbsent, ...own.map(rulesText)],
      remedy:
        'start it, or see in its log why it ends; rules without a process are removed by node-proxy --cleanup',
      commands: ['kubectl -n kube-system get pods -o wide -l app=node-proxy', 'node-proxy status'],
    },
  ]
})

const SETTING = 'net.ipv4.conf.all.route_localnet'

/** route_localnet without a rule that keeps neighbours from 127.0.0.1 (CVE-2020-8558). */
const exposedLoopback = checkOfEachNode('exposed-loopback', ({ settings, walks }) => {
  const reached = walks.filter(
    ({ purpose, outcomes }) =>
      purpose === 'toLoopback' &&
      outcomes.some(
        ({ kind, where }) => kind === 'delivered' || (kind === 'refused' && where === 'socket'),
      ),
  )
  return reached.map(({ src, inInterface, dst, port, outcomes }) => ({
    symptom: 'Services on 127.0.0.1 are exposed',
    cause: `neighbours reach services on 127.0.0.1 of this node by ${inInterface}: no rule drops their packets`,
    evidence: [
      `${SETTING} = ${settings[SETTING] ?? 'absent'}`,
      `from ${src} by ${inInterface} to ${dst} port ${port}: ${outcomes[0]?.kind ?? ''}`,
    ],
    remedy:
      'set it to 0 unless a program needs it; node-proxy sets it with a guard where iptables.localhostNodePorts is true',
    commands: [`sysctl -w ${SETTING}=0`],
  }))
})

/** Another mode is at work than configured, or `auto` found no better one than userspace. */
const wrongMode = checkOfEachNode('wrong-mode', ({ configuration, daemon, modules }) => {
  if (configuration === undefined || daemon === undefined || !configuration.isOfDaemon) return []
  const configured = configuration.mode === '' ? 'iptables' : configuration.mode
  const isFallback = configured === 'auto' && daemon.mode === 'userspace'
  if (!isFallback && (configured === 'auto' || configured === daemon.mode)) return []
  const states = ['nf_tables', 'ip_vs'].flatMap((name) =>
    modules[name] === undefined ? [] : [`module ${name}: ${modules[name]}`],
  )
  return [
    {
      symptom: configured === 'ipvs' ? 'IPVS mode has no effect' : 'Connection timeout',
      cause: isFallback
        ? 'mode auto took userspace, because the kernel offers no better one'
        : `mode ${configured} is configured, but ${daemon.mode} is at work`,
      evidence: [...states, ...daemon.warnings.slice(0, 3)],
      remedy: 'its log has one error for each thing that the kernel has not, with the remedy',
      commands: ['node-proxy status'],
    },
  ]
})

/** A backend on this node refuses connections at its port: nothing listens there. */
const backendRefuses = checkOfEachNode('backend-refuses', ({ connects }) => {
  const refusing = connects.filter(({ answer }) => answer === 'refuses')
  return [...Map.groupBy(refusing, ({ service }) => service)].map(([service, backends]) => {
    const ports = [...new Set(backends.map(({ port }) => port))]
    const all = connects.filter((one) => one.service === service).length
    const [namespace = '', name = ''] = service.split('/')
    return {
      symptom: 'Service not reachable',
      cause: `${backends.length} of ${all} backends of service/${service} on this node refuse connections at port ${ports.join(', ')}: nothing listens there`,
      evidence: backends
        .slice(0, 5)
        .map(({ ip, port }) => `${ip} port ${port}: connection refused`),
      remedy:
        'correct targetPort, or the port and address at which the program in the Pod listens (0.0.0.0, not 127.0.0.1)',
      commands: [`kubectl -n ${namespace} get service ${name} -o yaml`],
      services: [service],
    }
  })
})

/** Another Service proxy is on the node beside node-proxy, or what it left behind. */
const foreignProxy = checkOfEachNode('foreign-proxy', ({ proxies, daemon }) =>
  daemon === undefined
    ? []
    : proxies.map(({ proxy, traces, pids, remedy }) => ({
        symptom: 'Service not reachable',
        cause: `${proxy} is on this node, too: ${pids.length > 0 ? `at work (pid ${pids.join(', ')})` : 'no process of it is to be seen, so its rules are stale'}`,
        evidence: traces,
        remedy: `${remedy}; the proxy that started last decides where packets go`,
        commands: ['node-proxy status', 'iptables -t nat -S PREROUTING'],
      })),
)

/** Every check of nodes, the most far-reaching causes first: in this order findings are shown. */
export const NODE_CHECKS: readonly NodeCheck[] = [
  missingModules,
  daemonAbsent,
  expiredCredential,
  notReady,
  wrongMode,
  foreignProxy,
  forwardingOff,
  unusableRoute,
  nodeFirewall,
  conntrackFull,
  bridgeNetfilter,
  reversePath,
  interfaceMtu,
  sourceRanges,
  noLocalEndpoint,
  backendRefuses,
  takenNodePort,
  unservedServices,
  lostInsertions,
  tooManyRules,
  unbalancedLoad,
  exposedLoopback,
  differingNode,
  differingClock,
]

/** Nodes that are named one by one. */
const MAX_NAMES = 5

/**
 * What is wrong on nodes, in the order of `NODE_CHECKS`. A cause that several nodes have in the same words is one
 * finding, about the first of them. Where other nodes do not have it, the evidence names them: what differs there helps.
 */
export function diagnoseNodes(nodes: NodeEvidence): readonly Finding[] {
  return NODE_CHECKS.flatMap((check) => {
    const found = check.find(nodes)
    const groups = Map.groupBy(found, ({ cause }) => cause)
    const having = new Set(found.map(({ object }) => object))
    const others = [...nodes.keys()].filter((name) => !having.has(`node/${name}`))
    return [...groups.values()].flatMap((group) => merged(group, others))
  })
}

function merged(group: readonly Finding[], others: readonly string[]): readonly Finding[] {
  const [first, ...more] = group
  if (first === undefined) return []
  const affects = new Set([
    ...more.map(({ object }) => object),
    ...group.flatMap((one) => one.affects),
  ])
  const evidence = [
    ...first.evidence,
    ...(more.length === 0
      ? []
      : [`the same on ${more.length} more ${more.length === 1 ? 'node' : 'nodes'}`]),
    ...(others.length === 0 ? [] : [`not so on ${namesOf(others)}`]),
  ]
  return [{ ...first, affects: [...affects], evidence }]
}

function namesOf(nodes: readonly string[]): string {
  const names = nodes.slice(0, MAX_NAMES).join(', ')
  return nodes.length > MAX_NAMES ? `${names} and ${nodes.length - MAX_NAMES} more nodes` : names
}

function rulesText({ program, own }: NodeFacts['rules'][number]): string {
  return `${own} rules of node-proxy are listed by ${program}`
}

/** Without IPVS its module is missing, whatever is known of it; of others what is not known may be there. */
function missingOf({ configuration, modules, hasIpvs }: NodeFacts): readonly string[] {
  const isKnownMissing = (name: string) => ['absent', 'loadable'].includes(modules[name] ?? '')
  const others = [`ip_vs_${configuration?.scheduler || 'rr'}`, 'ip_set', 'xt_set']
  return [...(hasIpvs ? [] : ['ip_vs']), ...others.filter(isKnownMissing)]
}

function ofProblem({ entry, code, message }: DaemonFacts['problems'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `${entry} is not served whole: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: [`node-proxy entries ${entry.split(':')[0] ?? ''}`],
    services: [entry.split(':')[0] ?? ''],
  }
}

function ofRefusal({ object, code, message }: DaemonFacts['refusals'][number]): NodeFinding {
  return {
    symptom: 'Service not reachable',
    cause: `the kernel refuses ${object}: ${message}`,
    evidence: [code],
    remedy: `the row of ${code} in docs/errors.md`,
    commands: ['node-proxy status'],
  }
}
