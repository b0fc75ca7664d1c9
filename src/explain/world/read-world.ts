import { type Family, parseIp } from '../../lib/ip.ts'
import { present } from '../../resources/reader.ts'
import { readListening } from '../host/listening-sockets.ts'
import { readHost } from '../host/read-host.ts'
import type { CommandOutput, RunCommand } from '../host/run-command.ts'
import { parseObjects, textOf, unreadable } from '../host/run-command.ts'
import { ipvsFunctions } from '../ipvs-functions.ts'
import { nftablesFunctions } from '../nftables/nftables-functions.ts'
import {
  isOfIptables,
  type LiveTables,
  readLiveNftables,
  readNftables,
} from '../nftables/read-nftables.ts'
import { PROTOCOL_NUMBER } from '../packet/packet-state.ts'
import {
  answerOfType,
  deadEndOf,
  NO_ROUTE,
  type RouteListings,
  readRoutes,
  type TypedDeadEnd,
} from '../table-routing.ts'
import type { RouteAnswer, RouteQuery, Routing } from '../walk/routing.ts'
import type { WalkWorld } from '../walk/walk-packet.ts'
import type { IpSet, SetElement } from '../xtables/model/ip-set.ts'
import { parseRuleset } from '../xtables/model/ruleset.ts'
import { type XtablesListing, xtablesFunctions } from '../xtables-functions.ts'
import type { WorldReaders } from './world-readers.ts'

/** The status if the program does not exist, or ipset has no kernel support: then there are no rules of that kind. */
const MISSING = 127

/** How the kernel refuses a query whose route leads nowhere, by the type of the route. */
const ERRORS: Readonly<Record<string, RegExp>> = {
  unreachable: /(No route to host|Network is unreachable)$/,
  prohibit: /Permission denied$/,
  blackhole: /Invalid argument$/,
}

/**
 * Reads once everything that affects a packet, with as much concurrency as the readers have. Routes are not read but
 * queried, and elements of sets are looked up if the readers can. Throws NP_EXPLAIN_READ.
 */
export async function readWorld(readers: WorldReaders): Promise<WalkWorld> {
  const { run } = readers
  const xtables = readXtables(run)
  const [facts, { listings, sets }, ipvs, { tables, readMissing }] = await Promise.all([
    readNode(run),
    xtables,
    readers.readIpvs(),
    readTables(readers, xtables),
  ])
  const functions = [
    ...listings.flatMap((one) => xtablesFunctions(one, { facts, sets })),
    ...(ipvs === undefined ? [] : ipvsFunctions(ipvs, facts)),
    ...nftablesFunctions(tables, facts),
  ]
  return { functions, routing: commandRouting(run), facts, readMissing }
}

async function readNode(run: WorldReaders['run']) {
  return await readHost(run, await readListening(run))
}

async function readTables(
  readers: WorldReaders,
  xtables: Promise<XtablesSnapshot>,
): Promise<LiveTables> {
  const { run, lookUpElement } = readers
  const names = await readers.nftTables?.()
  const shared = names?.some(isOfIptables) === true ? (await xtables).shared : undefined
  if (lookUpElement !== undefined) return await readLiveNftables(run, lookUpElement, names, shared)
  return { tables: await readNftables(run, names, shared), readMissing: async () => false }
}

/**
 * Queries routes with `ip route get`, which applies policy rules, rp_filter and forwarding as for a packet. If there
 * is no route, the reason is looked up in the listed routes.
 */
function commandRouting(run: RunCommand): Routing {
  let listings: Promise<RouteListings> | undefined
  return {
    async route(query) {
      const output = await run('ip', commandOf(query))
      if (output.status === 0) return answerOf(output, query)
      listings ??= readRoutes(run)
      return refusal(output.stderr.trim(), query, deadEndOf(await listings, query))
    },
  }
}

/** `ip -j route get DST from SRC iif DEV mark N ipproto N dport N`. */
function commandOf(query: RouteQuery): readonly string[] {
  const { family, src, dst, inInterface, mark } = query
  return [
    '-j',
    `-${family}`,
    'route',
    'get',
    dst,
    ...(src === undefined ? [] : ['from', src]),
    ...(inInterface === undefined ? [] : ['iif', inInterface]),
    ...(mark === 0 ? [] : ['mark', String(mark)]),
    ...portWords(query),
  ]
}

/**
 * Policy rules may be for a protocol and port. The kernel answers no query that names SCTP (rtm_getroute_parse_ip_proto).
 * Without /etc/protocols, as in the images, `ip` reads numbers alone.
 */
function portWords({ protocol, dstPort }: RouteQuery): readonly string[] {
  if (protocol === undefined || protocol === 'SCTP') return []
  return [
    'ipproto',
    String(PROTOCOL_NUMBER[protocol]),
    ...(dstPort === 0 ? [] : ['dport', String(dstPort)]),
  ]
}

function answerOf({ stdout }: CommandOutput, query: RouteQuery): RouteAnswer {
  const route = parseObjects(stdout)[0]
  if (route === undefined) return { kind: 'uncertain', reason: 'the kernel gave no route' }
  const source = parseIp(textOf(route, 'prefsrc') ?? '')
  const type = textOf(route, 'type') ?? 'unicast'
  if (type === 'local' || type === 'broadcast' || type === 'anycast')
    return { kind: 'local', source }
  const outInterface = textOf(route, 'dev')
  if (type !== 'unicast' || outInterface === undefined) return answerOfType(type, query.family)
  return { kind: 'unicast', outInterface, gateway: parseIp(textOf(route, 'gateway') ?? ''), source }
}

