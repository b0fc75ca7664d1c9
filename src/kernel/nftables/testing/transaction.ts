import { constants } from 'node:os'
import type { ChainSpec, Command, Hook, Rule, SetSpec, Table, TableSpec } from '../objects.ts'
import { checkRule } from './check-rule.ts'
import { addElements, deleteElements, removeElement, useTarget } from './element-commands.ts'
import { checkSet, FakeSet } from './fake-set.ts'
import type { FakeChain, FakeTable, HeldRule } from './fake-table.ts'
import type { ForeignCommand } from './foreign-command.ts'
import { Journal } from './journal.ts'
import { isTooLong } from './names.ts'

const { EBUSY, EEXIST, ENOENT, EOPNOTSUPP, EPERM, ERANGE } = constants.errno

/** The kernel's conntrack comes first (NF_IP_PRI_CONNTRACK): no chain of type nat may come before it. */
const BEFORE_CONNTRACK = -200

/** By family and name. */
export type Tables = Map<string, FakeTable>

/** One transaction of one socket: each step is executed, or refused with an errno. */
export class Transaction {
  readonly journal = new Journal()
  readonly #tables: Tables
  readonly #port: number
  readonly #now: number

  constructor(tables: Tables, { port, now }: { readonly port: number; readonly now: number }) {
    this.#tables = tables
    this.#port = port
    this.#now = now
  }

  /** The errno; 0 on success. */
  execute(command: ForeignCommand): number {
    if (command.do === 'flushRuleset') return this.#flushRuleset()
    if (namesOf(command).some(isTooLong)) return ERANGE
    if (command.do === 'addTable') return this.#addTable(command.table, command.spec)
    const held = this.#tables.get(keyOfTable(command.table))
    if (held === undefined) return ENOENT
    if (held.owner !== undefined && held.owner !== this.#port) return EPERM
    return this.#executeIn(held, command)
  }

  #executeIn(
    held: FakeTable,
    command: Exclude<ForeignCommand, { do: 'addTable' | 'flushRuleset' }>,
  ): number {
    switch (command.do) {
      case 'deleteTable':
        return this.#deleteTable(held)
      case 'flushTable':
        for (const chain of held.chains.values()) this.#setRules(held, chain, [])
        return 0
      case 'addChain':
        return this.#addChain(held, command.chain, command.spec ?? {})
      case 'deleteChain':
        return this.#deleteChain(held, command.chain)
      case 'addRule':
      case 'insertRule':
      case 'replaceRule':
      case 'deleteRule':
      case 'flushChain':
        return this.#changeRules(held, command)
      case 'addSet':
        return this.#addSet(held, command.set, command.spec)
      case 'deleteSet':
        return this.#deleteSet(held, command.set)
      case 'addElements':
      case 'deleteElements':
      case 'flushSet':
        return this.#changeElements(held, command)
    }
  }

  #addTable(table: Table, spec: TableSpec = {}): number {
    const key = keyOfTable(table)
    const held = this.#tables.get(key)
    if (held === undefined) {
      const owner = spec.isOwned ? this.#port : undefined
      const isPersistent = spec.isPersistent === true
      const content = { chains: new Map(), sets: new Map() }
      this.#put(this.#tables, key, { table, owner, isPersistent, ...content })
      return 0
    }
    if (held.owner !== undefined && held.owner !== this.#port) return EPERM
    if (held.isPersistent !== (spec.isPersistent === true)) return EOPNOTSUPP
    if ((held.owner !== undefined) === (spec.isOwned === true)) return 0
    return spec.isOwned && held.isPersistent ? this.#takeOver(held) : EOPNOTSUPP
  }

