import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ListPage, ListQuery, ListResult, RevisionRefusal, StoredEntry } from '../store.ts'
import type { Caller } from './caller.ts'
import { revisionFault } from './failure.ts'
import { KV, type RangeRequestSchema, type RangeResponse, Watch } from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'
import { responses } from './rpc.ts'
import { createWatch } from './watch-request.ts'

/** Entries that one response may hold; longer lists are put together from several. */
const PAGE = 2000
/** How often a list of the newest state is begun again because compaction overtook it. */
const RESTARTS = 3

/** Reads of one key space, all linearizable. */
export class Reader {
  readonly #caller: Caller
  readonly #keys: KeySpace

  constructor(caller: Caller, keys: KeySpace) {
    this.#caller = caller
    this.#keys = keys
  }

  async revision(): Promise<number> {
    return revisionOf(await this.#range({ ...this.#keys.range('/'), countOnly: true }))
  }

  async get(key: string): Promise<StoredEntry | undefined> {
    const { kvs } = await this.#range({ key: this.#keys.encode(key) })
    return kvs[0] && this.#keys.entry(kvs[0])
  }

  async list(query: ListQuery): Promise<ListResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages(query)
      } catch (error) {
        const fault = revisionFault(error)
        if (fault === undefined) throw error
        if (query.revision !== undefined) return this.refusal(fault)
        if (attempt === RESTARTS) throw error
      }
    }
  }

  /** `oldest` is exact after `compacted`; for `future`, etcd does not tell it. */
  async refusal(refused: RevisionRefusal['refused']): Promise<RevisionRefusal> {
    const oldest = refused === 'compacted' ? await this.#oldest() : 0
    return { refused, oldest, newest: await this.revision() }
  }

  /** One state, read in as many responses as it takes. */
  async #pages(query: ListQuery): Promise<ListPage> {
    const { prefix, limit = Number.POSITIVE_INFINITY } = query
    const entries: StoredEntry[] = []
    let { after, revision } = query
    for (;;) {
      const wanted = Math.min(limit - entries.length, PAGE)
      const page = await this.#range({
        ...this.#keys.range(prefix, after),
        ...(wanted > 0 ? { limit: BigInt(wanted) } : { countOnly: true }),
        // Revision 1 is etcd before the first write, and 0 asks for the newest.
        revision: BigInt(revision === undefined ? 0 : Math.max(1, revision)),
      })
      for (const pair of page.kvs) entries.push(this.#keys.entry(pair))
      revision ??= revisionOf(page)
      const remaining = Number(page.count) - page.kvs.length
      if (remaining === 0 || entries.length >= limit) return { entries, revision, remaining }
      after = entries.at(-1)!.key
    }
  }

  /** A watch from the first revision on ends by saying where history begins, once it was compacted. */
  async #oldest(): Promise<number> {
    const { call } = await this.#caller.stream(Watch.method.watch)
    try {
      call.write(createWatch(this.#keys.range('/'), 1))
      for await (const response of responses(call)) {
        if (response.canceled) return Number(response.compactRevision)
      }
      return 0
    } finally {
      call.cancel()
    }
  }

  #range(request: MessageInitShape<typeof RangeRequestSchema>): Promise<RangeResponse> {
    return this.#caller.repeatable(KV.method.range, request)
  }
}

function revisionOf({ header }: RangeResponse): number {
  return Number(header?.revision ?? 0n)
}
