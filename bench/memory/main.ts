import { linkSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Cluster } from '../cluster/cluster.ts'
import { type Launched, type Proxy, startDaemon } from '../daemon/daemon.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { buildTopology } from '../lab/topology.ts'
import { median } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'
import type { Programs } from '../start/programs.ts'

/**
 * Measures of what the resident memory of the daemon consists, as the image runs it: when all rules are in the kernel,
 * and when it has given back what only its start needed. Prints a table of medians: MiB, and seconds, of processor time and
 * since its start. The first start of each does not count: it brings files into memory. The daemons of other checkouts take
 * turns with that of this one.
 *
 *     scripts/node bench/memory/main.ts [--sizes=10,1000,10000] [--proxies=nftables,nft] [--rounds=3] [--settle=12]
 *       [--against=FOLDER]…
 */
const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10,1000,10000' },
    proxies: { type: 'string', default: 'nftables,nft' },
    rounds: { type: 'string', default: '3' },
    /** Seconds. */
    settle: { type: 'string', default: '12' },
    /** The roots of other checkouts. */
    against: { type: 'string', multiple: true, default: [] },
  },
})
const BOUND_MS = 300_000
const PARTS = [
  'code of Node',
  'data of Node',
  'other files',
  'heap of V8',
  'other anonymous',
  'resident',
  'most so far',
  'processor',
  'since start',
] as const
type Part = (typeof PARTS)[number]
const SECONDS: ReadonlySet<Part> = new Set(['processor', 'since start'])
/** MiB; seconds. */
type Breakdown = Readonly<Record<Part, number>>
type Measured = Readonly<Record<'ready' | 'settled', Breakdown>>

const print = (line: string) => process.stdout.write(`${line}\n`)
const folder = enterLab()
const roots = [join(import.meta.dirname, '../..'), ...values.against]
const images = new Map<string, Launched>()
for (const [index, root] of roots.entries()) images.set(...(await imageOf(resolve(root), index)))
let serial = 0
print(`| Services | proxy | checkout | when | ${PARTS.join(' | ')} |`)
print(`| ---: | --- | --- | --- |${' ---: |'.repeat(PARTS.length)}`)
for (const size of values.sizes.split(',').map(Number)) {
  const cluster = await seededCluster(size)
  for (const proxy of values.proxies.split(',') as Proxy[]) {
    const rounds = new Map([...images.keys()].map((name) => [name, [] as Measured[]]))
    for (const image of images.values()) await measure(cluster, proxy, image)
    for (let n = 0; n < Number(values.rounds); n++) {
      for (const [name, image] of images) {
        rounds.get(name)?.push(await measure(cluster, proxy, image))
      }
    }
    for (const [name, measured] of rounds) {
      for (const when of ['ready', 'settled'] as const) {
        const cells = PARTS.map((part) => {
          const digits = SECONDS.has(part) ? 2 : 1
          return median(measured.map((one) => one[when][part])).toFixed(digits)
        })
        print(`| ${size} | ${proxy} | ${name} | ${when} | ${cells.join(' | ')} |`)
      }
    }
  }
  await cluster.stop()
}
process.exit(0)

/** The daemon of a checkout, as its image runs it, by its folder. All are run by the same file of Node. */
async function imageOf(root: string, index: number): Promise<[string, Launched]> {
  const { writePrograms } = (await import(join(root, 'bench/start/programs.ts'))) as {
    writePrograms: (folder: string) => Promise<Programs>
  }
  const { image } = await writePrograms(join(folder, String(index)))
  if (index > 0) {
    const node = join(folder, String(index), 'bin/node')
    rmSync(node)
    linkSync(join(folder, '0/bin/node'), node)
  }
  return [root, image]
}

async function measure({ url }: Cluster, proxy: Proxy, image: Launched): Promise<Measured> {
  const topology = buildTopology(serial++)
  const daemon = startDaemon({ namespace: topology.node, url, proxy, folder, ...image })
  const look = async () => {
    const heap = (await daemon.metrics()).get('nodejs_heap_size_total_bytes') ?? Number.NaN
    const seconds = (performance.now() - daemon.startedAt) / 1_000
    return { ...breakdown(daemon.pid, heap / 2 ** 20), 'since start': seconds }
  }
  try {
    if (!(await daemon.untilReady(BOUND_MS))) throw new Error('not ready in time')
    const ready = await look()
    await delay(Number(values.settle) * 1_000)
    return { ready, settled: await look() }
  } finally {
    await daemon.stop()
    topology.remove()
  }
}

function breakdown(pid: number, heap: number): Omit<Breakdown, 'since start'> {
  const sums = { code: 0, data: 0, files: 0, anonymous: 0 }
  for (const mapping of readFileSync(`/proc/${pid}/smaps`, 'utf8').split(
    /^(?=[\da-f]+-[\da-f]+ )/m,
  )) {
    const [, isCode, path = ''] = /^\S+ ..(.). \S+ \S+ \d+ *(.*)/.exec(mapping) ?? []
    const mib = (field: string) =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(mapping)?.[1] ?? 0) / 1_024
    const anonymous = mib('Anonymous')
    sums.anonymous += anonymous
    const ofFile = mib('Rss') - anonymous
    if (!path.endsWith('/node')) sums.files += ofFile
    else if (isCode === 'x') sums.code += ofFile
    else sums.data += ofFile
  }
  const most = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return {
    'code of Node': sums.code,
    'data of Node': sums.data,
    'other files': sums.files,
    'heap of V8': heap,
    'other anonymous': sums.anonymous - heap,
    resident: sums.code + sums.data + sums.files + sums.anonymous,
    'most so far': Number(most) / 1_024,
    processor: cpuSeconds(pid),
  }
}
