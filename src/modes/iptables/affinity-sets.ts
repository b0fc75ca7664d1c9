import type { Ipset } from '../../kernel/ipset/ipset.ts'
import type { Digest, ObjectKey, Refusal } from '../mode.ts'
import { PREFIX } from './names.ts'
import { SET_DIGEST, setKey, setName } from './set-key.ts'

type Failed = ReadonlyMap<ObjectKey, Refusal>

/** The sets that remember clients: makes, sees and destroys them. */
export class AffinitySets {
  readonly #ipset: Ipset
  readonly #optionsOf: (key: ObjectKey) => string | undefined
  /** Sets that the kernel holds, as last seen or made. */
  readonly #present = new Set<ObjectKey>()

  /** `optionsOf` gives the options of `ipset create`. */
  constructor(ipset: Ipset, optionsOf: (key: ObjectKey) => string | undefined) {
    this.#ipset = ipset
    this.#optionsOf = optionsOf
  }

  /** Creates sets; the ones that the kernel refuses come back with its reason. */
  async create(keys: readonly ObjectKey[]): Promise<Failed> {
    const command = (key: ObjectKey) =>
      `create ${setName(key)} ${this.#optionsOf(key) ?? ''} -exist`
    const failed = await this.#run(keys, command)
    for (const key of keys) if (!failed.has(key)) this.#present.add(key)
    return failed
  }

  /** Destroys sets; one that a foreign rule still names stays, with the reason. */
  async destroy(keys: readonly ObjectKey[]): Promise<Failed> {
    const failed = await this.#run(keys, (key) => `destroy ${setName(key)}`)
    for (const key of keys) if (!failed.has(key)) this.#present.delete(key)
    return failed
  }

  /**
   * Our sets in the kernel: all, or these. A node without ipset serves all but session
   * affinity, so there need be no sets to see.
   */
  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const held = await this.#held()
    this.#present.clear()
    for (const key of held) this.#present.add(key)
    const seen = keys ? keys.filter((key) => this.#present.has(key)) : held
    return new Map(seen.map((key) => [key, SET_DIGEST]))
  }

  async #held(): Promise<readonly ObjectKey[]> {
    try {
      return (await this.#ipset.names(PREFIX)).map(setKey)
    } catch (error) {
      if (this.#present.size > 0) throw error
      return []
    }
  }

  async #run(keys: readonly ObjectKey[], commandOf: (key: ObjectKey) => string): Promise<Failed> {
    const failed = new Map<ObjectKey, Refusal>()
    if (keys.length === 0) return failed
    for (const { index, message } of await this.#ipset.restore(keys.map(commandOf))) {
      const key = keys[index]
      if (key) failed.set(key, { code: 'NP_IPTABLES_SET', message })
    }
    return failed
  }
}
