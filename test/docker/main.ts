import { runOnDemand } from '../support/on-demand/run-command.ts'
import { runProject } from '../support/on-demand/run-project.ts'
import { withOwnEngine } from './engine/own-engine.ts'
import { findEngine } from './engine/reachable-engine.ts'

const TIMEOUT_MS = 60 * 60_000

/**
 * `npm run test:docker [-- FILTER…]`: the Docker tests, against the engine that is
 * reachable, or else against one that is installed and started for them. Exits as
 * the tests do.
 */
process.exitCode = await runOnDemand({ who: 'docker', timeoutMs: TIMEOUT_MS, run })

async function run(args: readonly string[], signal: AbortSignal): Promise<number> {
  const reach = await findEngine()
  if ('uri' in reach) {
    say(`the engine at ${reach.uri} is used`)
    const env = { DOCKER_HOST: reach.uri, NP_DOCKER_REQUIRED: '1' }
    return runProject('docker', args, { env, signal })
  }
  if (reach.isConfigured) throw new Error(`DOCKER_HOST leads nowhere: ${reach.unreachable}`)
  if (process.getuid?.() !== 0) {
    throw new Error(`no engine is reachable (${reach.unreachable}), and only root can start one`)
  }
  say(`${reach.unreachable}: an engine is started for these tests`)
  return withOwnEngine(args, signal)
}

function say(what: string): void {
  process.stderr.write(`docker: ${what}\n`)
}
