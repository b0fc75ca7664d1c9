/** More combinations of reads than any change has; a test with more of them is wrong. */
const MAX_WAYS = 20_000

/**
 * The moments at which one packet reads a state that changes meanwhile. States are numbered from 0, and no read is of
 * an earlier state than the read before.
 */
export interface Moments {
  /** The number of the state that is read. States with the same `versionOf` are not distinguished. */
  read(versionOf: (state: number) => unknown): number
}

/** One read: the first state of each version that it may see, and which of them it sees. */
interface Reading {
  readonly options: readonly number[]
  chosen: number
}

/**
 * Runs `walk` with every combination of reads. Of several states with the same version, a read gets the first: whatever
 * can follow a later one can follow that one, too.
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
