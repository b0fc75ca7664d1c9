/** What one run finds out about the API server; results/apiserver.json. Times in milliseconds. */
export interface ApiserverResults {
  readonly startedAt: string
  readonly machine: ApiserverMachine
  readonly quick: boolean
  /** Per cent of all cores that others used before the first driver. */
  readonly busyPercent: number
  readonly cells: readonly ApiserverCell[]
}

export interface ApiserverMachine {
  readonly cores: number
  readonly kernel: string
  /** Undefined: etcd is not installed. */
  readonly etcd: string | undefined
  readonly node: string
}

export type Driver = 'embedded' | 'etcd'

/** One driver of the store. Lists have one figure for each round, or for each start. */
export interface ApiserverCell {
  readonly driver: Driver
  /** Why figures are missing. */
  readonly unfinished?: string
  readonly measured: Partial<ApiserverMeasured>
}

export interface ApiserverMeasured {
  readonly startEmpty: Starts
  readonly startFull: Starts
  readonly filled: { readonly residentKib: readonly number[] }
  readonly idleWatchers: IdleWatchers
  readonly createServices: Creates
  readonly createEndpoints: Creates
  readonly get: Reads
  readonly lists: Lists
  readonly patch: Patches
  readonly fanOut: readonly FanOut[]
  readonly readiness: { readonly ms: readonly number[] }
}

export interface Starts {
  /** From the start of the launcher until it reports that it is ready. */
  readonly readyMs: readonly number[]
  readonly residentKib: readonly number[]
}

export interface IdleWatchers {
  readonly watchers: number
  /** By how much the server's resident memory has grown, divided by their number; 1,000 bytes. */
  readonly kilobytesEach: readonly number[]
  /** The same for Node's HTTPS server with an answer that does not end. */
  readonly bareKilobytesEach: readonly number[]
}

/** Requests of clients that each wait for their answer. */
export interface Requests {
  readonly perSecond: readonly number[]
  readonly p50: readonly number[]
  readonly p99: readonly number[]
  /** Of one answer. */
  readonly bytes: number
  /** Processor milliseconds of the server for one request. */
  readonly cpuMsEach: readonly number[]
}

export interface Creates extends Requests {
  /** Alternating with the rounds: one writer that appends and flushes as many bytes. */
  readonly flushesPerSecond: readonly number[]
  /** The store alone, in the benchmark's process, with as many writers. */
  readonly storePerSecond: readonly number[]
}

export interface Reads extends Requests {
  /** Alternating with the rounds: Node's HTTPS server with constant bytes. */
  readonly barePerSecond: readonly number[]
}

export interface Lists {
  readonly objects: number
  readonly plain: List
  readonly gzip: List
  readonly table: List
}

/** One client, one list after the other; each figure is of one round. */
export interface List {
  readonly bytes: number
  /** Every list. */
  readonly ms: readonly number[]
  readonly cpuMsEach: readonly number[]
  /** Of the server's event loop while it lists without a rest. */
  readonly delayP99: readonly number[]
  readonly delayLongest: readonly number[]
  /** As many constant bytes from Node's HTTPS server. */
  readonly bareMs: readonly number[]
}

export interface Patches extends Requests {
  /** From sending a patch until the one watcher has its event. */
  readonly watchP50: readonly number[]
  readonly watchP99: readonly number[]
}

/** One write after the other; from sending it until each watcher has its event. */
export interface FanOut {
  readonly watchers: number
  readonly writes: number
  readonly p50: readonly number[]
  readonly p99: readonly number[]
  /** Processor milliseconds of the server for one write, with all its events. */
  readonly cpuMsEach: readonly number[]
  /** The same from Node's HTTPS server that writes constant bytes to so many answers. */
  readonly bareP50: readonly number[]
  readonly bareP99: readonly number[]
  readonly bareCpuMsEach: readonly number[]
}
