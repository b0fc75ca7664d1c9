import { constants } from 'node:os'
import type { TransactionError } from '../../../kernel/nftables/nftables.ts'
import type { Command } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Change, KernelError, ObjectKey } from '../../mode.ts'
import { isBackendSet, tableOf } from '../keys/names.ts'
import { objectOf } from '../keys/object-key.ts'
import type { ManagedState } from './managed-state.ts'
import { observe } from './observe.ts'
import { readPresent } from './present-elements.ts'
import { type PresentElements, type Step, stepsOf } from './steps.ts'

/**
 * The maximum number of commands, elements and rules in one transaction, unless a single group has more. During a
 * transaction the kernel holds a lock that every user of nf_tables waits for.
 */
const MAX_WEIGHT = 4_000

const { ENOENT, EEXIST, EPERM, ENOMEM, EMSGSIZE } = constants.errno

/** The maximum number of objects that are left out of one change; each costs a refused transaction. */
const MAX_REFUSALS = 32

const NOTHING: PresentElements = {
  ofFrontend: () => [],
  ofSet: () => [],
  staleClientsOf: () => [],
}

/** The result of a change. */
interface Written {
  /** The objects that the kernel refused. */
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
  /** The kernel may hold other objects than recorded. */
  readonly uncertain: boolean
}

/**
 * Writes one change of one family. A refused transaction changed nothing: the kernel is read, because it may hold
 * other objects than recorded. Then the object at fault is left out, so that one bad object does not hold up the
 * others.
 */
export class FamilyWriter {
  readonly #family: Family
  readonly #change: Change
  readonly #state: ManagedState
  readonly #failed = new Map<ObjectKey, KernelError>()
  /** Objects with at least one step done: filling a chain takes two steps, and so does emptying and deleting it. */
  readonly #begun = new Set<ObjectKey>()
  #present: PresentElements = NOTHING
  #hasRead = false
  #isRebuilt = false
  #isUncertain = false

  constructor(family: Family, change: Change, state: ManagedState) {
    this.#family = family
    this.#change = change
    this.#state = state
  }

  async write(): Promise<Written> {
    this.#present = await readPresent(this.#change, this.#family, this.#state)
    if (this.#hasOtherForm()) await this.#rebuild()
    else await this.#writeSteps()
    return { failed: this.#failed, uncertain: this.#isUncertain }
  }

  async #writeSteps(): Promise<void> {
    for (const steps of transactionsOf(this.#stepsOf(this.#change))) {
      await this.#transact(steps)
      if (this.#isRebuilt) break
    }
  }

  #hasOtherForm(): boolean {
    const { record } = this.#state
    return this.#change.set.some((key) => record.holdingOf(key) === 'otherForm')
  }

  #stepsOf(change: Change): Generator<Step> {
    return stepsOf(change, this.#family, this.#state, {
      ofFrontend: (key) => this.#present.ofFrontend(key),
      ofSet: (key) => this.#present.ofSet(key),
      staleClientsOf: (key) => this.#present.staleClientsOf(key),
    })
  }

  async #transact(steps: readonly Step[]): Promise<void> {
    const error = await this.#commit(steps)
    if (error === undefined) return
    if (concernsAll(error)) return this.#fail(keysOf(steps), error)
    if (this.#hasRead) return this.#isolate(steps, error)
    await this.#readAgain()
    if (this.#hasOtherForm()) return this.#rebuild()
    await this.#transact([...this.#stepsOf(this.#partOf(steps))])
  }

  /** The part of the change to which the steps belong. */
  #partOf(steps: readonly Step[]): Change {
    const keys = keysOf(steps)
    const { set, unset } = this.#change
    return { set: set.filter((key) => keys.has(key)), unset: unset.filter((key) => keys.has(key)) }
  }

  async #readAgain(): Promise<void> {
    this.#hasRead = true
    await observe(this.#state)
    this.#present = await readPresent(this.#change, this.#family, this.#state)
  }

