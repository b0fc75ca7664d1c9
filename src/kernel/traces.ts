import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../lib/clock.ts'
import { systemCode } from '../lib/error.ts'
import type { Family } from '../lib/ip.ts'
import type { IptablesVariant, TableName } from './iptables/iptables.ts'
import {
  READER_SIGNATURES,
  type ReaderLibC,
  type TableInfo,
  TableReader,
} from './iptables/table-reader.ts'
import { AttributeWriter } from './netlink/attribute-writer.ts'
import { NFT_MSG, NFTA, nfHeader, nfMessageType } from './netlink/nfnetlink.ts'
import { NetlinkSession } from './netlink/session.ts'
import type { OpenTransport } from './netlink/transport.ts'

/** A chain of iptables, of either variant. */
export interface ChainId {
  readonly family: Family
  readonly table: TableName
  readonly chain: string
}

/** The family of a table of nftables; `inet`: IPv4 and IPv6. */
export type TableFamily = Family | 'inet'

/** A process of this network namespace. */
export interface FoundProcess {
  /** At most 15 characters: the kernel cuts off the rest in /proc/PID/comm. */
  readonly name: string
  readonly pid: number
}

/**
 * Objects and processes of other programs in this network namespace, found by name. The cost of a query does not
 * depend on the number of rules, devices and processes, unless documented otherwise. No query creates anything.
 * Objects that this process may not see count as absent.
 */
export interface Traces {
  /**
   * The iptables variants that hold a user-defined chain. For the legacy variant the table is copied (a millisecond for
   * some thousands of rules) if it changed since the last query.
   */
  variantsWith(id: ChainId): Promise<readonly IptablesVariant[]>
  /** Whether nftables has a table of this name in the family `ip`, `ip6` or `inet`. */
  hasNftTable(family: TableFamily, name: string): Promise<boolean>
  /** All network devices; linear in their number. */
  devices(): Promise<ReadonlySet<string>>
  /** Processes with one of these names; linear in the number of processes. No name over 15 characters is found. */
  processes(names: readonly string[]): Promise<readonly FoundProcess[]>
  close(): void
}

/** Finds nothing: for a process that may not search. */
export const noopTraces: Traces = {
  variantsWith: async () => [],
  hasNftTable: async () => false,
  devices: async () => new Set(),
  processes: async () => [],
  close: () => {},
}

/**
 * Searches with single requests to nf_tables, in the legacy tables, and in /proc. Sockets are opened with the first
 * query, and belong to the network namespace of this process.
 */
