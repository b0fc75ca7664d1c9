import type { Family } from '../../../lib/ip.ts'
import type { TableName } from '../iptables.ts'
import { parseRule, splitWords, TARGETS } from './rule-grammar.ts'

const BUILT_IN: Readonly<Record<TableName, readonly string[]>> = {
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  raw: ['PREROUTING', 'OUTPUT'],
}
const MAX_NAME_LENGTH = 28

export interface FakeRule {
  readonly text: string
  /** The user-defined chain that the rule jumps to. */
  readonly chain: string | undefined
  readonly sets: readonly string[]
}

export interface FakeChain {
  readonly policy: string | undefined
  readonly rules: readonly FakeRule[]
}

export interface FakeRules {
  readonly family: Family
  readonly hasSet: (name: string) => boolean
}

export function isTableName(name: string): name is TableName {
  return Object.hasOwn(BUILT_IN, name)
}

/** One table as the kernel holds it. `execute` takes a line of a restore text. */
export class FakeTable {
  readonly #rules: FakeRules
  readonly #builtIn: ReadonlySet<string>
  readonly #chains: Map<string, FakeChain>
  readonly #references: Map<string, number>

  private constructor(
    rules: FakeRules,
    state: {
      readonly builtIn: ReadonlySet<string>
      readonly chains: Map<string, FakeChain>
      readonly references: Map<string, number>
    },
  ) {
    this.#rules = rules
    this.#builtIn = state.builtIn
    this.#chains = state.chains
    this.#references = state.references
  }

  static empty(rules: FakeRules, name: TableName): FakeTable {
    const builtIn = new Set(BUILT_IN[name])
    const policy = { policy: 'ACCEPT', rules: [] }
    const chains = new Map([...builtIn].map((chain) => [chain, policy]))
    return new FakeTable(rules, { builtIn, chains, references: new Map() })
  }

