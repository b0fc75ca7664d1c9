import { runOnDemand } from '../support/on-demand/run-command.ts'
import { runProject } from '../support/on-demand/run-project.ts'
import { upstreamPrograms } from './programs.ts'

const TIMEOUT_MS = 60 * 60_000

/**
 * `npm run test:upstream [-- FILTER…]`: our programs with those of Kubernetes, which are built from
 * Debian's source package the first time. Exits as the tests do.
 */
process.exitCode = await runOnDemand({
  who: 'upstream',
  timeoutMs: TIMEOUT_MS,
  run: async (args, signal) => {
    const env = { NP_UPSTREAM_PROGRAMS: await upstreamPrograms(signal) }
    return runProject('upstream', args, { env, signal })
  },
})