  /** A persistent table without an owner gets one. */
  #takeOver(held: FakeTable): number {
    held.owner = this.#port
    this.journal.record(() => {
      held.owner = undefined
    })
    return 0
  }

  #deleteTable(held: FakeTable): number {
    this.#remove(this.#tables, keyOfTable(held.table))
    return 0
  }

  #flushRuleset(): number {
    for (const held of [...this.#tables.values()]) {
      if (held.owner === undefined || held.owner === this.#port) this.#deleteTable(held)
    }
    return 0
  }

  #addChain({ chains }: FakeTable, name: string, spec: ChainSpec): number {
    const held = chains.get(name)
    const errno = held ? compareHooks(held.spec.hook, spec.hook) : checkHook(spec.hook)
    if (errno !== 0) return errno
    if (held) this.#setPolicy(held, spec)
    else this.#put(chains, name, { spec, rules: [], uses: 0 })
    return 0
  }

  #setPolicy(held: FakeChain, { hook }: ChainSpec): void {
    const before = held.spec
    this.journal.record(() => {
      held.spec = before
    })
    if (hook !== undefined) held.spec = { hook }
  }

  #deleteChain(held: FakeTable, name: string): number {
    const chain = held.chains.get(name)
    if (chain === undefined) return ENOENT
    if (chain.uses > 0) return EBUSY
    this.#setRules(held, chain, [])
    this.#remove(held.chains, name)
    return 0
  }

  #changeRules(
    held: FakeTable,
    command: Extract<ForeignCommand, { readonly chain: string }>,
  ): number {
    const chain = held.chains.get(command.chain)
    if (chain === undefined) return ENOENT
    const errno = 'rule' in command ? checkRule(command.rule, held) : 0
    if (errno !== 0) return errno
    const at = 'index' in command ? command.index : chain.rules.length
    const isOfOne = command.do === 'replaceRule' || command.do === 'deleteRule'
    if (isOfOne && chain.rules[at] === undefined) return ENOENT
    const rules = [...chain.rules]
    const added = 'rule' in command ? [holdRule(command.rule)] : []
    if (command.do === 'flushChain') rules.length = 0
    else rules.splice(at, isOfOne ? 1 : 0, ...added)
    this.#setRules(held, chain, rules)
    return 0
  }

  #addSet({ sets }: FakeTable, name: string, spec: SetSpec): number {
    const held = sets.get(name)
    if (held === undefined) {
      const errno = checkSet(spec)
      if (errno === 0) this.#put(sets, name, new FakeSet(spec))
      return errno
    }
    const errno = held.compare(spec)
    if (errno !== 0) return errno
    const before = held.spec
    this.journal.record(() => {
      held.spec = before
    })
    if (spec.size) held.spec = { ...before, size: spec.size }
    return 0
  }

  #deleteSet(held: FakeTable, name: string): number {
    const set = held.sets.get(name)
    if (set === undefined) return ENOENT
    if (set.uses > 0) return EBUSY
    const use = (by: 1 | -1) => {
      for (const element of set.store.all()) useTarget(element, { table: held, set }, by)
    }
    if (set.targets.size > 0) {
      use(-1)
      this.journal.record(() => use(1))
    }
    this.#remove(held.sets, name)
    return 0
  }

  #changeElements(
    table: FakeTable,
    command: Extract<ForeignCommand, { do: 'addElements' | 'deleteElements' | 'flushSet' }>,
  ): number {
    const set = table.sets.get(command.set)
    if (set === undefined) return ENOENT
    const work = { table, set, journal: this.journal, now: this.#now }
    if (command.do === 'addElements') return addElements(command.elements, work)
    if (command.do === 'deleteElements') return deleteElements(command.elements, work)
    for (const held of [...set.store.all()]) removeElement(held, work)
    return 0
  }

  /** Sets the rules of a chain, with the objects that they use; equal rules are no change. */
  #setRules(table: FakeTable, chain: FakeChain, rules: readonly HeldRule[]): void {
    const before = chain.rules
    if (before.length === 0 && rules.length === 0) return
    const change = (from: readonly HeldRule[], to: readonly HeldRule[]) => {
      const kept = new Set(to)
      const old = new Set(from)
      for (const rule of from) if (!kept.has(rule)) use(rule, table, -1)
      for (const rule of to) if (!old.has(rule)) use(rule, table, 1)
      chain.rules = to
    }
    change(before, rules)
    this.journal.record(() => change(rules, before))
  }

  #put<V>(map: Map<string, V>, key: string, value: V): void {
    map.set(key, value)
    this.journal.record(() => map.delete(key))
  }

  #remove<V>(map: Map<string, V>, key: string): void {
    const value = map.get(key)
    if (value === undefined || !map.delete(key)) return
    this.journal.record(() => map.set(key, value))
  }
}

export function keyOfTable({ family, name }: Table): string {
  return `${family} ${name}`
}

function namesOf(command: Exclude<ForeignCommand, { do: 'flushRuleset' }>): readonly string[] {
  const { table } = command
  const chain = 'chain' in command ? [command.chain] : []
  return [table.name, ...chain, ...('set' in command ? [command.set] : [])]
}

function checkHook(hook: Hook | undefined): number {
  if (hook?.type !== 'nat') return 0
  return hook.hook === 'forward' || hook.priority <= BEFORE_CONNTRACK ? EOPNOTSUPP : 0
}

/** The errno for adding a chain again; without a hook no check is made. */
function compareHooks(held: Hook | undefined, wanted: Hook | undefined): number {
  if (wanted === undefined) return 0
  if (held?.hook !== wanted.hook || held.priority !== wanted.priority) return EOPNOTSUPP
  return held.type === wanted.type ? 0 : EEXIST
}

function holdRule(rule: Rule): HeldRule {
  const chains: string[] = []
  const sets: string[] = []
  for (const one of rule.expressions) {
    if (one.type === 'lookup' || one.type === 'dynamic') sets.push(one.set)
    if (one.type === 'verdict' && 'chain' in one.verdict) chains.push(one.verdict.chain)
  }
  return { rule, chains, sets }
}

function use({ chains, sets }: HeldRule, table: FakeTable, by: 1 | -1): void {
  for (const name of chains) {
    const chain = table.chains.get(name)
    if (chain) chain.uses += by
  }
  for (const name of sets) {
    const set = table.sets.get(name)
    if (set) set.uses += by
  }
}

/** Whether the kernel checks the paths of the table after this command. */
export function needsValidation(command: ForeignCommand): command is Command {
  if ('rule' in command) return true
  if (command.do !== 'addElements') return false
  return command.elements.some(({ data }) => data !== undefined && 'chain' in data)
}
