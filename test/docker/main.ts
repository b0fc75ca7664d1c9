import { withOwnEngine } from './engine/own-engine.ts'
import { findEngine } from './engine/reachable-engine.ts'
import { runTests } from './run-tests.ts'

const TIMEOUT_MS = 60 * 60_000
const INTERRUPTED = 130

/**
 * `npm run test:docker [-- FILTER…]`: the Docker tests, against the engine that is
 * reachable, or else against one that is installed and started for them. Exits as
 * the tests do.
 */
process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stopping.abort())
  }
  const late = setTimeout(() => {
    say(`not done after ${TIMEOUT_MS / 60_000} minutes`)
    stopping.abort()
  }, TIMEOUT_MS)
  try {
    const status = await run(args, stopping.signal)
    if (stopping.signal.aborted) return interrupted()
    say(status === 0 ? 'passed' : 'FAILED')
    return status
  } catch (error) {
    if (stopping.signal.aborted) return interrupted()
    say(error instanceof Error ? error.message : String(error))
    return 1
  } finally {
    clearTimeout(late)
  }
}

function interrupted(): number {
  say('interrupted')
  return INTERRUPTED
}

async function run(args: readonly string[], signal: AbortSignal): Promise<number> {
  const reach = await findEngine()
  if ('uri' in reach) {
    say(`the engine at ${reach.uri} is used`)
    return runTests(args, { env: { DOCKER_HOST: reach.uri }, signal })
  }
  if (reach.asked) throw new Error(`DOCKER_HOST leads nowhere: ${reach.unreachable}`)
  if (process.getuid?.() !== 0) {
    throw new Error(`no engine is reachable (${reach.unreachable}), and only root can start one`)
  }
  say(`${reach.unreachable}: an engine is started for these tests`)
  return withOwnEngine(args, signal)
}

function say(what: string): void {
  process.stderr.write(`docker: ${what}\n`)
}
