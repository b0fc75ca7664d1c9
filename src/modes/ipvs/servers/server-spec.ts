import type {
  Forwarding,
  RealServer,
  SchedulerFlag,
  VirtualServerSettings,
} from '../../../kernel/ipvs/ipvs.ts'
import { contentHash } from '../../../lib/hash.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { Digest } from '../../mode.ts'

/** A virtual server with all its real servers. */
export interface ServerSpec {
  readonly settings: VirtualServerSettings
  readonly servers: readonly RealServer[]
}

/**
 * A virtual server in few bytes, for tens of thousands of them: settings, then
 * `ip:port*weight` of each real server, sorted.
 * `sh 10800/32 fallback|10.0.0.1:80*1 10.0.0.2:80*0`
 */
export function specText({ settings, servers }: ServerSpec): string {
  return `${settingsText(settings)}|${servers.map(serverText).toSorted().join(' ')}`
}

/** The digest of a text, by which it is compared. Real servers of weight 0 take no new connections and do not count. */
export function digestOf(text: string): Digest {
  const [settings, servers] = splitText(text)
  const active = servers.split(' ').filter((server) => !isQuiescentServer(server))
  return contentHash(`${settings}|${active.join(' ')}`) as Digest
}

/** Whether a real server, as its text has it, takes no new connections: its weight is 0. */
export function isQuiescentServer(server: string): boolean {
  return /\*0(\/|$)/.test(server)
}

/** The two parts of a text: its settings, and its real servers. */
export function splitText(text: string): readonly [string, string] {
  const bar = text.indexOf('|')
  return [text.slice(0, bar), text.slice(bar + 1)]
}

/** The scheduler in a text, which begins with it; see `settingsText`. */
export function schedulerOf(text: string): string {
  return text.slice(0, text.search(/[ |]/))
}

/** The text of the same virtual server without real servers. */
export function bareText(text: string): string {
  return `${splitText(text)[0]}|`
}

/** The text of each real server, by its `ip:port`. */
export function serversIn(text: string): ReadonlyMap<string, string> {
  const [, servers] = splitText(text)
  if (servers === '') return new Map()
  return new Map(servers.split(' ').map((server) => [server.replace(/\*.*/, ''), server]))
}

/** `rr`, `sh fallback`, or with persistence (seconds and prefix length) `rr 10800/32`. */
export function settingsText({ scheduler, flags, persistence }: VirtualServerSettings): string {
  const sticky = persistence ? [`${persistence.seconds}/${persistence.prefix}`] : []
  return [scheduler, ...sticky, ...flags].join(' ')
}

/** `ip:port*weight`, followed by what differs from what this mode writes: `/tunnel`, `/upper-lower`. */
export function serverText(server: RealServer): string {
  const { ip, port, weight, forwarding, upperThreshold, lowerThreshold } = server
  const limits = upperThreshold + lowerThreshold > 0 ? `/${upperThreshold}-${lowerThreshold}` : ''
  const other: Forwarding | '' = forwarding === 'masquerade' ? '' : forwarding
  return `${hostPort(ip, port)}*${weight}${other && `/${other}`}${limits}`
}

/**
 * Options without which a backend of weight 0 harms a Service: sh and mh keep choosing it for some clients and refuse
 * them. mh also hashes the client's port, as in kube-proxy; sh does not, so that one client reaches one backend.
 */
export function flagsOf(scheduler: string): readonly SchedulerFlag[] {
  if (scheduler === 'sh') return ['fallback']
  return scheduler === 'mh' ? ['fallback', 'sourcePort'] : []
}

/** The same virtual server with another scheduler and the flags that this one needs. */
export function scheduledBy({ settings, servers }: ServerSpec, scheduler: string): ServerSpec {
  return { settings: { ...settings, scheduler, flags: flagsOf(scheduler) }, servers }
}

/** dh has no such option: a backend of weight 0 would refuse all that hash to it. */
export function canDrain(scheduler: string): boolean {
  return scheduler !== 'dh'
}
