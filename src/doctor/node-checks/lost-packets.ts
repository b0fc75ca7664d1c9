import { hostPort } from '../../lib/ip.ts'
import { checkOfEachNode, type NodeFinding } from '../evidence/finding.ts'
import type { WalkFacts, WalkOutcomeFacts } from '../evidence/node-facts.ts'

/** Chains that enforce network policies, whose drops are intended. */
const POLICIES =
  /\b(cali-|KUBE-NWPLCY|KUBE-POD-FW|KUBE-ROUTER|WEAVE-NPC|CILIUM_|ANTREA-|kube-network-policies)/
const BY_RULE = /^(ip6?tables|nft)/

/** A rule of another program drops or refuses packets that node-proxy wants to be delivered. */
export const nodeFirewall = checkOfEachNode('node-firewall', ({ walks }) => {
  const wanted = walks.filter(({ desired }) => desired === 'deliver')
  const named = [...new Set(wanted.filter(isStopped).map(ruleOf))]
  return named.map((key) => {
    const stopped = wanted.filter((walk) => isStopped(walk) && ruleOf(walk) === key)
    return firewallFinding(stopped)
  })

  /**
   * Whether a rule of another program stops the packet. A packet from outside counts only if those of all senders to the
   * same destination are stopped, because a firewall that admits some clients is intended.
   */
  function isStopped(walk: WalkFacts): boolean {
    if (blocking(walk) === undefined) return false
    if (walk.purpose !== 'fromOutside') return true
    return wanted
      .filter(
        ({ purpose, dst, port, protocol }) =>
          purpose === 'fromOutside' &&
          dst === walk.dst &&
          port === walk.port &&
          protocol === walk.protocol,
      )
      .every((other) => blocking(other) !== undefined)
  }
})

function blocking({ outcomes }: WalkFacts): WalkOutcomeFacts | undefined {
  return outcomes.find(
    ({ kind, where, rule, isOwn }) =>
      (kind === 'silent' || kind === 'refused') &&
      BY_RULE.test(where) &&
      !isOwn &&
      !POLICIES.test(`${where} ${rule}`),
  )
}

function ruleOf(walk: WalkFacts): string {
  const { where = '', rule = '' } = blocking(walk) ?? {}
  return `${where} ${rule}`
}

function firewallFinding(stopped: readonly WalkFacts[]): NodeFinding {
  const [first] = stopped
  const rule = first && blocking(first)
  const isFromPod = stopped.some(({ purpose }) => purpose === 'fromPod' || purpose === 'fromNode')
  const { where = '', rule: text = '', kind = 'silent', packets = -1 } = rule ?? {}
  return {
    symptom: isFromPod ? 'Service IP unreachable' : 'External access fails',
    cause: `a rule of another program ${kind === 'refused' ? 'refuses' : 'drops'} packets to Services: ${where}: ${text}`,
    evidence: [
      packets < 0 ? 'the rule has no counter' : `the rule has counted ${packets} packets so far`,
      ...stopped.slice(0, 5).map((walk) => `${packetText(walk)}: ${blocking(walk)?.kind ?? ''}`),
    ],
    remedy: isFromPod
      ? 'let the firewall accept what is forwarded to and from Pods'
      : 'let the firewall accept the node ports (30000-32767) and what is forwarded to Pods, if clients outside are meant to reach them',
    commands: commandsOf(where, first),
    services: stopped.map(({ service }) => service),
  }
}

function commandsOf(where: string, walk: WalkFacts | undefined): readonly string[] {
  const [program = '', table = '', chain = ''] = where.split(' ')
  const list =
    program === 'nft'
      ? `nft -a list table ${where.split(' ').slice(1, 3).join(' ')}`
      : `${program} -t ${table} -vnL ${chain}`
  if (walk === undefined) return [list]
  const { src, dst, port, protocol } = walk
  const ofProtocol = protocol === 'TCP' ? '' : ` --protocol ${protocol.toLowerCase()}`
  const packet = `${src === '' ? 'node' : src} ${hostPort(dst, port)}${ofProtocol}`
  return [list, `node-proxy explain ${packet}`]
}

/** `from 10.0.0.2 by cbr0 to 172.30.0.1:80 (clusterIP of shop/web)`. */
export function packetText({ src, inInterface, dst, port, frontend, service }: WalkFacts): string {
  const from = src === '' ? 'from the node' : `from ${src} by ${inInterface}`
  return `${from} to ${hostPort(dst, port)}${service === '' ? '' : ` (${frontend} of ${service})`}`
}

