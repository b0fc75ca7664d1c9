import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import { stringAt, valueAt } from '../../../lib/json.ts'
import type { Store, StoredEntry } from '../../../storage/store.ts'
import { parseJson } from '../../encoding/parse-json.ts'
import { deleteUnchanged } from '../../persist/persist.ts'
import { StatusError } from '../../status/status.ts'
import type { ReplicaAddress } from './replica-address.ts'

/**
 * The prefix of the store keys of servers, which are not objects of the API. Each server writes its key in
 * every round.
 */
const PREFIX = '/masters/'

/** Levels of nesting in the JSON of a key. */
const DEPTH = 2

/** Rounds in a row in which a key must stay the same before its server counts as gone. */
const MAX_MISSED = 4

/**
 * Which servers of the cluster are running. Each server counts the rounds in which the others wrote nothing. No
 * times are compared, so clocks may differ or jump.
 */
export class ReplicaLeases {
  readonly #store: Store
  readonly #seen = new Map<string, { readonly revision: number; readonly missed: number }>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Writes the key of a server. @throws the errors of the store */
  async renew(replica: ReplicaAddress): Promise<void> {
    const value = Buffer.from(JSON.stringify(replica))
    const operations = [{ op: 'put', key: keyOf(replica), value } as const]
    await this.#store.txn({ compare: [], operations })
  }

  /** Deletes the key of a server that stops. @throws the errors of the store */
  async withdraw(replica: ReplicaAddress): Promise<void> {
    const operations = [{ op: 'delete', key: keyOf(replica) } as const]
    await this.#store.txn({ compare: [], operations })
  }

  /** Counts one more round for all keys, and deletes those of servers that are gone. To be called once a round. */
  async expire(): Promise<void> {
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

  /** The running servers, in the order of their keys. */
  async running(): Promise<readonly ReplicaAddress[]> {
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

/** Undefined: the value is unreadable. Its key then expires like that of a server that is gone. */
function readReplica(value: Buffer): ReplicaAddress | undefined {
  const lease = parseJson(value, DEPTH)
  if (lease instanceof StatusError) return undefined
  const ip: IpAddress | undefined = parseIp(stringAt(lease, 'ip'))
  const port = Number(valueAt(lease, 'port'))
  return ip === undefined ? undefined : { ip, port }
}