/** Names of errors as `ip` prints them, after `RTNETLINK answers: `. */
function refusal(
  stderr: string,
  { family, inInterface, src }: RouteQuery,
  found: TypedDeadEnd | undefined,
): RouteAnswer {
  if (stderr.endsWith('Invalid cross-device link')) {
    const reason = `rp_filter of ${inInterface}: answers to ${src} leave elsewhere`
    return { kind: 'dropped', reason }
  }
  if (found !== undefined && ERRORS[found.type]?.test(stderr) === true) {
    return answerOfType(found.type, family, found)
  }
  if (stderr.endsWith('Invalid argument')) {
    const reason = `a source or destination that is impossible on ${inInterface ?? 'this node'} (martian)`
    return { kind: 'dropped', reason }
  }
  if (/(unreachable|No route to host|Permission denied)$/.test(stderr)) return NO_ROUTE
  return { kind: 'uncertain', reason: 'the kernel did not answer the query of a route' }
}

/**
 * The variant of programs. A kernel may hold rules of both variants; `''` stands for a plain `iptables` on a machine
 * without programs for each.
 */
type Variant = '-nft' | '-legacy' | ''

/** Rules of both families and IP sets, each read once. */
interface XtablesSnapshot {
  readonly listings: readonly ReadListing[]
  readonly sets: ReadonlyMap<string, IpSet>
  /** Tables with base chains of other programs, which are not in the listings: `ip filter`. */
  readonly shared: ReadonlySet<string>
}

interface ReadListing extends XtablesListing {
  readonly shared: readonly string[]
}

/** Reads the rules of both variants of iptables, and all IP sets. Throws NP_EXPLAIN_READ. */
async function readXtables(run: RunCommand): Promise<XtablesSnapshot> {
  const [four, six, sets] = await Promise.all([
    readListings(run, 4),
    readListings(run, 6),
    readSets(run),
  ])
  const listings = [...four, ...six]
  return { listings, sets, shared: new Set(listings.flatMap(({ shared }) => shared)) }
}

async function readListings(run: RunCommand, family: Family): Promise<readonly ReadListing[]> {
  const read = async (variants: readonly Variant[]) =>
    present(await Promise.all(variants.map((variant) => readListing(run, family, variant))))
  const found = await read(['-nft', '-legacy'])
  return found.length > 0 ? found : await read([''])
}

async function readSets(run: RunCommand): Promise<XtablesSnapshot['sets']> {
  const sets = await run('ipset', ['save'])
  if (sets.status !== 0 && sets.status !== MISSING) throw unreadable('ipset save', sets)
  return parseSets(sets.stdout)
}

async function readListing(
  run: RunCommand,
  family: Family,
  variant: Variant,
): Promise<ReadListing | undefined> {
  const name = family === 4 ? 'iptables' : 'ip6tables'
  const output = await run(`${name}${variant}-save`, ['-c'])
  if (output.status === MISSING) return undefined
  if (output.status !== 0) throw unreadable(`${name}${variant}-save`, output)
  const program = variant === '-legacy' ? `${name}-legacy` : name
  const shared = sharedTables(output.stdout).map(
    (table) => `${family === 4 ? 'ip' : 'ip6'} ${table}`,
  )
  return { family, program, ruleset: parseRuleset(output.stdout), shared }
}

/** The tables of which iptables-nft-save writes: # Table `filter' contains incompatible base-chains, use 'nft' tool … */
function sharedTables(listing: string): readonly string[] {
  const remarks = listing.split('# Table `').slice(1)
  const found = remarks.filter((text) => text.slice(0, text.indexOf('\n')).includes('incompatible'))
  return found.map((text) => text.slice(0, text.indexOf("'")))
}

/** Parses the output of `ipset save`. */
export function parseSets(listing: string): ReadonlyMap<string, IpSet> {
  const sets = new Map<string, IpSet & { readonly elements: SetElement[] }>()
  for (const line of listing.split('\n')) {
    const [command, name = '', value = '', ...options] = withoutComment(line).trim().split(' ')
    if (command === 'create') {
      sets.set(name, { name, type: value, elements: [], isTemporary: options.includes('timeout') })
    }
    if (command === 'add') sets.get(name)?.elements.push(elementOf(value, options))
  }
  return sets
}

/** The words of a comment are no options; ipset permits no quotes in it. */
function withoutComment(line: string): string {
  return line.replace(/ comment "[^"]*"/, '')
}

function elementOf(text: string, options: readonly string[]): SetElement {
  return {
    text,
    parts: text.split(','),
    isException: options.includes('nomatch'),
    secondsLeft: secondsOf(options),
    mark: markOf(options[options.indexOf('skbmark') + 1], options.includes('skbmark')),
  }
}

/** `timeout 0` marks an element that does not expire, in a set whose other elements do. */
function secondsOf(options: readonly string[]): number | undefined {
  const at = options.indexOf('timeout')
  const seconds = at < 0 ? 0 : Number(options[at + 1])
  return seconds > 0 ? seconds : undefined
}

function markOf(text: string | undefined, isThere: boolean): SetElement['mark'] {
  if (!isThere || text === undefined) return undefined
  const [value = '0', mask = '0xffffffff'] = text.split('/')
  return { value: Number(value), mask: Number(mask) }
}
