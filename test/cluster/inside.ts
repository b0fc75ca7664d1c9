import { removeScratchAlone, untilClosed } from '../support/apart/apart.ts'
import { runProject } from '../support/on-demand/run-project.ts'
import { prepareNamespaces, surroundingsOf } from './lab/surroundings.ts'

/**
 * The first process of the namespaces in which the tests, the control plane and the nodes run. When it ends, the kernel
 * kills all of them.
 */
const [scratch = '', programs = '', images = '', ...args] = process.argv.slice(2)
const INTERRUPTED = 130

const stopping = untilClosed()
Object.assign(process.env, surroundingsOf({ scratch, programs, images }))
await prepareNamespaces()
const status = await runProject('cluster', args, { env: {}, signal: stopping })
if (stopping.aborted) await removeScratchAlone(scratch)
process.exit(stopping.aborted ? INTERRUPTED : status)
