import { hostPort } from '../../lib/ip.ts'
import { checkOfEachNode, type NodeFinding } from '../evidence/node-check.ts'
import type { WalkFacts, WalkOutcomeFacts } from '../evidence/node-facts.ts'

/** Chains that enforce network policies, whose drops are intended. */
const POLICIES =
  /\b(cali-|KUBE-NWPLCY|KUBE-POD-FW|KUBE-ROUTER|WEAVE-NPC|CILIUM_|ANTREA-|kube-network-policies)/
const BY_RULE = /^(ip6?tables|nft)/

/** A rule of another program drops or refuses packets that node-proxy wants to be delivered. */
export const nodeFirewall = checkOfEachNode('node-firewall', ({ walks }) => {
  const wanted = walks.filter(({ desired }) => desired === 'deliver')
  const named = [...new Set(wanted.filter(isStopped).map(keyOf))]
  return named.map((key) => {
    const stopped = wanted.filter((walk) => isStopped(walk) && keyOf(walk) === key)
    return findingOf(stopped)
  })

  /** If the packets of one of several senders get through, the firewall admits some clients, which is intended. */
  function isStopped(walk: WalkFacts): boolean {
    if (blocking(walk) === undefined) return false
    if (walk.purpose !== 'fromOutside') return true
    return wanted
      .filter(
        ({ purpose, dst, port }) =>
          purpose === 'fromOutside' && dst === walk.dst && port === walk.port,
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

function keyOf(walk: WalkFacts): string {
  const { where = '', rule = '' } = blocking(walk) ?? {}
  return `${where} ${rule}`
}

function findingOf(stopped: readonly WalkFacts[]): NodeFinding {
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
  const { src, dst, port } = walk
  return [list, `node-proxy explain ${src === '' ? 'node' : src} ${hostPort(dst, port)}`]
}

/** `from 10.0.0.2 by cbr0 to 172.30.0.1:80 (clusterIP of shop/web)`. */
export function packetText({ src, inInterface, dst, port, frontend, service }: WalkFacts): string {
  const from = src === '' ? 'from the node' : `from ${src} by ${inInterface}`
  return `${from} to ${hostPort(dst, port)}${service === '' ? '' : ` (${frontend} of ${service})`}`
}
