/** More ways to read than any change has; beyond that the question is wrong. */
const MAX_WAYS = 20_000

/**
 * The moments at which one packet reads what changes meanwhile. States are counted from 0, and no reading is of an earlier
 * state than the one before.
 */
export interface Moments {
  /** The state that is read, as one of those that are distinguished by `versionOf`. */
  read(versionOf: (state: number) => unknown): number
}

/** One reading: the first state of each version that it may be of, and which of them it is. */
interface Reading {
  readonly options: readonly number[]
  chosen: number
}

/**
 * Lets `walk` read in every way. Of several states in which a reading finds the same it gets the first: whatever follows a
 * later one may follow that one, too.
 */
export async function everyWay<T>(
  states: number,
  walk: (moments: Moments) => Promise<T>,
): Promise<readonly T[]> {
  const found: T[] = []
  const readings: Reading[] = []
  for (let ways = 0; ways < MAX_WAYS; ways++) {
    let now = 0
    let count = 0
    const read: Moments['read'] = (versionOf) => {
      const known = readings[count] ?? { options: firstOfEach(now, states, versionOf), chosen: 0 }
      readings[count++] = known
      now = known.options[known.chosen]!
      return now
    }
    found.push(await walk({ read }))
    readings.length = count
    while (readings.length > 0 && isLast(readings.at(-1)!)) readings.pop()
    const last = readings.at(-1)
    if (last === undefined) return found
    last.chosen++
  }
  throw new Error(`more than ${MAX_WAYS} ways to read ${states} states`)
}

function isLast({ options, chosen }: Reading): boolean {
  return chosen === options.length - 1
}

function firstOfEach(
  from: number,
  states: number,
  versionOf: (state: number) => unknown,
): readonly number[] {
  const first = new Map<unknown, number>()
  for (let state = from; state < states; state++) {
    const version = versionOf(state)
    if (!first.has(version)) first.set(version, state)
  }
  return [...first.values()]
}
