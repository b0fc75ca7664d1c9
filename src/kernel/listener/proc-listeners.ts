import { readFileSync } from 'node:fs'
import type { Listener, Listeners } from './listeners.ts'
import { parseSctpTable, parseSocketTable } from './socket-table.ts'

/** Reads the socket tables under /proc/net; a missing one (no IPv6, no SCTP) is empty. */
export class ProcListeners implements Listeners {
  readonly #root: string

  constructor(root = '/proc/self/net') {
    this.#root = root
  }

  list(): readonly Listener[] {
    return [
      ...parseSocketTable(this.#read('tcp'), 'TCP'),
      ...parseSocketTable(this.#read('tcp6'), 'TCP'),
      ...parseSocketTable(this.#read('udp'), 'UDP'),
      ...parseSocketTable(this.#read('udp6'), 'UDP'),
      ...parseSctpTable(this.#read('sctp/eps')),
    ]
  }

  #read(table: string): string {
    try {
      return readFileSync(`${this.#root}/${table}`, 'latin1')
    } catch {
      return ''
    }
  }
}
