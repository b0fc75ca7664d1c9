import { NodeProxyError } from '../../lib/error.ts'
import { openSandbox, type Sandbox } from '../sandbox.ts'
import { runTour } from '../tour/run-tour.ts'
import { TOUR } from '../tour/steps.ts'
import type { Orders } from './orders.ts'
import { whenAskedToStop } from './stop.ts'

/** Builds the sandbox, uses it as ordered, and ends it again; returns the exit code. */
export async function runInside({ run, options }: Orders): Promise<number> {
  const stop = whenAskedToStop()
  try {
    print(`building the sandbox ${run.name}: 1 node, 3 pods, 1 client, 1 API server …`)
    await using stack = new AsyncDisposableStack()
    const sandbox = await openSandbox(run, options)
    stack.defer(() => sandbox.close())
    print(`node-proxy runs in ${options.mode} mode; its rules are in the kernel\n`)
    return await tour(sandbox, stop)
  } catch (error) {
    if (stop.aborted) return INTERRUPTED
    complain(error)
    return 1
  }
}

const INTERRUPTED = 130

async function tour(sandbox: Sandbox, signal: AbortSignal): Promise<number> {
  const wrong = await runTour(sandbox, { steps: TOUR, print, signal })
  if (signal.aborted) return INTERRUPTED
  print(wrong === 0 ? 'every request was answered as expected' : `${wrong} steps went wrong`)
  return wrong === 0 ? 0 : 1
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function complain(error: unknown): void {
  const expected = error instanceof NodeProxyError
  const text = expected
    ? `${error.message} (${error.code})`
    : String((error as Error)?.stack ?? error)
  const hint = expected && error.hint !== undefined ? `\n${error.hint}` : ''
  process.stderr.write(`sandbox: ${text}${hint}\n`)
}