  /** A shallow working copy: chains are replaced and never changed. */
  copy(): FakeTable {
    const chains = new Map(this.#chains)
    const references = new Map(this.#references)
    return new FakeTable(this.#rules, { builtIn: this.#builtIn, chains, references })
  }

  get chains(): ReadonlyMap<string, FakeChain> {
    return this.#chains
  }

  /** Undefined if the line is accepted, else the error message of iptables. */
  execute(line: string): string | undefined {
    if (line.startsWith(':')) return this.#declare(line)
    const words = splitWords(line)
    const [command, chain, ...rest] = words ?? []
    if (words === undefined || command === undefined) return 'unbalanced quotes'
    if (command === '-F' && chain === undefined) return this.#flushAll()
    if (chain === undefined) return `${JSON.stringify(line)} cannot be parsed`
    if (command === '-N') return this.#create(chain)
    const existing = this.#chains.get(chain)
    if (existing === undefined) return 'No chain/target/match by that name.'
    if (command === '-F') return this.#set(chain, { ...existing, rules: [] })
    if (command === '-X') return this.#delete(chain, existing)
    if (command === '-P') return this.#policy(chain, existing, rest[0])
    return this.#edit(chain, existing, { command, rest, text: ruleText(line, rest) })
  }

  #declare(line: string): string | undefined {
    const match = /^:(\S+) (ACCEPT|DROP|-)(?: \[\d+:\d+\])?$/.exec(line)
    const name = match?.[1]
    if (match === null || name === undefined) return `${JSON.stringify(line)} cannot be parsed`
    const existing = this.#chains.get(name)
    if (this.#builtIn.has(name)) {
      const policy = match[2] === '-' ? existing?.policy : match[2]
      return this.#set(name, { policy, rules: existing?.rules ?? [] })
    }
    if (match[2] !== '-') return `${name} is not a built-in chain, it has no policy`
    return existing === undefined ? this.#create(name) : this.#set(name, { ...existing, rules: [] })
  }

  #create(name: string): string | undefined {
    if (this.#chains.has(name)) return 'Chain already exists.'
    if (name.length > MAX_NAME_LENGTH) return `chain name ${name} too long (must be under 29 chars)`
    if (TARGETS.has(name) || /^[-!]|[\s]/.test(name)) return `invalid chain name ${name}`
    this.#chains.set(name, { policy: undefined, rules: [] })
    return undefined
  }

  #delete(name: string, chain: FakeChain): string | undefined {
    if (this.#builtIn.has(name)) return `${name} is a built-in chain`
    if (chain.rules.length > 0) return `CHAIN_DEL failed (Device or resource busy): chain ${name}`
    if ((this.#references.get(name) ?? 0) > 0) return `Too many links: chain ${name} is referenced`
    this.#chains.delete(name)
    return undefined
  }

  #policy(name: string, chain: FakeChain, policy: string | undefined): string | undefined {
    if (!this.#builtIn.has(name)) return `${name} is not a built-in chain`
    if (policy !== 'ACCEPT' && policy !== 'DROP') return `bad policy name ${policy ?? ''}`
    return this.#set(name, { ...chain, policy })
  }

  #flushAll(): undefined {
    for (const [name, chain] of this.#chains) this.#set(name, { ...chain, rules: [] })
  }

  #edit(name: string, chain: FakeChain, edit: Edit): string | undefined {
    const rules = [...chain.rules]
    const numbered = /^\d+$/.test(edit.rest[0] ?? '')
    const number = numbered ? Number(edit.rest[0]) : undefined
    if (edit.command === '-D' && number !== undefined) {
      if (rules.splice(number - 1, 1).length === 0) return 'Index of deletion too big.'
      return this.#set(name, { ...chain, rules })
    }
    const words = numbered ? edit.rest.slice(1) : edit.rest
    const rule = this.#parse(words, numbered ? ruleText(edit.text, words) : edit.text)
    if (typeof rule === 'string') return rule
    const wrong = place(rules, rule, { command: edit.command, number })
    return wrong ?? this.#set(name, { ...chain, rules })
  }

  #parse(words: readonly string[], text: string): FakeRule | string {
    const parsed = parseRule(words, this.#rules.family)
    if (typeof parsed === 'string') return parsed
    if (parsed.chain !== undefined && !this.#chains.has(parsed.chain)) {
      return `Chain '${parsed.chain}' does not exist`
    }
    if (parsed.chain !== undefined && this.#builtIn.has(parsed.chain)) {
      return `cannot jump to the built-in chain ${parsed.chain}`
    }
    const missing = parsed.sets.find((set) => !this.#rules.hasSet(set))
    if (missing !== undefined) return `Set ${missing} doesn't exist.`
    return { text, ...parsed }
  }

  #set(name: string, chain: FakeChain): undefined {
    for (const rule of this.#chains.get(name)?.rules ?? []) this.#refer(rule, -1)
    for (const rule of chain.rules) this.#refer(rule, 1)
    this.#chains.set(name, chain)
  }

  #refer(rule: FakeRule, by: number): void {
    if (rule.chain === undefined) return
    this.#references.set(rule.chain, (this.#references.get(rule.chain) ?? 0) + by)
  }
}

interface Edit {
  readonly command: string
  readonly rest: readonly string[]
  readonly text: string
}

function place(
  rules: FakeRule[],
  rule: FakeRule,
  edit: { readonly command: string; readonly number: number | undefined },
): string | undefined {
  const at = (edit.number ?? 1) - 1
  if (edit.command === '-A' && edit.number === undefined) rules.push(rule)
  else if (edit.command === '-I') {
    if (at < 0 || at > rules.length) return 'Index of insertion too big.'
    rules.splice(at, 0, rule)
  } else if (edit.command === '-R' && edit.number !== undefined) {
    if (rules[at] === undefined) return 'Index of replacement too big.'
    rules[at] = rule
  } else if (edit.command === '-D') {
    const found = rules.findIndex((other) => other.text === rule.text)
    if (found < 0) return 'Bad rule (does a matching rule exist in that chain?).'
    rules.splice(found, 1)
  } else return `${JSON.stringify(edit.command)} cannot be parsed`
  return undefined
}

/** The rule as it was written, from its first word on, so that quotes stay. */
function ruleText(line: string, words: readonly string[]): string {
  let text = line
  for (let extra = (splitWords(line)?.length ?? 0) - words.length; extra > 0; extra--) {
    text = text.replace(/^\s*\S+\s*/, '')
  }
  return text.trim()
}
