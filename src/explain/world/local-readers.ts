import { existsSync, readFileSync } from 'node:fs'
import { type Ipvs, virtualServerKey } from '../../kernel/ipvs/ipvs.ts'
import { NetlinkIpvs } from '../../kernel/ipvs/netlink-ipvs.ts'
import { requestTransport } from '../../kernel/netlink/request-transport.ts'
import { NetlinkSession } from '../../kernel/netlink/session.ts'
import { NETLINK_GENERIC, NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { countRules, listTables } from '../../kernel/nftables/list-tables.ts'
import { NetlinkNftables } from '../../kernel/nftables/netlink-nftables.ts'
import type { ProgramRunner } from '../../kernel/spawner/program-runner.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { systemClock } from '../../lib/clock.ts'
import { formatIp, type IpAddress, parseIp } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import type { RunCommand } from '../host/run-command.ts'
import type { IpvsSnapshot, PersistenceTemplate } from '../ipvs-functions.ts'
import { isOfIptables } from '../nftables/read-nftables.ts'
import type { WorldReaders } from './world-readers.ts'

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'TCP'],
  ['UDP', 'UDP'],
  ['SCTP', 'SCTP'],
])

/** The number of programs that run at the same time: one that lists a hundred thousand rules takes seconds. */
const AT_ONCE = 2

/** Milliseconds for one listing: a hundred thousand rules take a few seconds. */
const TIMEOUT_MS = 60_000

/** Readers for the network namespace of the calling thread; `close` ends what they started. */
export interface LocalReaders extends Required<WorldReaders> {
  close(): Promise<void>
}

/** Opens the readers. They change nothing, and load no kernel module. */
export function openLocalReaders(): LocalReaders {
  const runners = Array.from({ length: AT_ONCE }, () => new Spawner())
  let nftables: NetlinkNftables | undefined
  return {
    run: commandsOf(runners),
    readIpvs: () => (existsSync('/proc/thread-self/net/ip_vs') ? listIpvs() : noIpvs()),
    nftTables,
    async lookUpElement(table, set, key) {
      nftables ??= new NetlinkNftables(requestTransport(NETLINK_NETFILTER), systemClock)
      const [found] = await nftables.lookup(table, set, [key])
      return found
    },
    async close() {
      nftables?.close()
      await Promise.all(runners.map((one) => one.close()))
    },
  }
}

/** Uses the runners in turn, because each runs one program at a time. */
function commandsOf(runners: readonly ProgramRunner[]): RunCommand {
  let turn = 0
  return (program, args) => {
    turn = (turn + 1) % runners.length
    return runners[turn]!.run({ program, args, timeoutMs: TIMEOUT_MS })
  }
}

async function noIpvs(): Promise<undefined> {
  return undefined
}

async function listIpvs() {
  const ipvs = new NetlinkIpvs(requestTransport(NETLINK_GENERIC), systemClock)
  try {
    return await readIpvs(ipvs, readThreadFile)
  } finally {
    ipvs.close()
  }
}

/** Rules are counted only if their number decides whether nft can list all tables at once. */
async function nftTables() {
  const session = new NetlinkSession(requestTransport(NETLINK_NETFILTER), systemClock)
  try {
    const tables = await listTables(session)
    const isMixed = tables.some(isOfIptables) && !tables.every(isOfIptables)
    return isMixed ? await countRules(session, tables) : tables
  } finally {
    session.close()
  }
}

/**
 * /proc/net belongs to the process, but a thread may be in another network namespace. The threads that read files for
 * promises may be, too, so the calling thread reads the file itself.
 */
const readThreadFile: ReadFile = async (path) => {
  try {
    return readFileSync(path.replace(/^\/proc\/net\//, '/proc/thread-self/net/'), 'utf8')
  } catch {
    return undefined
  }
}

/** Reads a file of /proc; undefined if it does not exist. */
type ReadFile = (path: string) => Promise<string | undefined>

/** Reads all virtual servers, their real servers and persistence templates once. Throws what `Ipvs` throws. */
async function readIpvs(
  ipvs: Pick<Ipvs, 'services' | 'serversOf'>,
  readFile: ReadFile,
): Promise<IpvsSnapshot> {
  const services = await ipvs.services()
  const servers = await ipvs.serversOf(services.map(({ id }) => id))
  const isOn = async (name: string) =>
    (await readFile(`/proc/sys/net/ipv4/vs/${name}`))?.trim() === '1'
  return {
    services: services.map((service) => ({
      service,
      servers: servers.get(virtualServerKey(service.id)) ?? [],
    })),
    templates: parseTemplates((await readFile('/proc/net/ip_vs_conn')) ?? ''),
    tracksConnections: await isOn('conntrack'),
    expiresQuiescent: await isOn('expire_quiescent_template'),
  }
}

/**
 * The persistence templates of /proc/net/ip_vs_conn: entries whose client port is 0. Columns: protocol, client, its
 * port, virtual address and port, real address and port, state, seconds. Ports and IPv4 addresses are hexadecimal
 * without separators; IPv6 addresses have eight groups, and are accepted in brackets, too.
 */
export function parseTemplates(text: string): readonly PersistenceTemplate[] {
  return text.split('\n').flatMap((line) => {
    const [protocol = '', from, fromPort, to, toPort, at, atPort, , seconds] = line
      .trim()
      .split(/\s+/)
    const [client, virtualIp, server] = [from, to, at].map(addressOf)
    if (client === undefined || virtualIp === undefined || server === undefined) return []
    if (Number.parseInt(fromPort ?? '', 16) !== 0) return []
    const ports = { virtualPort: hex(toPort), serverPort: hex(atPort) }
    const secondsLeft = Number(seconds)
    return [{ protocol: PROTOCOLS.get(protocol), client, virtualIp, server, ...ports, secondsLeft }]
  })
}

function addressOf(text = ''): IpAddress | undefined {
  if (text.includes(':')) return parseIp(text.replace(/^\[(.*)\]$/, '$1'))
  return /^[0-9A-F]{8}$/i.test(text) ? formatIp(Uint8Array.fromHex(text)) : undefined
}

function hex(text = '0'): number {
  return Number.parseInt(text, 16)
}
