import { Caller } from './caller.ts'
import { History, type Listed, type NamedOperation } from './history.ts'
import { SERVICES } from './service-request.ts'
import type { WatchLog } from './watch-log.ts'
import { Watcher } from './watcher.ts'
import type { World } from './world.ts'
import { listedOf, Writer } from './writer.ts'

/** Everything that clients saw in a run. */
export interface Run {
  readonly seed: number
  readonly operations: readonly NamedOperation[]
  readonly lists: readonly Listed[]
  readonly watches: readonly WatchLog[]
  /** The version of a write after all others, which every watcher has seen. */
  readonly end: number
  /** Milliseconds that clients waited for an answer after a server had failed. */
  readonly outages: readonly number[]
}

export interface RunOptions {
  readonly world: World
  readonly seed: number
  /** Default 8. */
  readonly writers?: number
  /** What happens to the servers meanwhile; clients continue until it is over. */
  readonly ordeal: (scene: Scene) => Promise<void>
}

/** Clients at work. */
export interface Scene {
  readonly history: History
  /** With bookmarks, without, and one that hangs up again and again. */
  readonly watchers: readonly [Watcher, Watcher, Watcher]
}

/** Runs writers and watchers during an ordeal, and then until every watcher has seen everything. */
export async function runClients({ world, seed, writers = 8, ordeal }: RunOptions): Promise<Run> {
  const history = new History()
  const watchers = [
    new Watcher({ name: 'with bookmarks', world, history, bookmarks: true, turn: 0 }),
    new Watcher({ name: 'without bookmarks', world, history, bookmarks: false, turn: 1 }),
    new Watcher({ name: 'restless', world, history, bookmarks: true, turn: 0, maxEvents: 20 }),
  ] as const
  for (const watcher of watchers) await watcher.begin()
  const [writing, watching] = [new AbortController(), new AbortController()]
  const watches = watchers.map((watcher) => watcher.watch(watching.signal))
  const writes = Array.from({ length: writers }, (_, client) =>
    new Writer({ world, history, seed, client }).write(writing.signal),
  )
  try {
    await Promise.race([ordeal({ history, watchers }), failureOf([...watches, ...writes])])
    writing.abort()
    await Promise.all(writes)
    const end = await fence(world, history)
    await Promise.race([
      Promise.all(watchers.map((watcher) => watcher.reach(end))),
      failureOf(watches),
    ])
    const lists = [...history.lists, await listAt(world, end)]
    const { operations, outages } = history
    return { seed, operations, lists, watches: watchers, end, outages }
  } finally {
    writing.abort()
    watching.abort()
    await Promise.allSettled([...watches, ...writes])
  }
}

/** Writes after all others. @returns the version of the write */
async function fence(world: World, history: History): Promise<number> {
  const writer = new Writer({ world, history, seed: 0, client: 0 })
  for (let attempt = 0; ; attempt++) {
    const version = await writer.make(`fence-${attempt}`)
    if (version !== undefined) return version
  }
}

async function listAt(world: World, version: number): Promise<Listed> {
  await using caller = new Caller(world.servers)
  const query = `resourceVersion=${version}&resourceVersionMatch=Exact`
  const answer = await caller.send({ method: 'GET', path: `${SERVICES}?${query}` })
  if (typeof answer === 'string' || answer.status !== 200) {
    throw new Error(`the last list: ${JSON.stringify(answer)}`)
  }
  return listedOf(answer.body, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
}

/** Rejects with the first failure of any; never resolves. */
function failureOf(all: readonly Promise<void>[]): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const one of all) one.catch(reject)
  })
}
