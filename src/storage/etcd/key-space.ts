import { bufferOver, ownBuffer } from '../../lib/own-buffer.ts'
import type { StoredEntry } from '../store.ts'
import type { KeyValue } from './generated/etcd_pb.ts'

/** All keys from `key` on that are smaller than `rangeEnd`. */
export interface KeyRange {
  readonly key: Buffer
  readonly rangeEnd: Buffer
}

/**
 * The keys of one store in etcd. In etcd they are under `root`, so that several clusters can share an etcd. The keys of
 * the store begin with `/` and are ASCII.
 *
 * The marker is a further key, which every changing transaction of the store writes. Its modRevision is the revision of
 * the store. The revision of etcd is not used for this, because other clients of etcd advance it too, of which the
 * watches of the store are not notified. They are notified of each revision of the marker.
 */
export class KeySpace {
  /** The key of the marker. It sorts before all keys of the store, because `.` sorts before `/`. */
  readonly marker: Buffer
  readonly #root: string

  /** `root`: the prefix in etcd, such as `/registry`; slashes at its end are ignored. */
  constructor(root: string) {
    this.#root = root.replace(/\/+$/, '')
    this.marker = this.encode('.revision')
  }

  /** The key in etcd of a key of the store. */
  encode(key: string): Buffer {
    return Buffer.from(this.#root + key)
  }

  /** The key of the store of a key in etcd. */
  decode(bytes: Uint8Array): string {
    return bufferOver(bytes).toString().slice(this.#root.length)
  }

  /** The keys that begin with `prefix` (empty: all keys of the store) and are greater than `after`. */
  range(prefix: string, after = ''): KeyRange {
    const first = this.encode(prefix === '' ? '/' : prefix)
    const next = this.encode(`${after}\0`)
    return { key: Buffer.compare(first, next) > 0 ? first : next, rangeEnd: successor(first) }
  }

  /** The range of the marker and all keys of the store. */
  everything(): KeyRange {
    return { key: this.marker, rangeEnd: this.range('/').rangeEnd }
  }

  /** The entry of a pair in a response of etcd. The value is copied: a view would keep the whole response in memory. */
  entry(pair: KeyValue): StoredEntry {
    return {
      key: this.decode(pair.key),
      value: ownBuffer(pair.value),
      createRevision: Number(pair.createRevision),
      modRevision: Number(pair.modRevision),
    }
  }
}

/** The smallest key that is greater than every key with this prefix. The prefix must be ASCII, and not empty. */
function successor(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix)
  end[end.length - 1]! += 1
  return end
}
