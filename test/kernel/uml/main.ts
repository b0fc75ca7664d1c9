import { hasIpvs } from '../../support/on-demand/has-ipvs.ts'
import { runOnDemand } from '../../support/on-demand/run-command.ts'
import { runVitest } from '../../support/on-demand/run-project.ts'
import { buildModules } from './nf-tables/build.ts'

const TIMEOUT_MS = 4 * 60 * 60_000

/**
 * `npm run test:ipvs [-- FILTER…]`: the tests of ipvs mode that no other command runs. Where User-mode Linux brings the
 * kernel, its modules of nf_tables are built the first time. Exits as the tests do.
 */
process.exitCode = await runOnDemand({
  who: 'ipvs',
  timeoutMs: TIMEOUT_MS,
  run: async (args, signal) => {
    if (!hasIpvs()) await buildModules(signal)
    return runVitest(args, { env: { NP_TESTS: 'ipvs' }, signal })
  },
})
