import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openEmbeddedStore } from '../../src/storage/embedded/embedded-store.ts'
import { flushesPerSecond, ownThreadPerSecond } from './baseline.ts'
import { createsPerSecond, VALUE } from './writers.ts'

const ROUNDS = 5
const MILLISECONDS = 600
const OBJECTS = 20_000

interface Sample {
  readonly rate: number
  /** Event-loop delay in milliseconds, 99th percentile and longest. */
  readonly p99: number
  readonly longest: number
}

/** Measures the embedded store in a directory of the disk on which it will run. */
async function main(parent = '.'): Promise<void> {
  const directory = mkdtempSync(join(parent, '.bench-store-'))
  try {
    print(await rates(directory))
    await memory(join(directory, 'memory'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Measures all variants in turn, so that changes in the speed of the disk affect all alike. */
async function rates(directory: string): Promise<ReadonlyMap<string, Sample[]>> {
  const samples = new Map<string, Sample[]>()
  const take = async (name: string, work: () => number | Promise<number>): Promise<void> => {
    const sample = await observed(work)
    samples.set(name, [...(samples.get(name) ?? []), sample])
  }
  for (let round = 0; round < ROUNDS; round++) {
    const place = join(directory, String(round))
    const store = await openEmbeddedStore({ directory: place })
    await take('append 4 kB and fdatasync', () => flushesPerSecond(join(place, 'f'), MILLISECONDS))
    await take('SQLite on the main thread', () =>
      ownThreadPerSecond(join(place, 'own.sqlite'), MILLISECONDS),
    )
    for (const writers of [1, 8, 32]) {
      await take(`embedded store, ${writers} writer${writers === 1 ? '' : 's'}`, () =>
        createsPerSecond(store, writers, MILLISECONDS),
      )
    }
    await store.close()
  }
  return samples
}

async function observed(work: () => number | Promise<number>): Promise<Sample> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const rate = await work()
  delay.disable()
  return { rate, p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6 }
}

function print(samples: ReadonlyMap<string, readonly Sample[]>): void {
  console.log('| what | per second | event-loop delay p99, ms | longest, ms |\n|---|---|---|---|')
  for (const [name, runs] of samples) {
    const middle = (pick: (sample: Sample) => number): number =>
      runs.map(pick).sort((a, b) => a - b)[Math.floor(runs.length / 2)]!
    const rate = Math.round(middle(({ rate: value }) => value))
    const p99 = middle(({ p99: value }) => value).toFixed(1)
    const longest = middle(({ longest: value }) => value).toFixed(1)
    console.log(`| ${name} | ${rate} | ${p99} | ${longest} |`)
  }
}

/** Measures the resident memory with many objects after a fresh start, and how long it takes to list them. */
async function memory(directory: string): Promise<void> {
  const filled = await openEmbeddedStore({ directory })
  const groups = Array.from({ length: OBJECTS / 100 }, (_, group) => group)
  for (const group of groups) {
    await filled.txn({
      compare: [],
      operations: Array.from({ length: 100 }, (_, index) => ({
        op: 'put' as const,
        key: `/registry/${group % 2}/${group}-${index}`,
        value: VALUE,
      })),
    })
  }
  await filled.close()
  const before = process.memoryUsage().rss
  const store = await openEmbeddedStore({ directory })
  const opened = process.memoryUsage().rss
  const start = performance.now()
  let longest = 0
  const delay = await observed(async () => {
    await store.list({ prefix: '/registry/0/' })
    longest = performance.now() - start
    return 0
  })
  console.log(
    `\nopening ${OBJECTS} objects of 1 kB adds ${mebibytes(opened - before)} MiB resident`,
  )
  console.log(
    `listing ${OBJECTS / 2}: ${longest.toFixed(0)} ms, longest event-loop delay ${delay.longest.toFixed(1)} ms`,
  )
  console.log(`resident after that: ${mebibytes(process.memoryUsage().rss)} MiB`)
  await store.close()
}

function mebibytes(bytes: number): string {
  return (bytes / (1 << 20)).toFixed(0)
}

await main(process.argv[2])
