import { randomInt, randomUUID } from 'node:crypto'

/** Randomness as a value, so that code that uses it can be tested exactly. */
export interface Random {
  /** A random UUID (version 4). */
  uuid(): string
  /** An integer in [0, bound). */
  below(bound: number): number
}

/** The machine's randomness. */
export const systemRandom: Random = {
  uuid: () => randomUUID(),
  below: (bound) => randomInt(bound),
}
