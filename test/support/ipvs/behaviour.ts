/**
 * What each scheduler of IPVS does and no other one does, judged by connections alone. Each observation returns the
 * faults in words, and none if the scheduler behaved as its name says. `schedulers-by-hand` proves that each
 * observation accepts its scheduler and rejects the other five.
 */
export const SCHEDULERS = ['rr', 'wrr', 'lc', 'wlc', 'sh', 'dh'] as const
export type SchedulerName = (typeof SCHEDULERS)[number]

/** The three backends, by the names with which they answer. */
export const BACKENDS = ['10.180.2.1:80', '10.180.2.2:80', '10.180.2.3:80'] as const
const [LIGHT, MIDDLE, HEAVY] = BACKENDS

/** A different weight for every backend. */
const UNEVEN: Weights = { [LIGHT]: 1, [MIDDLE]: 2, [HEAVY]: 3 }

export type Weights = Readonly<Record<string, number>>
type Counts = Readonly<Record<string, number>>

/** A virtual server with its backends and clients, whichever program created it. */
export interface Stage {
  /** Addresses that lead to the same backends. */
  readonly destinations: readonly string[]
  /** Clients with addresses of their own; not a multiple of three or six. */
  readonly clients: readonly string[]
  /** Makes these backends, and no others, accept new connections. */
  balance(weights: Weights): Promise<void>
  /** Makes short connections, one after the other. @returns who answered */
  connect(from: { source: string; destination: string; attempts: number }): Promise<string[]>
  /** Opens connections one after the other, and keeps them open. @returns the number of connections by backend */
  hold(count: number): Promise<Counts>
  /** Ends the connections that `hold` opened. */
  release(): Promise<void>
}

type Observation = (stage: Stage) => Promise<string[]>

/** Gives one backend `count` connections; afterwards all three accept new ones. */
async function burden(stage: Stage, backend: string, count: number): Promise<void> {
  await stage.balance({ [backend]: UNEVEN[backend] ?? 1 })
  await stage.hold(count)
  await stage.balance(UNEVEN)
}

/** Strictly in turn, whatever the weights and however busy one of them is. */
const rr: Observation = async (stage) => {
  await burden(stage, HEAVY, 4)
  const names = await connectTimes(stage, 12)
  return windows(names, 3).flatMap((window) =>
    new Set(window).size === 3 ? [] : [`not in turn: ${window.join(', ')}`],
  )
}

/** By weight in every cycle of their sum, however busy one of them is. */
const wrr: Observation = async (stage) => {
  await burden(stage, HEAVY, 4)
  const names = await connectTimes(stage, 18)
  return windows(names, 6).flatMap((window) => countFaults(count(window), UNEVEN))
}

/** To the backend with the fewest connections, whatever the weights. */
const lc: Observation = async (stage) => {
  await burden(stage, HEAVY, 6)
  return [
    ...countFaults(await stage.hold(12), { [LIGHT]: 6, [MIDDLE]: 6 }),
    ...countFaults(await stage.hold(3), { [LIGHT]: 1, [MIDDLE]: 1, [HEAVY]: 1 }),
  ]
}

/** To the backend with the fewest connections for its weight. */
const wlc: Observation = async (stage) => {
  await burden(stage, LIGHT, 6)
  return countFaults(await stage.hold(30), { [MIDDLE]: 12, [HEAVY]: 18 })
}

/** Each client always to the same one, and the clients not all to one. */
const sh: Observation = async (stage) => {
  await stage.balance(UNEVEN)
  const [destination = ''] = stage.destinations
  const seen = new Map<string, Set<string>>()
  for (const source of [...stage.clients, ...stage.clients, ...stage.clients.toReversed()]) {
    const [name = ''] = await stage.connect({ source, destination, attempts: 1 })
    seen.set(source, (seen.get(source) ?? new Set()).add(name))
  }
  return hashFaults(seen)
}

/** Each destination always by the same one, for all clients, and not all by one. */
const dh: Observation = async (stage) => {
  await stage.balance(UNEVEN)
  const seen = new Map<string, Set<string>>()
  for (const source of stage.clients.slice(0, 7)) {
    for (const destination of stage.destinations) {
      const names = await stage.connect({ source, destination, attempts: 1 })
      seen.set(destination, new Set([...(seen.get(destination) ?? []), ...names]))
    }
  }
  return hashFaults(seen)
}

export const OBSERVATIONS: Readonly<Record<SchedulerName, Observation>> = {
  rr,
  wrr,
  lc,
  wlc,
  sh,
  dh,
}

function connectTimes(
  { connect, clients, destinations }: Stage,
  attempts: number,
): Promise<string[]> {
  const [source = ''] = clients
  const [destination = ''] = destinations
  return connect({ source, destination, attempts })
}

/** All runs of `length` names that follow each other. */
function windows(names: readonly string[], length: number): readonly string[][] {
  const starts = Math.max(names.length - length + 1, 0)
  return Array.from({ length: starts }, (_, start) => names.slice(start, start + length))
}

function count(names: readonly string[]): Counts {
  return Object.fromEntries(
    Map.groupBy(names, (name) => name)
      .entries()
      .map(([name, all]) => [name, all.length]),
  )
}

function countFaults(found: Counts, wanted: Counts): string[] {
  const names = new Set([...Object.keys(found), ...Object.keys(wanted)])
  const wrong = [...names].filter((name) => (found[name] ?? 0) !== (wanted[name] ?? 0))
  return wrong.map((name) => `${name}: ${found[name] ?? 0} connections, not ${wanted[name] ?? 0}`)
}

/** `seen`: who answered, for each value of what is hashed. */
function hashFaults(seen: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const several = [...seen].filter(([, names]) => names.size > 1)
  const all = new Set([...seen.values()].flatMap((names) => [...names]))
  return [
    ...several.map(([value, names]) => `${value}: answered by ${[...names].join(', ')}`),
    ...(all.size === BACKENDS.length ? [] : [`only ${[...all].join(', ')} answered`]),
  ]
}
