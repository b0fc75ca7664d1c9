import type { Command } from '../../../kernel/nftables/objects.ts'
import type { Step } from './steps.ts'

/**
 * Commands, elements and rules of one transaction at most, unless one group alone has more. The kernel holds a lock
 * that every user of nf_tables waits for while it takes a transaction.
 */
const MAX_WEIGHT = 4_000

/** Cuts steps into transactions, in their order and never inside a group. */
export function* transactionsOf(steps: Iterable<Step>): Generator<readonly Step[]> {
  let transaction: Step[] = []
  let weight = 0
  for (const step of steps) {
    const own = weightOf(step)
    const last = transaction.at(-1)
    const isSameGroup = step.group !== undefined && step.group === last?.group
    if (last && weight + own > MAX_WEIGHT && !isSameGroup) {
      yield transaction
      transaction = []
      weight = 0
    }
    transaction.push(step)
    weight += own
  }
  if (transaction.length > 0) yield transaction
}

function weightOf({ commands }: Step): number {
  return commands.reduce((sum, command) => sum + sizeOf(command), 0)
}

function sizeOf(command: Command): number {
  return 'elements' in command ? command.elements.length : 1
}
