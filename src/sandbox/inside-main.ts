import { setTimeout as delay } from 'node:timers/promises'
import { NodeProxyError } from '../lib/error.ts'
import { openSandbox } from './environment/sandbox.ts'
import { removeRun } from './run/leftovers.ts'
import { codeOfInterruption, type Orders, readOrders } from './run/run.ts'
import { runLive } from './run-live.ts'
import { runTour } from './tour/run-tour.ts'
import { TOUR } from './tour/steps.ts'

/** How long the parts of the sandbox may take to end. */
const CLOSE_MS = 8000

// Does not wait for what still runs: its time is over, and the supervisor removes the rest.
process.exit(await runInside(readOrders(process.argv[2] ?? '')))

/** Builds the sandbox, runs the tour or the screen, and ends the sandbox again; returns the exit code. */
async function runInside(orders: Orders): Promise<number> {
  const stop = stopOnSignal()
  const stack = new AsyncDisposableStack()
  let code = 1
  try {
    code = await use(orders, stack, stop)
  } catch (error) {
    if (!stop.signal.aborted) printError(error)
  }
  await Promise.race([stack.disposeAsync().catch(printError), delay(CLOSE_MS)])
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

function printError(error: unknown): void {
  const text =
    error instanceof NodeProxyError
      ? [`${error.code}: ${error.message}`, error.hint].filter(Boolean).join('\n')
      : String((error instanceof Error && error.stack) || error)
  process.stderr.write(`sandbox: ${text}\n`)
}

/** The request that the process inside ends, and the cause. */
interface Stop {
  readonly signal: AbortSignal
  /** Whether the supervisor has ended, so that this process has to clean up. */
  orphaned(): boolean
}

/**
 * Aborted by SIGINT, SIGTERM or SIGHUP, when the output is closed, and when the supervisor has ended. Further signals
 * are ignored, because the process is ending already.
 */
function stopOnSignal(): Stop {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, abort)
  process.on('disconnect', abort)
  process.channel?.unref()
  for (const stream of [process.stdout, process.stderr]) stream.on('error', abort)
  return { signal: stop.signal, orphaned: () => !process.connected }
}
