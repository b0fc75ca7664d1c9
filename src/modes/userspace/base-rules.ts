import type { Family } from '../../lib/ip.ts'
import { outsideRanges } from '../netfilter/arrival.ts'
import type { FamilyRules } from '../netfilter/chains/base-rules.ts'
import { filterJumps, martians, portUnreachable, serviceRanges } from '../netfilter/filter-rules.ts'
import { FROM_NODE, sources } from '../netfilter/local-traffic.ts'
import { clearRouted, isOwn, isRouted, isTaken, setRouted, setTaken } from '../netfilter/mark.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import type { RedirectPorts } from './forwarder.ts'
import { CHAIN, SETS } from './names.ts'
import type { Side } from './route.ts'

const NEW = '-m conntrack --ctstate NEW '
const NOT_OURS = '-m conntrack --ctstate RELATED,ESTABLISHED,DNAT '

/**
 * All chains. They do not depend on the Services: what differs between Services is in sets. `ports`: where the
 * forwarder listens for packets of each side.
 */
export function baseRules(
  settings: NetfilterSettings,
  family: Family,
  ports: RedirectPorts,
): FamilyRules {
  return {
    family,
    chains: {
      mangle: {
        [CHAIN.route]: route(settings, family),
        [CHAIN.fresh]: fresh(settings, family),
        [CHAIN.divert]: [setTaken(settings), setRouted(settings)],
        [CHAIN.hold]: settings.matchesSockets ? HOLD : [],
        [CHAIN.input]: arrival(settings),
        [CHAIN.output]: departure(settings, family),
      },
      nat: {
        [CHAIN.redirect]: redirect(settings, family, ports),
        [CHAIN.pods]: toPort(ports.pods),
        [CHAIN.taken]: [`${isRouted(settings)}-j ACCEPT`],
      },
      filter: {
        [CHAIN.filter]: answers(settings, family),
        [CHAIN.ranges]: serviceRanges(settings, family, { filter: CHAIN.filter }),
        [CHAIN.martians]: martians(settings, family),
      },
    },
    jumps: [
      ['mangle', 'PREROUTING', `-j ${CHAIN.route}`],
      ['mangle', 'INPUT', `-j ${CHAIN.input}`],
      ['mangle', 'OUTPUT', `-j ${CHAIN.output}`],
      ['nat', 'PREROUTING', `${isRouted(settings)}-j ${CHAIN.redirect}`],
      ['nat', 'OUTPUT', `${isRouted(settings)}-j ${CHAIN.pods}`],
      ['nat', 'POSTROUTING', `-j ${CHAIN.taken}`],
      ...filterJumps(settings, family, CHAIN),
    ],
  }
}

/**
 * Incoming packets: first those of connections that this mode has taken, then those for Services, unless they belong
 * to a connection of another mode or program.
 */
function route(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isNotIn } = SETS[family]
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
  const { isIn, isNotIn } = SETS[family]
  const { pods, others } = sources(settings, family)
  const answered = (role: 'DROP' | 'REJECT', target: string) => [
    ...(pods.length === 0 ? [isIn(role) + target] : []),
    ...pods.map((from) => `${from}${isIn(role)}${isNotIn('SHORTCUT')}${target}`),
    ...others.map((from) => from + isIn(role) + target),
  ]
  return [
    outsideRanges(SETS[family]),
    ...pods.map((from) => `${from}${isIn('SHORTCUT')}-g ${CHAIN.divert}`),
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
  const { pods } = sources(settings, family)
  return [...pods.map((from) => `${from}-g ${CHAIN.pods}`), ...toPort(ports.others)]
}

function toPort(port: RedirectPorts[Side]): readonly string[] {
  return ['tcp', 'udp'].map((name) => `-p ${name} -j DNAT --to-destination :${port}`)
}

/**
 * Packets of this node's processes. Those with the routing bit are routed to loopback and come in again. The
 * forwarder's own connections never are, even if the address of a backend is that of a Service.
 */
function departure(settings: NetfilterSettings, family: Family): readonly string[] {
  const { isIn, isNotIn } = SETS[family]
  return [
    `${isOwn(settings)}-j RETURN`,
    `${isTaken(settings)}-g ${CHAIN.divert}`,
    `${NOT_OURS}-j RETURN`,
    `${isNotIn('SERVICES')}-j RETURN`,
    outsideRanges(SETS[family]),
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
  const { isIn, isNotIn } = SETS[family]
  const { pods } = sources(settings, family)
  return [
    `${isIn('ADMIT')}-j ACCEPT`,
    `${isTaken(settings)}-j RETURN`,
    `${isNotIn('SERVICES')}-j RETURN`,
    ...pods.map((from) => `${from}${isIn('SHORTCUT')}-j DROP`),
    `${FROM_NODE}${isIn('SHORTCUT')}-j DROP`,
    `-p tcp ${isIn('REJECT')}-j REJECT --reject-with tcp-reset`,
    `${isIn('REJECT')}-j REJECT --reject-with ${portUnreachable(family)}`,
    `${isOwn(settings)}-j RETURN`,
    '-j DROP',
  ]
}
