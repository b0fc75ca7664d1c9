import type { SetCommand, Sets, SetType } from '../../kernel/ipset/sets.ts'
import type { Digest, KernelError, ObjectKey } from '../mode.ts'
import { PREFIX } from './names.ts'
import { SET_DIGEST, setKey, setName } from './set-key.ts'

type Command = readonly [ObjectKey, SetCommand]
type Failed = ReadonlyMap<ObjectKey, KernelError>

/** The IP sets that remember which clients stick to a backend: creates, lists and destroys them. */
export class AffinitySets {
  readonly #sets: Sets
  readonly #typeOf: (key: ObjectKey) => SetType | undefined
  /** Sets in the kernel, by the last list, creation and destruction. */
  readonly #present = new Set<ObjectKey>()

  /** `typeOf` returns the type with which a set is created; undefined: it is no longer wanted. */
  constructor(sets: Sets, typeOf: (key: ObjectKey) => SetType | undefined) {
    this.#sets = sets
    this.#typeOf = typeOf
  }

  /** Creates sets; the ones that the kernel refuses come back with its reason. */
  async create(keys: readonly ObjectKey[]): Promise<Failed> {
    const commands = keys.flatMap((key): Command[] => {
      const type = this.#typeOf(key)
      return type ? [[key, { do: 'create', name: setName(key), type }]] : []
    })
    const failed = await this.#run(commands)
    for (const [key] of commands) if (!failed.has(key)) this.#present.add(key)
    return failed
  }

  /** Destroys sets; one that a foreign rule still names stays, with the reason. */
  async destroy(keys: readonly ObjectKey[]): Promise<Failed> {
    const failed = await this.#run(keys.map((key) => [key, { do: 'destroy', name: setName(key) }]))
    for (const key of keys) if (!failed.has(key)) this.#present.delete(key)
    return failed
  }

  /**
   * Our sets in the kernel: all, or these. A kernel without IP sets serves all but
   * session affinity, so an error of ipset without sets means that there are none.
   */
  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const held = await this.#listed()
    this.#present.clear()
    for (const key of held) this.#present.add(key)
    const seen = keys ? keys.filter((key) => this.#present.has(key)) : held
    return new Map(seen.map((key) => [key, SET_DIGEST]))
  }

  async #listed(): Promise<readonly ObjectKey[]> {
    try {
      return (await this.#sets.names(PREFIX)).map(setKey)
    } catch (error) {
      if (this.#present.size > 0) throw error
      return []
    }
  }

  async #run(commands: readonly Command[]): Promise<Failed> {
    const failed = new Map<ObjectKey, KernelError>()
    if (commands.length === 0) return failed
    for (const { index, message } of await this.#sets.run(commands.map(([, what]) => what))) {
      const key = commands[index]?.[0]
      if (key) failed.set(key, { code: 'NP_IPTABLES_SET', message })
    }
    return failed
  }
}
