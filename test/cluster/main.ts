import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchPrograms, PROGRAMS_VARIABLE } from '../charts/support/programs.ts'
import { runApart } from '../support/apart/apart.ts'
import { makeScratch, removeLeftovers, removeScratch } from '../support/apart/scratch.ts'
import { CLUSTER_PROGRAMS } from '../support/lab/upstream-program.ts'
import { installMissing } from '../support/on-demand/install-missing.ts'
import { runOnDemand } from '../support/on-demand/run-command.ts'
import { upstreamPrograms } from '../upstream/programs.ts'
import { makeImages } from './images/images.ts'

const INSIDE = fileURLToPath(new URL('inside.ts', import.meta.url))
const OWNER = { who: 'cluster', program: 'test/cluster/main.ts' }
const TIMEOUT_MS = 90 * 60_000

const WANTED = {
  containerd: '/usr/bin/containerd',
  runc: '/usr/sbin/runc',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  conntrack: '/usr/sbin/conntrack',
  ipset: '/usr/sbin/ipset',
  iptables: '/usr/sbin/iptables',
  // Also where the kernel has ip_vs: for the machine of ipvs mode.
  'user-mode-linux': '/usr/bin/linux.uml',
} as const

/**
 * `npm run test:cluster [-- FILTER…]`: node-proxy and orch-dns on a cluster of Kubernetes' own programs, in namespaces
 * that end with this command. Exits as the tests do.
 */
process.exitCode = await runOnDemand({
  who: 'cluster',
  timeoutMs: TIMEOUT_MS,
  run: async (args, signal) => {
    if (process.getuid?.() !== 0) throw new Error('only root can make nodes: run it as root')
    for (const folder of removeLeftovers(OWNER)) say(`removed ${folder}, which an earlier run left`)
    await installMissing('cluster', WANTED)
    const programs = await upstreamPrograms(signal, CLUSTER_PROGRAMS)
    process.env[PROGRAMS_VARIABLE] ??= JSON.stringify(await fetchPrograms(signal))
    const scratch = makeScratch(OWNER)
    try {
      const images = join(scratch, 'images')
      await makeImages(images, programs, signal)
      return await runApart(INSIDE, [scratch, programs, images, ...args], signal)
    } finally {
      removeScratch(scratch)
      say(`removed ${scratch}; nodes, Pods and networks are gone with it`)
    }
  },
})

function say(what: string): void {
  process.stderr.write(`cluster: ${what}\n`)
}
