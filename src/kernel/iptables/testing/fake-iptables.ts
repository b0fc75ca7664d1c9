import type { Family } from '../../../lib/ip.ts'
import type {
  CountedRule,
  Iptables,
  IptablesVariant,
  RestoreFailureKind,
  RestoreResult,
  SavedChain,
  SavedTable,
  SaveOptions,
  TableName,
} from '../iptables.ts'
import { type FakeRule, FakeTable, isTableName } from './fake-table.ts'

export interface InjectedFailure {
  readonly kind: RestoreFailureKind
  readonly message?: string
  /** The failed restore takes effect nonetheless: a `timeout` after the commit. */
  readonly applied?: boolean
}

export interface FakeIptablesOptions {
  readonly backend?: IptablesVariant
  /** Which IP sets exist, for example a FakeSets; without it no set exists. */
  readonly sets?: { has(name: string): boolean }
}

/** Executes restore texts as iptables and the kernel would, and refuses what they refuse. */
export class FakeIptables implements Iptables {
  readonly backend: IptablesVariant
  readonly version = '1.8.9'
  /** COMMITs that took effect. */
  transactions = 0
  /** Calls of `restore`, and the texts of all of them. */
  readonly texts: string[] = []
  readonly #sets: { has(name: string): boolean }
  readonly #tables = new Map<string, FakeTable>()
  readonly #packets = new WeakMap<FakeRule, number>()
  readonly #failures: InjectedFailure[] = []
  readonly #refused = new Set<RegExp>()

  constructor(options: FakeIptablesOptions = {}) {
    this.backend = options.backend ?? 'nft'
    this.#sets = options.sets ?? new Set()
  }

  async save(family: Family, table: TableName, options: SaveOptions = {}): Promise<SavedTable> {
    const chains = new Map<string, SavedChain>()
    for (const [name, chain] of this.#table(family, table).chains) {
      if (options.keep !== undefined && !options.keep(name)) continue
      chains.set(name, { policy: chain.policy, rules: chain.rules.map((rule) => rule.text) })
    }
    return { chains }
  }

  async counters(
    family: Family,
    table: TableName,
    visit: (counted: CountedRule) => void,
  ): Promise<void> {
    for (const [chain, { rules }] of this.#table(family, table).chains) {
      for (const rule of rules) {
        const packets = this.#packets.get(rule) ?? 0
        if (packets > 0) visit({ chain, rule: rule.text, packets })
      }
    }
  }

  /**
   * Lets `packets` packets meet the matching rules of the IPv4 nat table; the counter of a rule that is written again
   * begins at 0.
   */
  pass(pattern: RegExp, packets: number): void {
    for (const [chain, { rules }] of this.#table(4, 'nat').chains) {
      for (const rule of rules) {
        if (!pattern.test(`-A ${chain} ${rule.text}`)) continue
        this.#packets.set(rule, (this.#packets.get(rule) ?? 0) + packets)
      }
    }
  }

  async listChain(family: Family, table: TableName, chain: string) {
    return this.#table(family, table)
      .chains.get(chain)
      ?.rules.map((rule) => rule.text)
  }

  async restore(family: Family, text: string | Iterable<string>): Promise<RestoreResult> {
    const whole = typeof text === 'string' ? text : [...text].join('')
    this.texts.push(whole)
    const failure = this.#failures.shift()
    if (failure !== undefined && failure.applied !== true) return injected(failure)
    const result = this.#execute(family, whole)
    return failure === undefined ? result : injected(failure)
  }

  /** A restore by another process: not counted, never made to fail; throws when refused. */
  alter(family: Family, text: string): void {
    const { transactions } = this
    const result = this.#execute(family, text)
    this.transactions = transactions
    if (!result.ok) throw new Error(`line ${result.line}: ${result.message}`)
  }

  /** The next `times` restores fail as given. */
  failNext(failure: InjectedFailure, times = 1): void {
    for (let i = 0; i < times; i++) this.#failures.push(failure)
  }

  /** From now on a line that matches is refused; returns a function that ends this. */
  refuse(pattern: RegExp): () => void {
    this.#refused.add(pattern)
    return () => this.#refused.delete(pattern)
  }

  /** Whether any rule names this ipset. */
  refersTo(set: string): boolean {
    for (const table of this.#tables.values()) {
      for (const { rules } of table.chains.values()) {
        if (rules.some((rule) => rule.sets.includes(set))) return true
      }
    }
    return false
  }

  /** Everything that is held, in the form of iptables-save, chains sorted by name. */
  dump(): string {
    const lines: string[] = []
    for (const [key, table] of [...this.#tables].sort(([a], [b]) => (a < b ? -1 : 1))) {
      lines.push(`# ${key}`)
      for (const [name, chain] of [...table.chains].sort(([a], [b]) => (a < b ? -1 : 1))) {
        lines.push(`:${name} ${chain.policy ?? '-'}`)
        for (const rule of chain.rules) lines.push(`-A ${name} ${rule.text}`.trimEnd())
      }
    }
    return `${lines.join('\n')}\n`
  }

  #table(family: Family, name: TableName): FakeTable {
    const key = `${family}/${name}`
    const hasSet = (set: string) => this.#sets.has(set)
    const table = this.#tables.get(key) ?? FakeTable.empty({ family, hasSet }, name)
    this.#tables.set(key, table)
    return table
  }

  #execute(family: Family, text: string): RestoreResult {
    let commits = 0
    let open: { name: TableName; table: FakeTable } | undefined
    const lines = text.split('\n')
    for (const [index, line] of lines.entries()) {
      const fail = (message: string) => refusal(message, index + 1, commits)
      if (line === '' || line.startsWith('#')) continue
      if (line.startsWith('*')) {
        const name = line.slice(1)
        if (open !== undefined) return fail('COMMIT expected')
        if (!isTableName(name)) return fail(`table name '${name}' invalid`)
        open = { name, table: this.#table(family, name).copy() }
      } else if (open === undefined) return fail(`${JSON.stringify(line)} outside a table`)
      else if (line === 'COMMIT') {
        this.#tables.set(`${family}/${open.name}`, open.table)
        this.transactions++
        commits++
        open = undefined
      } else {
        const wrong = this.#refusal(line) ?? open.table.execute(line)
        if (wrong !== undefined) return this.#fails(lines, { index, wrong, commits })
      }
    }
    if (open !== undefined) return refusal('COMMIT expected', lines.length, commits)
    return { ok: true, commits, pid: 1 }
  }

  /** The nft variant notices a missing chain only at the COMMIT, and names that line. */
  #fails(
    lines: readonly string[],
    at: { readonly index: number; readonly wrong: string; readonly commits: number },
  ): RestoreResult {
    const late = this.backend === 'nft' && at.wrong.startsWith("Chain '")
    const line = late ? lines.indexOf('COMMIT', at.index) + 1 : at.index + 1
    return refusal(at.wrong, line, at.commits)
  }

  #refusal(line: string): string | undefined {
    for (const pattern of this.#refused) if (pattern.test(line)) return 'refused by this kernel'
    return undefined
  }
}

function refusal(message: string, line: number, commits: number): RestoreResult {
  return { ok: false, kind: 'refused', message, line, commits, pid: 1 }
}

function injected(failure: InjectedFailure): RestoreResult {
  const commits = failure.kind === 'timeout' ? undefined : 0
  const message = failure.message ?? 'injected'
  return { ok: false, kind: failure.kind, message, commits, pid: 1 }
}
