import type { Family } from '../../lib/ip.ts'
import type { JumpObject } from '../netfilter/chains/object.ts'
import type { Table } from '../netfilter/chains/place.ts'
import { martians } from '../netfilter/forward.ts'
import { FROM_NODE, fromPods, notFromPods } from '../netfilter/local-traffic.ts'
import { clearRouted, isOwn, isRouted, isTaken, setRouted, setTaken } from '../netfilter/mark.ts'
import { answeringJumps, portUnreachable, serviceRanges } from '../netfilter/service-ranges.ts'
import { setMatches } from '../netfilter/set-text.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { RedirectPorts } from './forwarder.ts'
import { CHAIN, type SetRole, setName } from './names.ts'
import type { Side } from './route.ts'

interface BaseChain {
  readonly table: Table
  readonly chain: string
  readonly rules: readonly string[]
}

const NEW = '-m conntrack --ctstate NEW '
const NOT_OURS = '-m conntrack --ctstate RELATED,ESTABLISHED,DNAT '

/**
 * All chains. They do not depend on the Services: what differs between Services is in sets. `ports`: where the
 * forwarder listens for packets of each side.
 */
export function chains(
  settings: NetfilterSettings,
  family: Family,
  ports: RedirectPorts,
): readonly BaseChain[] {
  const guard = martians(settings, family)
  const ranges = serviceRanges(settings, family, { filter: CHAIN.filter })
  const chainsOf = (table: Table, rules: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(rules).map(([chain, of]): BaseChain => ({ table, chain, rules: of }))
  return [
    ...chainsOf('mangle', {
      [CHAIN.route]: route(settings, family),
      [CHAIN.fresh]: fresh(settings, family),
      [CHAIN.divert]: [setTaken(settings), setRouted(settings)],
      ...(settings.matchesSockets ? { [CHAIN.hold]: HOLD } : {}),
      [CHAIN.input]: arrival(settings),
      [CHAIN.output]: departure(settings, family),
    }),
    ...chainsOf('nat', {
      [CHAIN.redirect]: redirect(settings, family, ports),
      [CHAIN.pods]: toPort(ports.pods),
      [CHAIN.taken]: [`${isRouted(settings)}-j ACCEPT`],
    }),
    ...chainsOf('filter', {
      [CHAIN.filter]: answers(settings, family),
      ...(ranges.length > 0 ? { [CHAIN.ranges]: ranges } : {}),
      ...(guard.length > 0 ? { [CHAIN.martians]: guard } : {}),
    }),
  ]
}

/** Our rules in the built-in chains. */
export function jumps(settings: NetfilterSettings, family: Family): readonly JumpObject[] {
  const rules: readonly (readonly [Table, string, string])[] = [
    ['mangle', 'PREROUTING', `-j ${CHAIN.route}`],
    ['mangle', 'INPUT', `-j ${CHAIN.input}`],
    ['mangle', 'OUTPUT', `-j ${CHAIN.output}`],
    ['nat', 'PREROUTING', `${isRouted(settings)}-j ${CHAIN.redirect}`],
    ['nat', 'OUTPUT', `${isRouted(settings)}-j ${CHAIN.pods}`],
    ['nat', 'POSTROUTING', `-j ${CHAIN.taken}`],
    ...answeringJumps(settings, family, CHAIN).map(
      ({ chain, rule }) => ['filter', chain, rule] as const,
    ),
    ...(martians(settings, family).length > 0
      ? [['filter', 'INPUT', `-j ${CHAIN.martians}`] as const]
      : []),
  ]
  return rules.map(([table, chain, rule]) => ({ kind: 'jump', family, table, chain, rule }))
}

/**
 * Incoming packets: first those of connections that this mode has taken, then those for Services, unless they belong
 * to a connection of another mode or program.
 */
function route(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isNotIn } = sets(family)
  return [
    `${isTaken(settings)}-g ${CHAIN.divert}`,
    `${NOT_OURS}-j RETURN`,
    `${isNotIn('SERVICES')}-j RETURN`,
    `-g ${CHAIN.fresh}`,
  ]
}

/**
 * New connections that arrive while no process listens, between two daemons, are dropped instead of refused: clients
 * repeat their first packet, and conntrack keeps no record of a dropped one.
 */
const HOLD = ['-m socket --nowildcard -j RETURN', '-j DROP']

