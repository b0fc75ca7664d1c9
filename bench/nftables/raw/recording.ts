import { closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EncodedTransaction, encodedTransaction } from '../kernel/netfilter-requests.ts'

/** The environment variable with the file for `record-sends.ts`. */
export const RECORD_FILE = 'NPBENCH_RECORD'

const PRELOAD = new URL('record-sends.ts', import.meta.url).href

/** The transactions of a daemon that was started with `environment`. */
export class Recording {
  readonly environment: Readonly<Record<string, string>>
  readonly #file: string
  #read = 0

  constructor(folder: string) {
    this.#file = join(folder, 'transactions')
    writeFileSync(this.#file, '')
    const options = [process.env['NODE_OPTIONS'] ?? '', `--import=${PRELOAD}`]
    this.environment = { [RECORD_FILE]: this.#file, NODE_OPTIONS: options.join(' ').trim() }
  }

  /** The transactions since the last call, in their order. */
  take(): readonly EncodedTransaction[] {
    const bytes = this.#unread()
    const taken: EncodedTransaction[] = []
    for (let at = 0; at < bytes.length; ) {
      const start = at + 4
      at = start + bytes.readUInt32LE(at)
      taken.push(encodedTransaction(bytes.subarray(start, at)))
    }
    this.#read += bytes.length
    return taken
  }

  #unread(): Buffer {
    const file = openSync(this.#file, 'r')
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#read)
      readSync(file, bytes, 0, bytes.length, this.#read)
      return bytes
    } finally {
      closeSync(file)
    }
  }
}
