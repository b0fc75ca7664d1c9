import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ListPage, ListQuery, ListResult, RevisionRefusal, StoredEntry } from '../store.ts'
import type { Caller } from './caller.ts'
import { outcomeOf, refused, revisionFault } from './failure.ts'
import {
  KV,
  type RangeRequestSchema,
  type RangeResponse,
  type ResponseHeader,
  type ResponseOp,
  Watch,
} from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'
import { responses } from './rpc.ts'
import { createWatch } from './watch-session.ts'

/** Entries of one response; longer lists take several. */
const PAGE = 2000
/** How often a list is attempted when compaction removes the revision that it reads. */
const MAX_ATTEMPTS = 4

/** Entries at one revision, and the store's revision when the first of them were read. */
type Pages = Omit<ListPage, 'revision'> & { readonly newest: number }

type RangeRequest = MessageInitShape<typeof RangeRequestSchema>

/** Linearizable reads of one key space. All methods throw as `Caller.repeatable`. */
export class Reader {
  readonly #caller: Caller
  readonly #keys: KeySpace

  constructor(caller: Caller, keys: KeySpace) {
    this.#caller = caller
    this.#keys = keys
  }

  /** The revision of the store's last change; 0: there was none. */
  async revision(): Promise<number> {
    return markerOf(await this.#range({ key: this.#keys.marker }))
  }

  /** The store's revision as it was at a revision of etcd; undefined when the latter is compacted. */
  async revisionAt(etcdRevision: number): Promise<number | undefined> {
    try {
      const revision = BigInt(etcdRevision)
      return markerOf(await this.#range({ key: this.#keys.marker, revision }))
    } catch (error) {
      if (revisionFault(error) === 'compacted') return undefined
      throw error
    }
  }

  /** The revision of etcd: that of the last change by any client. */
  async etcdRevision(): Promise<number> {
    return revisionOf((await this.#range({ key: this.#keys.marker })).header)
  }

  /** The newest entry of a key; undefined: there is none. */
  async get(key: string): Promise<StoredEntry | undefined> {
    const { kvs } = await this.#range({ key: this.#keys.encode(key) })
    return kvs[0] && this.#keys.entry(kvs[0])
  }

  /**
   * Entries under a prefix at one revision. etcd may have compacted the requested revision although the
   * store has not changed since, because other clients advance the revision of etcd: then the list is
   * read at the oldest revision of etcd. `oldest` of a `future` refusal is 0, because etcd does not return it.
   */
  async list(query: ListQuery): Promise<ListResult> {
    const { revision } = query
    let at = revision === undefined ? 0 : Math.max(1, revision)
    for (let attempt = 1; ; attempt++) {
      try {
        const { newest, ...page } = await this.#pages(query, at)
        if (revision === undefined) return { ...page, revision: newest }
        return revision > newest ? future(newest) : { ...page, revision }
      } catch (error) {
        const fault = revisionFault(error)
        if (fault === undefined || attempt === MAX_ATTEMPTS) throw error
        if (revision === undefined) continue
        if (fault === 'future') return future(await this.revision())
        at = (await this.#oldestOfEtcd()) ?? at
        const oldest = await this.revisionAt(at)
        if (oldest === undefined || oldest <= revision) continue
        return { refused: 'compacted', oldest, newest: await this.revision() }
      }
    }
  }

  /** The state at a revision of etcd (0: the newest), in as many responses as it takes. */
  async #pages(query: ListQuery, at: number): Promise<Pages> {
    const { prefix, limit = Number.POSITIVE_INFINITY } = query
    const entries: StoredEntry[] = []
    let { after } = query
    let newest: number | undefined
    for (let revision = at; ; after = entries.at(-1)!.key) {
      const wanted = Math.min(limit - entries.length, PAGE)
      const { page, header, marker } = await this.#page({
        ...this.#keys.range(prefix, after),
        ...(wanted > 0 ? { limit: BigInt(wanted) } : { countOnly: true }),
        revision: BigInt(revision),
      })
      for (const pair of page.kvs) entries.push(this.#keys.entry(pair))
      revision ||= header
      newest ??= marker
      const remaining = Number(page.count) - page.kvs.length
      if (remaining === 0 || entries.length >= limit) return { entries, remaining, newest }
    }
  }

  /** One response, with the store's and etcd's revision of that moment. */
  async #page(range: RangeRequest) {
    const { header, responses: parts } = await this.#caller.repeatable(KV.method.txn, {
      success: [range, { key: this.#keys.marker }].map((value) => ({
        request: { case: 'requestRange' as const, value },
      })),
    })
    const [page, marker] = parts.map(rangeOf)
    return { page: page!, header: revisionOf(header), marker: markerOf(marker!) }
  }

  /**
   * The oldest revision of etcd. Once etcd has compacted, it ends a watch from revision 1 and names this
   * revision. Undefined when the endpoint does not answer in time; the pool then gives up the endpoint.
   */
  async #oldestOfEtcd(): Promise<number | undefined> {
    const { call, client } = await this.#caller.stream(Watch.method.watch)
    const late = setTimeout(() => call.cancel(), this.#caller.timeoutMs)
    try {
      call.write(createWatch(this.#keys.everything(), 1))
      for await (const { canceled, compactRevision, cancelReason } of responses(call)) {
        if (canceled && compactRevision === 0n) throw new Error(cancelReason)
        if (canceled) return Number(compactRevision)
      }
    } catch (error) {
      if (outcomeOf(error) === 'refused') throw refused('Watch', error)
      this.#caller.leave(client)
    } finally {
      clearTimeout(late)
      call.cancel()
    }
    return undefined
  }

  #range(request: RangeRequest): Promise<RangeResponse> {
    return this.#caller.repeatable(KV.method.range, request)
  }
}

function future(newest: number): RevisionRefusal {
  return { refused: 'future', oldest: 0, newest }
}

function rangeOf({ response }: ResponseOp): RangeResponse | undefined {
  return response.case === 'responseRange' ? response.value : undefined
}

function revisionOf(header: ResponseHeader | undefined): number {
  return Number(header?.revision ?? 0n)
}

/** 0 before the first change. */
function markerOf({ kvs }: RangeResponse): number {
  return Number(kvs[0]?.modRevision ?? 0n)
}
