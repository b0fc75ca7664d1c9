import { bufferOver, ownBuffer } from '../../lib/own-buffer.ts'
import type { StoredEntry } from '../store.ts'
import type { KeyValue } from './generated/etcd_pb.ts'

/** All keys from `key` on that are smaller than `rangeEnd`. */
export interface KeyRange {
  readonly key: Buffer
  readonly rangeEnd: Buffer
}

/**
 * The keys of one store in etcd: those under `root`, so that several
 * clusters can share an etcd. The keys of the store begin with `/` and are ASCII.
 *
 * The marker key sorts just before them, and every changing transaction writes it. Its
 * modRevision is the store's revision: other clients advance the revision of etcd, while each
 * revision of the marker reaches the watches of the store.
 */
export class KeySpace {
  readonly marker: Buffer
  readonly #root: string

  /** `root` such as `/registry`; slashes at its end are ignored. */
  constructor(root: string) {
    this.#root = root.replace(/\/+$/, '')
    this.marker = this.encode('.revision')
  }

  /** The key in etcd. */
  encode(key: string): Buffer {
    return Buffer.from(this.#root + key)
  }

  /** The key in the store. */
  decode(bytes: Uint8Array): string {
    return bufferOver(bytes).toString().slice(this.#root.length)
  }

  /** The keys under `prefix` that are greater than `after`. */
  range(prefix: string, after = ''): KeyRange {
    const first = this.encode(prefix === '' ? '/' : prefix)
    const next = this.encode(`${after}\0`)
    return { key: Buffer.compare(first, next) > 0 ? first : next, rangeEnd: successor(first) }
  }

  /** The marker and all keys of the store. */
  everything(): KeyRange {
    return { key: this.marker, rangeEnd: this.range('/').rangeEnd }
  }

  /** The value is copied: a view would keep the whole response in memory. */
  entry(pair: KeyValue): StoredEntry {
    return {
      key: this.decode(pair.key),
      value: ownBuffer(pair.value),
      createRevision: Number(pair.createRevision),
      modRevision: Number(pair.modRevision),
    }
  }
}

/** The smallest key that is greater than every key with this prefix, which is ASCII. */
function successor(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix)
  end[end.length - 1]! += 1
  return end
}
