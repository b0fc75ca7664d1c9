import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { bootKernel } from '../../src/uml/start-kernel.ts'
import type { MasqueradeCell } from '../report/masquerade/results.ts'
import { type CellOrder, MARK } from './cell-order.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LAUNCHER = `${ROOT}scripts/node`
const MAIN = fileURLToPath(new URL('./cell-main.ts', import.meta.url))
const MEMORY_MIB = 1_536
/** Milliseconds beyond those of the loads, for starts beside other processes. */
const OVERHEAD_MS = 900_000

export interface CellRun {
  readonly order: CellOrder
  /** Whether to run in User-mode Linux; kernels with different turns use different processors if there are several. */
  readonly uml: { readonly turn: number } | undefined
  readonly onCell: (cell: MasqueradeCell) => void
  readonly signal: AbortSignal
}

/** Measures in a process of its own, with namespaces of its own. */
export async function runCells({ order, uml, onCell, signal }: CellRun): Promise<void> {
  const args = ['--disable-warning=ExperimentalWarning', MAIN, JSON.stringify(order)]
  const seconds = order.loads.reduce((sum, load) => sum + load.seconds, 0)
  const timeoutMs = seconds * 1_000 + OVERHEAD_MS
  const output = new PassThrough()
  const read = readCells(output, onCell)
  const run = { command: LAUNCHER, args, timeoutMs }
  const status = uml
    ? await inUml({ ...run, ...uml }, output)
    : await here({ ...run, signal }, output)
  output.end()
  const rest = await read
  if (status !== 0) throw new Error(rest)
}

interface Run {
  readonly command: string
  readonly args: readonly string[]
  readonly timeoutMs: number
}

async function here(
  { command, args, timeoutMs, signal }: Run & { readonly signal: AbortSignal },
  output: PassThrough,
): Promise<number | null> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
    signal,
  })
  child.stdout.pipe(output, { end: false })
  const [status] = (await once(child, 'close')) as [number | null]
  return status
}

async function inUml(run: Run & { readonly turn: number }, output: PassThrough): Promise<number> {
  const kernel = { cwd: ROOT, memory: MEMORY_MIB, silenceMs: run.timeoutMs }
  const onOutput = (text: string) => void output.write(text.replaceAll('\r', ''))
  const { status } = await bootKernel({ ...kernel, ...run, onOutput })
  return status
}

/** @returns the lines that are not cells */
async function readCells(output: PassThrough, onCell: CellRun['onCell']): Promise<string> {
  const rest: string[] = []
  for await (const line of createInterface({ input: output })) {
    if (line.startsWith(MARK)) onCell(JSON.parse(line.slice(MARK.length)) as MasqueradeCell)
    else rest.push(line)
  }
  return rest.join('\n')
}
