import { ownBuffer } from '../../lib/own-buffer.ts'
import type { StoredEntry } from '../store.ts'
import type { KeyValue } from './generated/etcd_pb.ts'

/** All keys from `key` on that are smaller than `rangeEnd`. */
export interface KeyRange {
  readonly key: Buffer
  readonly rangeEnd: Buffer
}

/**
 * The part of etcd's keys that is one store: those under `root`, so that several
 * clusters can share an etcd. The store's own keys begin with `/` and are ASCII.
 *
 * Just before them lies the marker, which every changing transaction writes. Its
 * modRevision is the store's revision: unlike etcd's own, which others advance,
 * the store's watches see each one of them pass.
 */
export class KeySpace {
  readonly marker: Buffer
  readonly #root: string

  /** `root` as in `/registry`; a slash at its end makes no difference. */
  constructor(root: string) {
    this.#root = root.replace(/\/+$/, '')
    this.marker = this.encode('.revision')
  }

  encode(key: string): Buffer {
    return Buffer.from(this.#root + key)
  }

  decode(bytes: Uint8Array): string {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      .toString()
      .slice(this.#root.length)
  }

  /** The keys under `prefix` that are greater than `after`. */
  range(prefix: string, after = ''): KeyRange {
    const first = this.encode(prefix === '' ? '/' : prefix)
    const next = this.encode(`${after}\0`)
    return { key: Buffer.compare(first, next) > 0 ? first : next, rangeEnd: successor(first) }
  }

  /** The marker and all keys, and what else may lie between: keys that begin with no `/`. */
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
