/**
 * What one client requested, between two moments of one clock. `answer` is undefined
 * when it can never be known: the server was killed before it answered, so the
 * operation may have happened at any time since, or never.
 */
export interface Operation<Input, Output> {
  readonly client: number
  readonly input: Input
  readonly called: number
  readonly answer: Answer<Output> | undefined
}

export interface Answer<Output> {
  /** Infinity: the operation happened at an unknown time. */
  readonly at: number
  readonly output: Output
}

export type Answered<Input, Output> = Operation<Input, Output> & { readonly answer: Answer<Output> }