/**
 * Clients send packets to a Service with policy Local that has no endpoint on this node. Nodes without an endpoint are
 * normal, so this is a finding only if packets arrive nevertheless, or for a client that the user named.
 */
export const noLocalEndpoint = checkOfEachNode('no-local-endpoint', ({ walks }) => {
  const found = walks.filter(
    ({ purpose, desired, sourceRanges, outcomes }) =>
      desired === 'drop' &&
      outcomes.some(isOwnDrop) &&
      ((purpose === 'noLocalEndpoint' && outcomes.some(({ packets }) => packets > 0)) ||
        (purpose === 'fromClient' && sourceRanges.length === 0)),
  )
  const byService = new Map(found.map((walk) => [walk.service, walk]))
  return [...byService.values()].map((walk) => ({
    symptom: 'External access fails',
    cause: `service/${walk.service} has externalTrafficPolicy Local and no endpoint on this node, but clients come here`,
    evidence: [packetText(walk), ...countersOf(walk.outcomes)],
    remedy:
      'let the load balancer send only to nodes whose health check node port answers 200, run a backend on each node, or set the policy Cluster',
    commands: [`node-proxy entries ${walk.service}`],
    services: [walk.service],
  }))
})

function countersOf(outcomes: readonly { readonly packets: number; readonly rule: string }[]) {
  return outcomes
    .filter(({ packets }) => packets >= 0)
    .map(({ packets, rule }) => `${rule} has dropped ${packets} packets so far`)
}

function isOwnDrop({ kind, isOwn }: WalkOutcomeFacts): boolean {
  return kind === 'silent' && isOwn
}

/** The loadBalancerSourceRanges of a Service do not admit the client that was named. */
export const refusedClient = checkOfEachNode('source-ranges', ({ walks }) =>
  walks
    .filter(
      ({ purpose, desired, outcomes, sourceRanges: ranges }) =>
        purpose === 'fromClient' &&
        desired === 'drop' &&
        ranges.length > 0 &&
        outcomes.some(isOwnDrop),
    )
    .map((walk) => {
      const { service, src, outcomes } = walk
      const [namespace = '', name = ''] = service.split('/')
      const counted = outcomes.find(isOwnDrop)?.packets ?? -1
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

/** No route leads to a backend, or a route or policy rule discards its packets. */
export const unusableRoute = checkOfEachNode('unusable-route', ({ walks }) => {
  const wanted = walks
    .filter(({ desired }) => desired === 'deliver')
    .flatMap((walk) => {
      const end = walk.outcomes.find(leadsNowhere)
      return end === undefined ? [] : [{ walk, end }]
    })
  const byEnd = Map.groupBy(wanted, ({ walk, end }) => `${isIpv6(walk)} ${end.where} ${end.rule}`)
  return [...byEnd.values()].map(routeFinding)
})

interface Stopped {
  readonly walk: WalkFacts
  readonly end: WalkOutcomeFacts
}

/** Matches the text of explain for a missing route. */
const NO_ROUTE = /^(icmp-)?no-route$/

function leadsNowhere({ kind, where, rule, text }: WalkOutcomeFacts): boolean {
  if (kind !== 'refused' && kind !== 'silent') return false
  if (where === 'policy rule') return true
  return where === 'route' && (rule !== '' || NO_ROUTE.test(text))
}

function isIpv6({ dst }: WalkFacts): boolean {
  return dst.includes(':')
}

function routeFinding(stopped: readonly Stopped[]): NodeFinding {
  const [{ walk, end }] = stopped as readonly [Stopped, ...Stopped[]]
  const ip = isIpv6(walk) ? 'ip -6' : 'ip -4'
  const isRule = end.where === 'policy rule'
  const name = isRule ? `the policy rule (${end.rule})` : `the route "${end.rule}"`
  return {
    symptom: end.kind === 'silent' ? 'Connection timeout' : 'Service not reachable',
    cause:
      end.rule === ''
        ? 'this node has no route to a backend of a Service'
        : `${name} leads packets to backends of Services nowhere`,
    evidence: stopped
      .slice(0, 5)
      .map((one) => `${packetText(one.walk)}: ${one.end.kind}, ${one.end.text}`),
    remedy:
      end.rule === ''
        ? 'repair what makes the routes to the Pods of other nodes: the network plugin, or the routes of the cloud'
        : 'remove it, or repair the program that made it: network plugins and VPNs do',
    commands:
      end.rule === ''
        ? [`${ip} route show table all`]
        : [`${ip} ${isRule ? 'rule' : 'route'} del ${end.rule}`],
    services: stopped.map((one) => one.walk.service),
  }
}
