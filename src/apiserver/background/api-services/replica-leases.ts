import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import { stringAt, valueAt } from '../../../lib/json.ts'
import type { Store, StoredEntry } from '../../../storage/store.ts'
import { parseJson } from '../../encoding/parse-json.ts'
import { deleteUnchanged } from '../../persist/delete-unchanged.ts'
import { StatusError } from '../../status/status.ts'
import type { ReplicaAddress } from './replica-address.ts'

/** Keys of the store that are no objects: one for each server, written anew in every round. */
const PREFIX = '/masters/'

/** Nesting of a lease. */
const DEPTH = 2

/** A server whose key stays the same for so many rounds is gone. */
const MAX_MISSED = 4

/**
 * Which servers live. Rounds are counted instead of comparing times, so clocks
 * that differ or jump do no harm.
 */
export class ReplicaLeases {
  readonly #store: Store
  readonly #seen = new Map<string, { readonly revision: number; readonly missed: number }>()

  constructor(store: Store) {
    this.#store = store
  }

  async renew(replica: ReplicaAddress): Promise<void> {
    const value = Buffer.from(JSON.stringify(replica))
    const operations = [{ op: 'put', key: keyOf(replica), value } as const]
    await this.#store.txn({ compare: [], operations })
  }

  async withdraw(replica: ReplicaAddress): Promise<void> {
    const operations = [{ op: 'delete', key: keyOf(replica) } as const]
    await this.#store.txn({ compare: [], operations })
  }

  /** Looks at all leases once a round, and removes those of servers that are gone. */
  async round(): Promise<void> {
    const entries = await this.#entries()
    const before = new Map(this.#seen)
    this.#seen.clear()
    for (const { key, modRevision: revision } of entries) {
      const known = before.get(key)
      const missed = known?.revision === revision ? known.missed + 1 : 0
      if (missed < MAX_MISSED) this.#seen.set(key, { revision, missed })
      else await deleteUnchanged(this.#store, key, revision)
    }
  }

  /** The servers that live, in a fixed order. */
  async living(): Promise<readonly ReplicaAddress[]> {
    return (await this.#entries()).flatMap(({ value }) => readReplica(value) ?? [])
  }

  async #entries(): Promise<readonly StoredEntry[]> {
    const page = await this.#store.list({ prefix: PREFIX })
    return page.refused === undefined ? page.entries : []
  }
}

function keyOf({ ip, port }: ReplicaAddress): string {
  return `${PREFIX}${ip}/${port}`
}

/** Undefined: it cannot be read; it is removed when no server renews it. */
function readReplica(value: Buffer): ReplicaAddress | undefined {
  const lease = parseJson(value, DEPTH)
  if (lease instanceof StatusError) return undefined
  const ip: IpAddress | undefined = parseIp(stringAt(lease, 'ip'))
  const port = Number(valueAt(lease, 'port'))
  return ip === undefined ? undefined : { ip, port }
}
