import type { ClusterApi } from '../data/cluster-api.ts'
import { eachOf, LateError, repeat, type Visibility, within } from '../data/schedule.ts'
import type { Store } from '../data/store.ts'
import { type ClusterState, listed } from './cluster-state.ts'
import { answered, failed, failureOf, type NodeReading, type NodeReadings } from './node-reading.ts'

/** Answers that arrive within this time, in milliseconds, change the page once, even if hundreds of nodes answer. */
const TOGETHER_MS = 400

/** In milliseconds; nodes that take longer are read apart from the others, as are those that failed. */
const PROMPT_MS = 2_000
/** In milliseconds; orch-server may take five seconds to connect to a node. */
const TIMEOUT_MS = 15_000
/** A node that failed is read again after 4 s, 8 s and so on, at most a minute. */
const [RETRY_MS, MAX_RETRY_MS] = [2_000, 60_000]

/** The list of Nodes is large and rarely changes. */
const LIST = { everyMs: 30_000, restFactor: 10 }
const LIST_AGAIN = { everyMs: 3_000 }
/** The pause between two rounds: 3 s, or 20 ms for each node if that is longer; never less than twice the round took. */
const MIN_ROUND_MS = 3_000
const ROUND_MS_PER_NODE = 20
const APART_ROUND_MS = 1_000
/** Separate limits, because a node that does not answer takes seconds, and must not delay the others. */
const [AT_ONCE, APART_AT_ONCE] = [6, 2]

/** Keeps the list of Nodes up to date while the page is visible, until the signal. */
export function followNodes(
  api: ClusterApi,
  state: ClusterState,
  visibility: Visibility,
  signal: AbortSignal,
): void {
  const read = async (): Promise<void> => {
    try {
      state.nodes.set(await api.nodes(signal))
      state.failure.set(undefined)
    } catch (error) {
      if (!signal.aborted) state.failure.set(failureOf(error))
    }
  }
  const timing = () => (state.failure.value === undefined ? LIST : LIST_AGAIN)
  void repeat(read, timing, visibility, signal)
}

/** Keeps the statuses of all nodes up to date while the page is visible, until the signal. */
export function followStatuses(
  api: ClusterApi,
  state: ClusterState,
  visibility: Visibility,
  signal: AbortSignal,
): void {
  const reader = new StatusReader(api, state.readings, signal)
  const names = async (isWanted: (name: string) => boolean) => {
    const nodes = await listed(state, signal)
    return nodes.map(({ metadata }) => metadata.name).filter(isWanted)
  }
  const prompt = async () =>
    eachOf(await names((name) => !reader.isSetApart(name)), AT_ONCE, (name) => reader.read(name))
  const apart = async () =>
    eachOf(await names((name) => reader.isDue(name)), APART_AT_ONCE, (name) =>
      reader.readApart(name),
    )
  const timing = () => ({ everyMs: roundMs(state.nodes.value?.length ?? 0), restFactor: 2 })
  void repeat(prompt, timing, visibility, signal)
  void repeat(apart, () => ({ everyMs: APART_ROUND_MS }), visibility, signal)
}

/** Milliseconds between two rounds over this number of nodes. */
export function roundMs(nodes: number): number {
  return Math.max(MIN_ROUND_MS, nodes * ROUND_MS_PER_NODE)
}

/** Reads the statuses of nodes, and knows which of them are set apart: those that failed or do not answer promptly. */
class StatusReader {
  readonly #api: ClusterApi
  readonly #writer: ReadingsWriter
  readonly #signal: AbortSignal
  readonly #slow = new Set<string>()
  readonly #failedAt = new Map<string, number>()

  constructor(api: ClusterApi, readings: Store<NodeReadings>, signal: AbortSignal) {
    this.#api = api
    this.#writer = new ReadingsWriter(readings)
    this.#signal = signal
  }

  /** Whether the last request failed, or took too long. */
  isSetApart(name: string): boolean {
    return this.#slow.has(name) || this.#writer.get(name)?.failure !== undefined
  }

  /** Whether a node that is set apart is to be read again. */
  isDue(name: string): boolean {
    if (!this.isSetApart(name)) return false
    const { failures = 0 } = this.#writer.get(name) ?? {}
    const wait = failures === 0 ? 0 : Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures)
    return performance.now() >= (this.#failedAt.get(name) ?? 0) + wait
  }

  /** Reads a node, and gives up early; `readApart` finds out whether the node really fails. */
  async read(name: string): Promise<void> {
    try {
      await this.#status(name, PROMPT_MS)
    } catch (error) {
      if (error instanceof LateError) this.#slow.add(name)
      else this.#fail(name, error)
    }
  }

  async readApart(name: string): Promise<void> {
    try {
      await this.#status(name, TIMEOUT_MS)
    } catch (error) {
      this.#fail(name, error)
    }
    this.#slow.delete(name)
  }

  async #status(name: string, timeoutMs: number): Promise<void> {
    const node = this.#api.node(name)
    const answer = await within(timeoutMs, this.#signal, (signal) => node.status(signal))
    this.#writer.put(name, answered(this.#writer.get(name), answer))
  }

  #fail(name: string, error: unknown): void {
    if (this.#signal.aborted) return
    this.#failedAt.set(name, performance.now())
    this.#writer.put(name, failed(this.#writer.get(name), failureOf(error)))
  }
}

/** Writes readings of single nodes into the store of all, several at a time. */
export class ReadingsWriter {
  readonly #store: Store<NodeReadings>
  readonly #pending = new Map<string, NodeReading>()
  #isWriting = false

  constructor(store: Store<NodeReadings>) {
    this.#store = store
  }

  /** The latest reading of a node, even if it is not in the store yet. */
  get(name: string): NodeReading | undefined {
    return this.#pending.get(name) ?? this.#store.value.get(name)
  }

  put(name: string, reading: NodeReading): void {
    this.#pending.set(name, reading)
    if (this.#isWriting) return
    this.#isWriting = true
    setTimeout(() => this.#write(), TOGETHER_MS)
  }

  #write(): void {
    this.#isWriting = false
    this.#store.set(new Map([...this.#store.value, ...this.#pending]))
    this.#pending.clear()
  }
}
