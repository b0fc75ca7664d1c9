import { readFile } from 'node:fs/promises'
import type { Family } from '../../lib/ip.ts'
import { READER_SIGNATURES, type ReaderLibC, TableReader } from '../xtables-watch/table-reader.ts'
import type { TableInfo } from '../xtables-watch/xtables.ts'
import type { ChainId } from './traces.ts'

interface Seen {
  readonly info: TableInfo
  readonly found: boolean
}

type Reader = Pick<TableReader, 'info' | 'entries' | 'close'>

/** Tables that exist in this network namespace; a question about another one would create it. */
export type TableNames = (family: Family) => Promise<readonly string[]>

/** Looks for chains of the legacy iptables, which has no request for one chain. */
export class LegacyChains {
  readonly #reader: Reader
  readonly #names: TableNames
  readonly #seen = new Map<string, Seen>()

  constructor(reader: Reader, names: TableNames = tablesOf) {
    this.#reader = reader
    this.#names = names
  }

  async has(place: ChainId): Promise<boolean> {
    const { family, table, chain } = place
    const key = `${family}/${table}/${chain}`
    const info = (await this.#names(family)).includes(table) && this.#reader.info(family, table)
    if (!info) return this.#forget(key)
    const before = this.#seen.get(key)
    if (before && before.info.entries === info.entries && before.info.size === info.size) {
      return before.found
    }
    const entries = this.#reader.entries(family, table)
    if (entries === undefined) return before?.found ?? false
    const found = entries.includes(`${chain}\0`, 0, 'latin1')
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

/** Undefined when this Node has no foreign function interface. */
export async function openLegacyChains(): Promise<LegacyChains | undefined> {
  try {
    const { default: ffi } = await import('node:ffi')
    const libc: ReaderLibC = ffi.dlopen('libc.so.6', READER_SIGNATURES).functions
    return new LegacyChains(new TableReader(libc))
  } catch {
    return undefined
  }
}

async function tablesOf(family: Family): Promise<readonly string[]> {
  const file = `/proc/self/net/ip${family === 4 ? '' : '6'}_tables_names`
  return readFile(file, 'utf8').then(
    (names) => names.split('\n'),
    () => [],
  )
}
