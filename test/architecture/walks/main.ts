import { resolve } from 'node:path'
import { root } from '../source-file.ts'
import { runWalks } from './run-walks.ts'

/** `unshare --net` starts this, so that the daemon programs a network namespace of its own. */
const modes = ['nftables', 'iptables', 'ipvs', 'userspace']
const walks = await runWalks(resolve(process.argv[2] ?? root), modes)
process.stdout.write(`${JSON.stringify(walks, null, 2)}\n`)
