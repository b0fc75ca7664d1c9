import type { Answered, Operation } from './operation.ts'

/** An object as it would be if operations happened one at a time. */
export interface Model<State, Input, Output> {
  readonly initial: State
  /**
   * The state after an operation; undefined if the operation cannot have this answer in this state, or, for an
   * operation without an answer, if it would change nothing.
   */
  step(state: State, input: Input, output: Output | undefined): State | undefined
  /** A text that is equal for equal states only. */
  fingerprint(state: State): string
}

/** `undecided`: there are more orders than are tried. */
export type Verdict<Input, Output> =
  | { readonly verdict: 'linearizable' }
  | {
      readonly verdict: 'impossible' | 'undecided'
      /** The longest valid order that was found, and the operations that cannot follow it. */
      readonly order: readonly Operation<Input, Output>[]
      readonly stuck: readonly Operation<Input, Output>[]
    }

/** Which operations are already in the order, in a compact form: all before `first`, and some beyond. */
interface SearchPosition {
  readonly first: number
  readonly beyond: ReadonlySet<number>
}

interface Frame<State> {
  readonly state: State
  readonly place: SearchPosition
  readonly candidates: readonly number[]
  next: number
}

/**
 * Whether a history of one object could have come about one operation at a
 * time, each at some moment between its call and its answer (Wing and Gong's
 * search, with Lowe's memory of what has been tried: an order of the same
 * operations that ends in the same state needs to be tried once only).
 * Operations without an answer are tried last and may be left out.
 */
export function linearize<State, Input, Output>(
  model: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
  mostSteps = 1_000_000,
): Verdict<Input, Output> {
  const isAnswered = (one: Operation<Input, Output>): one is Answered<Input, Output> =>
    one.answer !== undefined
  const answered = operations.filter(isAnswered).sort((a, b) => a.called - b.called)
  const all = [...answered, ...operations.filter((one) => !isAnswered(one))]
  const tried = new Set<string>()
  const order: number[] = []
  let longest: { order: readonly number[]; stuck: readonly number[] } = { order: [], stuck: [] }
  const frame = (state: State, place: SearchPosition): Frame<State> => {
    const candidates = candidatesAt(all, answered.length, place)
    if (order.length >= longest.order.length) longest = { order: [...order], stuck: candidates }
    return { state, place, candidates, next: 0 }
  }
  const stack = [frame(model.initial, { first: 0, beyond: new Set() })]
  for (let steps = 0; steps < mostSteps; steps++) {
    const top = stack.at(-1)
    if (top === undefined) return refused('impossible')
    if (top.place.first === answered.length) return { verdict: 'linearizable' }
    const id = top.candidates[top.next++]
    if (id === undefined) {
      stack.pop()
      order.pop()
      continue
    }
    const { input, answer } = all[id]!
    const state = model.step(top.state, input, answer?.output)
    if (state === undefined) continue
    const place = placed(top.place, id, answered.length)
    const key = `${place.first} ${[...place.beyond].sort((a, b) => a - b).join()} ${model.fingerprint(state)}`
    if (tried.has(key)) continue
    tried.add(key)
    order.push(id)
    stack.push(frame(state, place))
  }
  return refused('undecided')

  function refused(verdict: 'impossible' | 'undecided'): Verdict<Input, Output> {
    const of = (ids: readonly number[]) => ids.map((id) => all[id]!)
    return { verdict, order: of(longest.order), stuck: of(longest.stuck) }
  }
}

/** The operations that may come next: those that were called before the first answer that is not explained yet. */
function candidatesAt(
  all: readonly Operation<unknown, unknown>[],
  answered: number,
  { first, beyond }: SearchPosition,
): readonly number[] {
  let bound = Number.POSITIVE_INFINITY
  const found: number[] = []
  for (let id = first; id < answered && all[id]!.called < bound; id++) {
    if (beyond.has(id)) continue
    found.push(id)
    bound = Math.min(bound, all[id]!.answer!.at)
  }
  for (let id = answered; id < all.length; id++) {
    if (!beyond.has(id) && all[id]!.called < bound) found.push(id)
  }
  return found.filter((id) => all[id]!.called < bound)
}

function placed({ first, beyond }: SearchPosition, id: number, answered: number): SearchPosition {
  const next = new Set(beyond).add(id)
  let start = first
  while (start < answered && next.delete(start)) start++
  return { first: start, beyond: next }
}