/** Packets that the policy route has delivered. */
function arrival(settings: NetfilterSettings): readonly string[] {
  return [
    ...(settings.matchesSockets ? [`${isRouted(settings)}${NEW}-j ${CHAIN.hold}`] : []),
    isRouted(settings) + clearRouted(settings),
  ]
}

/**
 * SHORTCUT is looked up before DROP and REJECT and again after them: its member is added before theirs and deleted
 * after theirs, so a client finds it in one of the look-ups at any moment.
 */
function fresh(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  const [pods, others] = [fromPods(settings, family), notFromPods(settings, family)]
  const answered = (role: 'DROP' | 'REJECT', target: string) => [
    ...(pods
      ? [`${pods.source}${pods.interface}${isIn(role)}${isNotIn('SHORTCUT')}${target}`]
      : [isIn(role) + target]),
    ...(others ? [others.source + others.interface + isIn(role) + target] : []),
  ]
  return [
    outsideRanges(family),
    ...(pods ? [`${pods.source}${pods.interface}${isIn('SHORTCUT')}-g ${CHAIN.divert}`] : []),
    ...answered('DROP', '-j DROP'),
    ...answered('REJECT', '-j RETURN'),
    `-g ${CHAIN.divert}`,
  ]
}

/**
 * Translates new connections to the port of the forwarder's socket for their side, and leaves their address unchanged.
 * TPROXY would need no translation, but where bridged packets meet these rules (bridge-nf-call-iptables) the kernel
 * forgets the socket that was chosen.
 */
function redirect(
  settings: NetfilterSettings,
  family: Family,
  ports: RedirectPorts,
): readonly string[] {
  const pods = fromPods(settings, family)
  return [
    ...(pods ? [`${pods.source}${pods.interface}-g ${CHAIN.pods}`] : []),
    ...toPort(ports.others),
  ]
}

function toPort(port: RedirectPorts[Side]): readonly string[] {
  return ['tcp', 'udp'].map((name) => `-p ${name} -j DNAT --to-destination :${port}`)
}

/**
 * Packets of this node's processes. Those with the routing bit are routed to loopback and come in again. The
 * forwarder's own connections never are, even if the address of a backend is that of a Service.
 */
function departure(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  return [
    `${isOwn(settings)}-j RETURN`,
    `${isTaken(settings)}-g ${CHAIN.divert}`,
    `${NOT_OURS}-j RETURN`,
    `${isNotIn('SERVICES')}-j RETURN`,
    outsideRanges(family),
    `${isIn('SHORTCUT')}-g ${CHAIN.divert}`,
    `${isIn('DROP')}${isNotIn('SHORTCUT')}-j DROP`,
    `${isIn('REJECT')}${isNotIn('SHORTCUT')}-j RETURN`,
    `-g ${CHAIN.divert}`,
  ]
}

/**
 * Answers to new connections that no process takes. Those of pods, at the short circuit, were taken before. A packet
 * to a listener that was not taken, and is not to be refused, met the sets while they changed. It is dropped, because
 * it would otherwise leave untranslated; when its sender repeats it, it is taken or answered.
 */
function answers(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = sets(family)
  const pods = fromPods(settings, family)
  return [
    `${isIn('ADMIT')}-j ACCEPT`,
    `${isTaken(settings)}-j RETURN`,
    `${isNotIn('SERVICES')}-j RETURN`,
    ...(pods ? [`${pods.source}${pods.interface}${isIn('SHORTCUT')}-j DROP`] : []),
    `${FROM_NODE}${isIn('SHORTCUT')}-j DROP`,
    `-p tcp ${isIn('REJECT')}-j REJECT --reject-with tcp-reset`,
    `${isIn('REJECT')}-j REJECT --reject-with ${portUnreachable(family)}`,
    `${isOwn(settings)}-j RETURN`,
    '-j DROP',
  ]
}

/** RANGED is looked up twice, because its member is deleted before those of ALLOWED. */
function outsideRanges(family: Family): string {
  const { isIn, isNotIn } = sets(family)
  return `${isIn('RANGED')}${isNotIn('ALLOWED', 'dst,dst,src')}${isIn('RANGED')}-j DROP`
}

function sets(family: Family) {
  return setMatches((role: SetRole) => setName(family, role))
}
