import { constants } from 'node:os'
import type { Expression } from '../expression.ts'
import type { Hook } from '../objects.ts'
import type { FakeTable } from './fake-table.ts'

const { EMLINK, EOPNOTSUPP } = constants.errno

/** NFT_JUMP_STACK_SIZE. */
const MAX_LEVEL = 16

type HookName = Hook['hook']

/** From where statements may be reached: the hooks, and whether only from chains of type nat. */
const REACHABLE: Partial<
  Record<string, { readonly hooks: readonly HookName[]; readonly nat: boolean }>
> = {
  destination: { hooks: ['prerouting', 'output'], nat: true },
  source: { hooks: ['postrouting', 'input'], nat: true },
  masquerade: { hooks: ['postrouting'], nat: true },
  reject: { hooks: ['prerouting', 'input', 'forward', 'output'], nat: false },
  oif: { hooks: ['prerouting', 'input', 'forward'], nat: false },
}

/**
 * The kernel's check at the end of a transaction (nft_table_validate), starting from each chain that it calls: no path
 * may have 16 jumps, so there are no loops, and each statement must be allowed where it is. Returns 0 if everything is
 * valid.
 */
export function validateTable(table: FakeTable): number {
  for (const [name, { spec }] of table.chains) {
    const errno = spec.hook ? new Walk(table, spec.hook).enter(name, 0) : 0
    if (errno !== 0) return errno
  }
  return 0
}

/** All paths from one chain that the kernel calls. */
class Walk {
  readonly #table: FakeTable
  readonly #hook: Hook
  /** The deepest level at which each chain was entered: a shorter path to it shows nothing new. */
  readonly #levels = new Map<string, number>()

  constructor(table: FakeTable, hook: Hook) {
    this.#table = table
    this.#hook = hook
  }

  enter(name: string, level: number): number {
    if (level === MAX_LEVEL) return EMLINK
    if ((this.#levels.get(name) ?? -1) >= level) return 0
    this.#levels.set(name, level)
    for (const { rule } of this.#table.chains.get(name)?.rules ?? []) {
      for (const one of rule.expressions) {
        const errno = this.#check(one) || this.#follow(one, level)
        if (errno !== 0) return errno
      }
    }
    return 0
  }

  #check(one: Expression): number {
    const need = REACHABLE[kindOf(one)]
    if (need === undefined) return 0
    const { type, hook } = this.#hook
    return need.hooks.includes(hook) && (!need.nat || type === 'nat') ? 0 : EOPNOTSUPP
  }

  #follow(one: Expression, level: number): number {
    for (const chain of this.#targetsOf(one)) {
      const errno = this.enter(chain, level + 1)
      if (errno !== 0) return errno
    }
    return 0
  }

  #targetsOf(one: Expression): Iterable<string> {
    if (one.type === 'verdict') return 'chain' in one.verdict ? [one.verdict.chain] : []
    if (one.type !== 'lookup') return []
    return this.#table.sets.get(one.set)?.targets.keys() ?? []
  }
}

function kindOf(one: Expression): string {
  if (one.type === 'nat') return one.to
  return one.type === 'fib' ? one.result : one.type
}
