import { setTimeout as delay } from 'node:timers/promises'
import { NodeProxyError } from '../../lib/error.ts'
import { openSandbox } from '../environment/sandbox.ts'
import { runLive } from '../live/run-live.ts'
import { codeOfInterruption } from '../run/interruption.ts'
import { removeRun } from '../run/leftovers.ts'
import type { Orders } from '../run/orders.ts'
import { runTour } from '../tour/run-tour.ts'
import { TOUR } from '../tour/steps.ts'
import { type Stop, whenAskedToStop } from './stop.ts'

/** How long the parts of the sandbox may take to end. */
const CLOSE_MS = 8000

/** Builds the sandbox, uses it as ordered, and ends it again; returns the exit code. */
export async function runInside(orders: Orders): Promise<number> {
  const stop = whenAskedToStop()
  const stack = new AsyncDisposableStack()
  let code = 1
  try {
    code = await use(orders, stack, stop)
  } catch (error) {
    if (!stop.signal.aborted) complain(error)
  }
  await Promise.race([stack.disposeAsync().catch(complain), delay(CLOSE_MS)])
  if (stop.orphaned()) removeRun(orders.run.name)
  return stop.signal.aborted ? codeOfInterruption(orders.options) : code
}

async function use(
  { run, options }: Orders,
  stack: AsyncDisposableStack,
  { signal }: Stop,
): Promise<number> {
  print(`building the sandbox ${run.name}: 1 node, 3 pods, 1 client, orch-server …`)
  const sandbox = await openSandbox(run, options, stack)
  print(`node-proxy runs in ${options.mode} mode; its rules are in the kernel\n`)
  if (!options.once) {
    await runLive(sandbox, signal)
    return 0
  }
  const wrong = await runTour(sandbox, { steps: TOUR, print, signal })
  if (signal.aborted) print('interrupted')
  else print(wrong === 0 ? 'every request was answered as expected' : `wrong steps: ${wrong}`)
  return wrong === 0 ? 0 : 1
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function complain(error: unknown): void {
  const text =
    error instanceof NodeProxyError
      ? [`${error.code}: ${error.message}`, error.hint].filter(Boolean).join('\n')
      : String((error instanceof Error && error.stack) || error)
  process.stderr.write(`sandbox: ${text}\n`)
}
