import { checkOfEachNode, type NodeFinding } from '../evidence/node-check.ts'
import type { WalkFacts, WalkOutcomeFacts } from '../evidence/node-facts.ts'
import { packetText } from './node-firewall.ts'

/** No route leads to a backend, or a route or policy rule discards its packets. */
export const unusableRoute = checkOfEachNode('unusable-route', ({ walks }) => {
  const wanted = walks
    .filter(({ desired }) => desired === 'deliver')
    .flatMap((walk) => {
      const end = walk.outcomes.find(leadsNowhere)
      return end === undefined ? [] : [{ walk, end }]
    })
  const byEnd = Map.groupBy(wanted, ({ walk, end }) => `${isIpv6(walk)} ${end.where} ${end.rule}`)
  return [...byEnd.values()].map(findingOf)
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

function findingOf(stopped: readonly Stopped[]): NodeFinding {
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
