import { resolve } from 'node:path'
import { root } from '../source-file.ts'
import { runWalks } from './run-walks.ts'

/** `unshare --net` starts this, so that the daemon programs a network namespace of its own. */
process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
const walks = await runWalks(resolve(process.argv[2] ?? root), ['iptables', 'ipvs', 'userspace'])
process.stdout.write(`${JSON.stringify(walks, null, 2)}\n`)