export class KernelTraces implements Traces {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #session: NetlinkSession | undefined
  #legacy: Promise<LegacyChains | undefined> | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async variantsWith(id: ChainId): Promise<readonly IptablesVariant[]> {
    // iptables-nft keeps its chains in nftables tables that have the names of the iptables tables.
    const attributes = attributesOf(id.family, id.table).text(NFTA.chainName, id.chain)
    const nft = await this.#exists('getChain', attributes)
    this.#legacy ??= openLegacyChains()
    const legacy = (await (await this.#legacy)?.has(id)) ?? false
    return [...(nft ? ['nft' as const] : []), ...(legacy ? ['legacy' as const] : [])]
  }

  hasNftTable(family: TableFamily, name: string): Promise<boolean> {
    return this.#exists('getTable', attributesOf(family, name))
  }

  async devices(): Promise<ReadonlySet<string>> {
    const text = await readFile('/proc/self/net/dev', 'latin1').catch(() => '')
    return new Set([...text.matchAll(/^ *([^\s:|]+):/gm)].map(([, name = '']) => name))
  }

  processes(names: readonly string[]): Promise<readonly FoundProcess[]> {
    return processesNamed(names)
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
    void this.#legacy?.then((legacy) => legacy?.close())
    this.#legacy = undefined
  }

  /**
   * Whether the object with these attributes exists. A kernel that has no nf_tables or refuses the request counts as
   * having no such object.
   */
  async #exists(message: 'getTable' | 'getChain', attributes: AttributeWriter): Promise<boolean> {
    this.#session ??= new NetlinkSession(this.#open, this.#clock)
    const type = nfMessageType('nftables', NFT_MSG[message])
    const request = { type, flags: 0, payload: attributes.written() }
    return (await this.#session.request(request, () => undefined)) === undefined
  }
}

/**
 * The processes of this network namespace that have one of these names. The kernel keeps the first 15 characters of a
 * name, so a longer one in `names` matches nothing. A process whose network namespace this process may not read is
 * included, one that has ended (a zombie) is not. In a container with its own PID namespace only the processes of the container are visible.
 */
async function processesNamed(names: readonly string[]): Promise<readonly FoundProcess[]> {
  const ours = await namespaceOf('/proc/self')
  const found: FoundProcess[] = []
  for (const pid of await pids()) {
    const folder = join('/proc', pid)
    const name = (await readFile(join(folder, 'comm'), 'latin1').catch(() => '')).trimEnd()
    if (!names.includes(name)) continue
    const theirs = await namespaceOf(folder)
    if (theirs === undefined || theirs === ours) found.push({ name, pid: Number(pid) })
  }
  return found
}

async function pids(): Promise<readonly string[]> {
  const entries = await readdir('/proc').catch(() => [])
  return entries.filter((entry) => /^\d+$/.test(entry))
}

/**
 * The network namespace of the process with this folder in /proc; empty if the process has ended, undefined if this
 * process may not read it.
 */
function namespaceOf(folder: string): Promise<string | undefined> {
  return readlink(join(folder, 'ns/net')).catch((error: unknown) =>
    systemCode(error) === 'ENOENT' ? '' : undefined,
  )
}

/** The state of a legacy table at the last query, and whether it had the chain. */
interface Seen {
  readonly info: TableInfo
  readonly found: boolean
}

type Reader = Pick<TableReader, 'info' | 'entries' | 'close'>

/**
 * Returns the legacy tables that exist in this network namespace. They are listed, because a request for one would
 * create it.
 */
type TableNames = (family: Family) => Promise<readonly string[]>

/**
 * Searches for user-defined chains of the legacy iptables. Its kernel interface has no request for a single chain, so a
 * whole table is copied. A table whose number of entries and size are the same as at the last query counts as
 * unchanged.
 */
export class LegacyChains {
  readonly #reader: Reader
  readonly #names: TableNames
  readonly #seen = new Map<string, Seen>()

  constructor(reader: Reader, names: TableNames = tablesOf) {
    this.#reader = reader
    this.#names = names
  }

  /**
   * Whether the chain exists. If the table changes while it is copied, the result is that of the last query, or false
   * if there was none.
   */
  async has({ family, table, chain }: ChainId): Promise<boolean> {
    const key = `${family}/${table}/${chain}`
    const info = (await this.#names(family)).includes(table) && this.#reader.info(family, table)
    if (!info) return this.#forget(key)
    const before = this.#seen.get(key)
    if (before && before.info.entries === info.entries && before.info.size === info.size) {
      return before.found
    }
    const entries = this.#reader.entries(family, table)
    if (entries === undefined) return before?.found ?? false
    // A user-defined chain begins with an entry whose target contains a revision, which is 0, the name of the chain, and
    // a NUL (struct xt_error_target).
    const found = entries.includes(`\0${chain}\0`, 0, 'latin1')
    this.#seen.set(key, { info, found })
    return found
  }

  close(): void {
    this.#reader.close()
  }

  #forget(key: string): false {
    this.#seen.delete(key)
    return false
  }
}

/** Returns undefined if this Node.js has no foreign function interface (node:ffi), or libc.so.6 cannot be loaded. */
async function openLegacyChains(): Promise<LegacyChains | undefined> {
  try {
    const { default: ffi } = await import('node:ffi')
    const libc: ReaderLibC = ffi.dlopen('libc.so.6', READER_SIGNATURES).functions
    return new LegacyChains(new TableReader(libc))
  } catch {
    return undefined
  }
}

/** The names in /proc/net/ip_tables_names or ip6_tables_names; none if the file cannot be read. */
async function tablesOf(family: Family): Promise<readonly string[]> {
  const file = `/proc/self/net/ip${family === 4 ? '' : '6'}_tables_names`
  return readFile(file, 'utf8').then(
    (names) => names.split('\n'),
    () => [],
  )
}

/** The attributes that name a table, after `struct nfgenmsg`. */
function attributesOf(family: TableFamily, table: string): AttributeWriter {
  return new AttributeWriter().header(...nfHeader(family)).text(NFTA.table, table)
}