  /** Leaves out the object at fault, repeatedly, until the kernel accepts the others. */
  async #isolate(refused: readonly Step[], why: TransactionError): Promise<void> {
    let [steps, error]: [readonly Step[], TransactionError | undefined] = [refused, why]
    for (let count = 0; error !== undefined && steps.length > 0; count++) {
      if (concernsAll(error) || count === MAX_REFUSALS) return this.#fail(keysOf(steps), error)
      const cause = stepAt(steps, error.command)
      if (cause === undefined) return this.#halve(steps, error)
      if (error.errno === EEXIST && isBaseObject(cause.key)) return this.#rebuild()
      const faulty = steps.filter(({ key }) => key === cause.key)
      this.#fail([cause.key], error)
      steps = steps.filter((step) => !faulty.includes(step))
      error = steps.length > 0 ? await this.#commit(steps) : undefined
    }
  }

  /** Used when the kernel names no command: tries each half by itself. */
  async #halve(steps: readonly Step[], error: TransactionError): Promise<void> {
    if (steps.length === 1) return this.#fail(keysOf(steps), error)
    const middle = Math.ceil(steps.length / 2)
    for (const half of [steps.slice(0, middle), steps.slice(middle)]) {
      const again = await this.#commit(half)
      if (again) await this.#isolate(half, again)
    }
  }

  /**
   * Used when a set or chain of ours exists with another form (of another version) and others lead to it: the whole
   * table is replaced in one transaction.
   */
  async #rebuild(): Promise<void> {
    const { program, record, nftables } = this.#state
    const isOurs = (key: ObjectKey) => objectOf(key).family === this.#family
    const set = [...program.wantedKeys()].filter(isOurs)
    record.forget()
    this.#present = NOTHING
    const steps = [...this.#stepsOf({ set, unset: [] })]
    const error = await nftables.commit([
      { do: 'deleteTable', table: tableOf(this.#family) },
      ...steps.flatMap(({ commands }) => commands),
    ])
    this.#isRebuilt = true
    // The table also has objects that are not part of the change, because they wait for their next try.
    this.#isUncertain = true
    await observe(this.#state)
    if (error) this.#fail([...this.#change.set, ...this.#change.unset], error)
    else this.#failed.clear()
  }

  async #commit(steps: readonly Step[]): Promise<TransactionError | undefined> {
    const commands = steps.flatMap((step) => step.commands)
    const error = commands.length > 0 ? await this.#state.nftables.commit(commands) : undefined
    if (error === undefined) this.#note(steps)
    return error
  }

  #note(steps: readonly Step[]): void {
    const { program, record } = this.#state
    for (const { key } of steps) {
      this.#begun.add(key)
      if (program.digestOf(key) === undefined) record.delete(key)
      else record.set(key, program.entryOf(key) ?? 'fixed')
    }
  }

  /**
   * ENOENT and EEXIST show that the record is wrong, maybe for an object outside this change: its table may have gone
   * with its owner. A set of backends has lost those that leave before its own transaction (`readPresent`).
   */
  #fail(keys: Iterable<ObjectKey>, { errno, message }: TransactionError): void {
    this.#isUncertain ||= errno === ENOENT || errno === EEXIST
    for (const key of keys) {
      this.#isUncertain ||= this.#begun.has(key) || isBackendSet(objectOf(key).name)
      this.#failed.set(key, { code: 'NP_NFTABLES_REFUSED', message })
    }
  }
}

function keysOf(steps: readonly Step[]): ReadonlySet<ObjectKey> {
  return new Set(steps.map(({ key }) => key))
}

/** Whether the error has a cause other than one object. */
function concernsAll({ errno }: TransactionError): boolean {
  return errno === EPERM || errno === ENOMEM || errno === EMSGSIZE
}

function isBaseObject(key: ObjectKey): boolean {
  const { kind } = objectOf(key)
  return kind === 'set' || kind === 'chain'
}

/** The step whose commands include the one of this index. */
function stepAt(steps: readonly Step[], index: number | undefined): Step | undefined {
  let end = 0
  return steps.find(({ commands }) => {
    end += commands.length
    return index !== undefined && index < end
  })
}

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
