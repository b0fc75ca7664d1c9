import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Cluster } from '../cluster/cluster.ts'
import { type Proxy, startDaemon } from '../daemon/daemon.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { buildTopology } from '../lab/topology.ts'
import { median } from '../report/statistics.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { writePrograms } from '../start/programs.ts'

/**
 * Measures of what the resident memory of the daemon consists, as the image runs it: when all rules are in the kernel,
 * and when it has given back what only its start needed. Prints a table of medians, MiB.
 *
 *     scripts/node bench/memory/main.ts [--sizes=10,1000,10000] [--proxies=nftables,nft] [--rounds=3] [--settle=12]
 */
const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10,1000,10000' },
    proxies: { type: 'string', default: 'nftables,nft' },
    rounds: { type: 'string', default: '3' },
    /** Seconds. */
    settle: { type: 'string', default: '12' },
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
] as const
type Part = (typeof PARTS)[number]
/** MiB. */
type Breakdown = Readonly<Record<Part, number>>

const print = (line: string) => process.stdout.write(`${line}\n`)
const folder = enterLab()
const { image } = await writePrograms(join(folder, 'programs'))
let serial = 0
print(`| Services | proxy | when | ${PARTS.join(' | ')} |`)
print(`| ---: | --- | --- |${' ---: |'.repeat(PARTS.length)}`)
for (const size of values.sizes.split(',').map(Number)) {
  const cluster = await seededCluster(size)
  for (const proxy of values.proxies.split(',') as Proxy[]) {
    const rounds: Awaited<ReturnType<typeof measure>>[] = []
    for (let n = 0; n < Number(values.rounds); n++) rounds.push(await measure(cluster, proxy))
    for (const when of ['ready', 'settled'] as const) {
      const cells = PARTS.map((part) => median(rounds.map((one) => one[when][part])).toFixed(1))
      print(`| ${size} | ${proxy} | ${when} | ${cells.join(' | ')} |`)
    }
  }
  await cluster.stop()
}
process.exit(0)

async function measure(
  { url }: Cluster,
  proxy: Proxy,
): Promise<Readonly<Record<'ready' | 'settled', Breakdown>>> {
  const topology = buildTopology(serial++)
  const daemon = startDaemon({ namespace: topology.node, url, proxy, folder, ...image })
  const look = async () => {
    const heap = (await daemon.metrics()).get('nodejs_heap_size_total_bytes') ?? Number.NaN
    return breakdown(daemon.pid, heap / 2 ** 20)
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

function breakdown(pid: number, heap: number): Breakdown {
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
  }
}
