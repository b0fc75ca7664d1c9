import { execa } from 'execa'
import { hasIpvs } from '../../support/on-demand/has-ipvs.ts'
import { root } from '../../support/on-demand/root.ts'
import { runOnDemand } from '../../support/on-demand/run-command.ts'
import { runVitest } from '../../support/on-demand/run-project.ts'
import { buildModules } from './nf-tables/build.ts'

const TIMEOUT_MS = 4 * 60 * 60_000

/**
 * `npm run test:ipvs [-- FILTER…]`: the tour of the sandbox in ipvs mode, unless there is a filter, and the tests of that
 * mode that no other command runs. Where User-mode Linux brings the kernel, its modules of nf_tables are built the first
 * time. Exits as the tour, or as the tests do.
 */
process.exitCode = await runOnDemand({
  who: 'ipvs',
  timeoutMs: TIMEOUT_MS,
  run: async (args, signal) => {
    const status = args.length === 0 ? await takeTour(signal) : 0
    if (status !== 0) return status
    if (!hasIpvs()) await buildModules(signal)
    return runVitest(args, { env: { NP_TESTS: 'ipvs' }, signal })
  },
})

async function takeTour(signal: AbortSignal): Promise<number> {
  const args = ['src/sandbox/main.ts', '--once', '--proxy-mode=ipvs']
  const { exitCode = 1 } = await execa(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    cancelSignal: signal,
    reject: false,
  })
  return exitCode
}
