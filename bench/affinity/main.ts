import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type AffinityMemory, createAffinityMemory } from '../../src/affinity/affinity-memory.ts'
import { AffinityTable } from '../../src/affinity/affinity-table.ts'
import { systemRandom } from '../../src/lib/random.ts'

/**
 * Measures 1,000,000 IPv4 clients in the affinity table, with one thread and with two, and in a Map of objects, which
 * threads cannot share. Prints JSON.
 *
 *     scripts/node bench/affinity/main.ts
 */
const CLIENTS = 1_000_000
const GROUP = 2 ** 51 + 1
const NOW = 1_760_000_000_000

interface Task {
  /** Undefined: a Map. */
  readonly memory: AffinityMemory | undefined
  /** The number of threads that are ready to start remembering, and then to start finding. */
  readonly gate: Int32Array
  readonly threads: number
  /** The first client of this thread, which uses every `threads`-th client from there on. */
  readonly index: number
}

if (isMainThread) await main()
else parentPort?.postMessage(perform(workerData as Task))

async function main(): Promise<void> {
  const newMemory = () => createAffinityMemory(CLIENTS, systemRandom)
  const table = await measure(newMemory(), 1)
  const tableOfTwoThreads = await measure(newMemory(), 2)
  const map = await measure(undefined, 1)
  const report = { clients: CLIENTS, table, tableOfTwoThreads, map }
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
}

async function measure(memory: Task['memory'], threads: number) {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const parts = Array.from({ length: threads }, async (_, index) => {
    const task: Task = { memory, gate, threads, index }
    const worker = new Worker(new URL(import.meta.url), { workerData: task })
    const [result] = (await once(worker, 'message')) as [ReturnType<typeof perform>]
    return result
  })
  const results = await Promise.all(parts)
  const worst = (of: keyof ReturnType<typeof perform>) => Math.max(...results.map((one) => one[of]))
  return {
    bytesPerClient: Math.round(worst('grown') / CLIENTS),
    remembersPerSecond: Math.round((CLIENTS / worst('remember')) * 1000),
    findsPerSecond: Math.round((CLIENTS / worst('find')) * 1000),
  }
}

/** Measures milliseconds, and the growth of the resident memory of the process in bytes. */
function perform({ memory, gate, threads, index }: Task) {
  const store = memory === undefined ? mapStore() : tableStore(memory)
  const time = (act: (client: number) => void) => {
    const all = threads * Math.ceil((Atomics.add(gate, 0, 1) + 1) / threads)
    while (Atomics.load(gate, 0) < all) Atomics.pause()
    const began = performance.now()
    for (let n = index; n < CLIENTS; n += threads) act((n * 400_009) % CLIENTS)
    return performance.now() - began
  }
  const before = process.memoryUsage().rss
  const remember = time((client) => store.remember(client))
  const grown = process.memoryUsage().rss - before
  const find = time((client) => {
    if (store.find(client) !== client) throw new Error(`client ${client} is lost`)
  })
  return { remember, find, grown }
}

/** Clients are addresses of 10.0.0.0/8, by number; the number is their token. */
function tableStore(memory: AffinityMemory) {
  const table = new AffinityTable(memory)
  const address = Uint8Array.of(10, 0, 0, 0)
  const at = (n: number) => {
    for (let byte = 1; byte < 4; byte++) address[byte] = n >> (24 - 8 * byte)
    return address
  }
  return {
    remember: (n: number) => table.remember(GROUP, at(n), n, NOW),
    find: (n: number) => table.find(GROUP, at(n), { now: NOW, seconds: 10_800 }),
  }
}

function mapStore() {
  const clients = new Map<string, { readonly token: number; readonly last: number }>()
  const at = (n: number) => `${GROUP} 10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  return {
    remember: (n: number) => void clients.set(at(n), { token: n, last: NOW }),
    find: (n: number) => clients.get(at(n))?.token,
  }
}
