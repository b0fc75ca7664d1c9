import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bootKernel } from '../../src/uml/start-kernel.ts'
import { hasIpvs } from '../ipvs/here.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { type Load, measure } from './cell.ts'
import { kubeProxy, nodeProxy } from './proxies.ts'
import { RULES } from './rules.ts'

/**
 * How often a masqueraded connection meets the TIME_WAIT of another one, by the way in which its source port is chosen.
 * One line of JSON for each figure.
 *
 *     scripts/node bench/masquerade/main.ts --seconds=30 --rates=100 --clients=1,2 --binds=no --subjects=iptables,nft
 *
 * `--subjects`: beginnings of names; default: all. `--kernel=uml`: the same in User-mode Linux, for ipvs mode.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MEMORY_MIB = 2_048
const MAX_SUBJECTS = 30
/** Beyond the seconds of a figure. */
const OVERHEAD_MS = 120_000

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '180' },
    rates: { type: 'string', default: '20,100,500' },
    clients: { type: 'string', default: '1,2,10,100' },
    binds: { type: 'string', default: 'no,yes' },
    subjects: { type: 'string', default: '' },
    kernel: { type: 'string', default: '' },
  },
})
const numbers = (text: string) => text.split(',').map(Number)
const loads = numbers(values.rates).flatMap((perSecond) =>
  numbers(values.clients).flatMap((clients) =>
    values.binds.split(',').map((binds): Load => {
      const seconds = Number(values.seconds)
      return { perSecond, clients, binds: binds === 'yes', seconds }
    }),
  ),
)

if (values.kernel === 'uml') await inUml()
else await here()

async function here(): Promise<void> {
  const folder = enterLab()
  const modes = ['nft', 'legacy', 'nftables', ...(hasIpvs() ? (['ipvs'] as const) : [])] as const
  const proxies = modes.flatMap((mode) =>
    (['keep', 'random'] as const).map((ports) => nodeProxy(mode, ports, folder)),
  )
  const subjects = [...RULES, ...proxies, ...kubeProxy()].filter(({ name }) =>
    values.subjects.split(',').some((begin) => name.startsWith(begin)),
  )
  let serial = 0
  for (const load of loads) {
    for (const subject of subjects) {
      const cell = await measure(serial++, load, subject)
      process.stdout.write(`${JSON.stringify({ subject: subject.name, ...load, ...cell })}\n`)
    }
  }
}

/** This program with the same arguments, in a kernel that has ip_vs. */
async function inUml(): Promise<void> {
  const args = process.argv.slice(2).filter((word) => !word.startsWith('--kernel'))
  const silenceMs = Number(values.seconds) * 1_000 + OVERHEAD_MS
  const { status } = await bootKernel({
    command: join(ROOT, 'scripts/node'),
    args: ['--disable-warning=ExperimentalWarning', 'bench/masquerade/main.ts', ...args],
    ...{ cwd: ROOT, memory: MEMORY_MIB, silenceMs },
    timeoutMs: loads.length * MAX_SUBJECTS * silenceMs,
    onOutput: (text) => process.stdout.write(text),
  })
  process.exitCode = status
}
