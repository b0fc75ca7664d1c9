import { fileURLToPath } from 'node:url'
import { runApart, untilClosed } from '../../support/apart/apart.ts'
import { makeScratch, removeLeftovers, removeScratch } from '../../support/apart/scratch.ts'

/**
 * Does what the command of these tests does, for a cluster of one node that goes on until this program is stopped or
 * killed: `run.ts PROGRAMS IMAGES`. It removes first what an earlier run left.
 */
const INSIDE = fileURLToPath(new URL('inside.ts', import.meta.url))
const OWNER = { who: 'cluster', program: 'test/cluster/leftovers/run.ts' }

const stopping = untilClosed()
for (const folder of removeLeftovers(OWNER)) process.stdout.write(`removed ${folder}\n`)
const scratch = makeScratch(OWNER)
try {
  process.exitCode = await runApart(INSIDE, [scratch, ...process.argv.slice(2)], stopping)
} finally {
  removeScratch(scratch)
}
process.exit()
