import { parseRuleset, type Ruleset } from '../../../../src/explain/xtables/model/ruleset.ts'
import type { Iptables, TableName } from '../../../../src/kernel/iptables/iptables.ts'
import type { FakeIptables } from '../../../../src/kernel/iptables/testing/fake-iptables.ts'
import type { Family } from '../../../../src/lib/ip.ts'

const TABLES: readonly TableName[] = ['mangle', 'nat', 'filter']

/** The tables of one family at one moment. */
export interface XtablesState {
  readonly ruleset: Ruleset
  /** Texts that are equal for tables with the same content. */
  readonly listings: ReadonlyMap<string, string>
}

/** An iptables that writes one table after the other, as the program does, and records the states in between. */
export class RecordedIptables {
  readonly states: XtablesState[] = []
  readonly #fake: FakeIptables
  readonly #family: Family

  constructor(fake: FakeIptables, family: Family) {
    this.#fake = fake
    this.#family = family
  }

  /** The wrapped fake. Throws for what the fake refuses. */
  get iptables(): Iptables {
    const fake = this.#fake
    return {
      backend: fake.backend,
      version: fake.version,
      save: (...args) => fake.save(...args),
      counters: (...args) => fake.counters(...args),
      listChain: (...args) => fake.listChain(...args),
      restore: async (family, text) => {
        const whole = typeof text === 'string' ? text : [...text].join('')
        const commits = whole.split(/(?<=^COMMIT\n)/m)
        for (const commit of commits) {
          const result = await fake.restore(family, commit)
          if (!result.ok) throw new Error(`${result.message}: ${commit}`)
          await this.record()
        }
        return { ok: true, commits: commits.length, pid: 1 }
      },
    }
  }

  /** Records the present tables. */
  async record(): Promise<void> {
    const listings = new Map<string, string>()
    for (const table of TABLES) listings.set(table, await this.#list(table))
    this.states.push({ listings, ruleset: parseRuleset([...listings.values()].join('')) })
  }

  async #list(table: TableName): Promise<string> {
    const { chains } = await this.#fake.save(this.#family, table)
    const lines = [...chains].flatMap(([name, { policy, rules }]) => [
      `:${name} ${policy ?? '-'} [0:0]`,
      ...rules.map((rule) => `-A ${name} ${rule}`),
    ])
    return [`*${table}`, ...lines, 'COMMIT', ''].join('\n')
  }
}
