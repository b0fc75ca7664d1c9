import type { ForeignChange, ObjectKey } from '../mode.ts'
import { SetInspector } from '../netfilter/sets/set-inspector.ts'
import type { SetMembers } from '../netfilter/sets/set-members.ts'
import { digestText } from './servers/server-spec.ts'
import type { VirtualServers } from './servers/virtual-servers.ts'

/** Virtual servers looked at in each round. */
const PER_ROUND = 16
const BY = 'another program'

/**
 * IPVS notifies no process of changes, so this looks for them. One round checks whether the
 * next few virtual servers are still there (a flush removes all of them), whether the sets
 * hold as many members as we put in, and whether those virtual servers and the next set
 * are as we left them.
 */
export class Inspection {
  readonly #servers: VirtualServers
  readonly #sets: SetInspector
  #position = 0

  constructor(servers: VirtualServers, sets: SetMembers) {
    this.#servers = servers
    this.#sets = new SetInspector(sets)
  }

  /** One round; undefined: all that it saw is as we left it. */
  async look(): Promise<ForeignChange | undefined> {
    if (await this.#sets.isDisturbed()) return { keys: 'all', by: BY }
    const { known } = this.#servers
    const sample = this.#next([...known.keys()])
    const texts = await this.#servers.look(sample)
    if (sample.length > 0 && texts.size === 0) return { keys: 'all', by: BY }
    const altered = sample.filter((key) => {
      const [now, before] = [texts.get(key), known.get(key)]
      return now === undefined || before === undefined || digestText(now) !== digestText(before)
    })
    const keys = [...altered, ...(await this.#sets.alteredInNext())]
    return keys.length > 0 ? { keys, by: BY } : undefined
  }

  #next(keys: readonly ObjectKey[]): readonly ObjectKey[] {
    if (this.#position >= keys.length) this.#position = 0
    const sample = keys.slice(this.#position, this.#position + PER_ROUND)
    this.#position += PER_ROUND
    return sample
  }
}
