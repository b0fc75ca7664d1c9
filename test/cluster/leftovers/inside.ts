import { once } from 'node:events'
import { removeScratchAlone, untilClosed } from '../../support/apart/apart.ts'
import { Cluster } from '../lab/cluster.ts'
import { prepareNamespaces, surroundingsOf } from '../lab/surroundings.ts'
import { programs, servers } from '../lab/workloads.ts'

/** The first process of the namespaces of `run.ts`: says `ready` when a Pod runs. */
const [scratch = '', folder = '', images = ''] = process.argv.slice(2)
const stopping = untilClosed()
const files = { scratch, programs: folder, images }
Object.assign(process.env, surroundingsOf(files))
await prepareNamespaces()
const cluster = await Cluster.start(files, 1)
await cluster.kubectl.apply(programs(), servers('web'))
await cluster.kubectl.rolledOut('deployment/web')
process.stdout.write('ready\n')
if (!stopping.aborted) await once(stopping, 'abort')
await removeScratchAlone(scratch)
process.exit()
