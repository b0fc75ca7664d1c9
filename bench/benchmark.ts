import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, release } from 'node:os'
import { join } from 'node:path'
import { measureCell } from './cell.ts'
import { type Cluster, growTo, startCluster } from './cluster/cluster.ts'
import { startDaemon } from './daemon/daemon.ts'
import { replacementAddress } from './lab/plan.ts'
import { buildTopology, enterControl } from './lab/topology.ts'
import type { Options } from './options.ts'
import { resultsPage } from './report/page.ts'
import type { Cell, Machine, Results } from './report/results.ts'
import { resultsText } from './report/results-text.ts'

/** Runs everything, from small to large, and saves the results after every cell. */
export async function runBenchmark(options: Options, folder: string): Promise<void> {
  const machine = describeMachine()
  enterControl()
  const startedAt = new Date().toISOString().slice(0, 10)
  const earlier = options.keep ? earlierCells(options.into) : []
  const measured: Cell[] = []
  const serial = counter()
  const address = counter()
  await warmUp(folder, serial())
  for (const size of options.sizes) {
    const cluster = await seededCluster(size)
    for (const backend of options.backends) {
      const cell = await measureCell({
        ...{ cluster, backend, folder, repeats: options.repeats },
        say: (what) => say(`${size} Services, ${backend}: ${what}`),
        freshSerial: serial,
        freshAddress: () => replacementAddress(address()),
      })
      measured.push(cell)
      const cells = merge(earlier, measured)
      save(options.into, { startedAt, machine, quick: options.quick, cells })
    }
    await cluster.stop()
  }
}

/** The first start after an installation compiles; every later one reads what it kept. */
async function warmUp(folder: string, serial: number): Promise<void> {
  const cluster = await seededCluster(1)
  const topology = buildTopology(serial)
  const daemon = startDaemon({ namespace: topology.node, url: cluster.url, backend: 'nft', folder })
  await daemon.until((samples) => samples.size > 0, 20_000)
  await daemon.stop()
  topology.remove()
  await cluster.stop()
}

async function seededCluster(size: number): Promise<Cluster> {
  const startedAt = performance.now()
  const cluster = await startCluster()
  await growTo(cluster, size)
  say(`${size} Services written in ${Math.round(performance.now() - startedAt)} ms`)
  return cluster
}

/** Cells of the results that are there; each was measured in one run with its raw figures. */
function earlierCells(into: string): readonly Cell[] {
  const text = readFileSync(join(into, 'results', 'latest.json'), 'utf8')
  return (JSON.parse(text) as Results).cells
}

function merge(earlier: readonly Cell[], measured: readonly Cell[]): readonly Cell[] {
  const nameOf = ({ services, backend }: Cell) => `${services} ${backend}`
  const again = new Set(measured.map(nameOf))
  const all = [...earlier.filter((cell) => !again.has(nameOf(cell))), ...measured]
  const order = (a: Cell, b: Cell) => a.services - b.services || (a.backend === 'nft' ? -1 : 1)
  return all.toSorted(order)
}

/** The page is made from the file, so that anybody can make it again. */
function save(into: string, results: Results): void {
  const text = resultsText(results)
  mkdirSync(join(into, 'results'), { recursive: true })
  writeFileSync(join(into, 'results', 'latest.json'), text)
  writeFileSync(join(into, 'RESULTS.md'), resultsPage(JSON.parse(text) as Results))
}

function describeMachine(): Machine {
  const said = spawnSync('iptables', ['--version'], { encoding: 'utf8' }).stdout
  return {
    cores: availableParallelism(),
    kernel: /^\d+\.\d+/.exec(release())?.[0] ?? release(),
    iptables: /v[\d.]+/.exec(said)?.[0] ?? 'unknown',
    node: process.version,
  }
}

function counter(): () => number {
  let count = 0
  return () => count++
}

function say(what: string): void {
  process.stderr.write(`bench: ${what}\n`)
}
