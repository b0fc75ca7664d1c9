import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_ROUTE } from '../../../src/kernel/netlink/transport.ts'
import { NetlinkRoutes } from '../../../src/kernel/route/netlink-routes.ts'
import { type PolicyRoute, routeText, ruleText } from '../../../src/kernel/route/routes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { Family } from '../../../src/lib/ip.ts'
import { walk } from './route-steps.ts'

const run = (line: string) =>
  execFileSync('ip', line.split(' ').slice(1), { stdio: 'pipe', timeout: 10_000 }).toString()
const shown = (line: string) =>
  run(line)
    .trim()
    .split('\n')
    .map((text) => text.trim().replaceAll('\t', ' '))
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: { code?: string; message: string; hint?: string }) =>
      [error.code, error.message, error.hint].join(' | '),
  )

const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), systemClock)
const keepAlive = setInterval(() => undefined, 1000)
const six = { family: 6, mark: 0x8000, mask: 0x8000, table: 28_272, priority: 7 } as const
const four = { ...six, family: 4 } as const
const before = [shown('ip -4 rule'), shown('ip -6 rule')]

/** And what the kernel started with again. */
function flushRules(family: Family): void {
  run(`ip -${family} rule flush`)
  run(`ip -${family} rule add lookup main priority 32766`)
  if (family === 4) run('ip -4 rule add lookup default priority 32767')
}

async function look() {
  run('ip -4 rule add fwmark 1 lookup 100 priority 7')
  run('ip -4 rule add not fwmark 0x8000/0x8000 lookup 28272 priority 7')
  run('ip -4 rule add fwmark 0x8000/0x8000 iif lo lookup 28272 priority 7')
  run('ip -4 rule add from 192.0.2.0/24 fwmark 0x8000/0x8000 lookup 28272 priority 7')
  run('ip -4 rule add fwmark 0x8000/0x8000 lookup 28272 suppress_prefixlength 0 priority 7')
  const foreignOnly = await routes.holds(four)
  await routes.ensure(four)
  await routes.ensure(six)
  const seen = {
    foreignOnly,
    rules: [shown('ip -4 rule'), shown('ip -6 rule')],
    routes: [shown('ip -4 route show table 28272'), shown('ip -6 route show table 28272')],
  }
  await routes.remove(four)
  await routes.remove(six)
  const left = shown('ip -4 rule').filter((rule) => rule.startsWith('7:')).length
  flushRules(4)
  return { ...seen, left }
}

/** Which way packets go, with the mark and without. */
async function lookUp() {
  await routes.ensure(four)
  const marked = shown('ip -4 route get 198.51.100.7 mark 0x8000')[0]
  const unmarked = await refusal(Promise.resolve().then(() => run('ip -4 route get 198.51.100.7')))
  await routes.remove(four)
  return { marked, unmarked }
}

async function obstacles() {
  run('ip -4 route add blackhole default table 28272')
  const occupied = await refusal(routes.ensure(four))
  run('ip -4 route flush table 28272')
  run('ip link set lo down')
  const down = await refusal(routes.ensure(six))
  run('ip link set lo up')
  const off = '/proc/sys/net/ipv6/conf/lo/disable_ipv6'
  writeFileSync(off, '1')
  const disabled = await refusal(routes.ensure(six))
  writeFileSync(off, '0')
  await routes.ensure(six)
  await routes.remove(four)
  await routes.remove(six)
  return { occupied, down, disabled }
}

const steps = {
  walked: await walk(routes, {
    add(route: PolicyRoute) {
      run(ruleText(route))
      run(routeText(route))
    },
    flushRules: (family) => flushRules(family),
    flushTable: (family, table) => run(`ip -${family} route flush table ${table}`),
  }),
  look: await look(),
  lookUp: await lookUp(),
  obstacles: await obstacles(),
  untouched: JSON.stringify(before) === JSON.stringify([shown('ip -4 rule'), shown('ip -6 rule')]),
}
clearInterval(keepAlive)
routes.close()
process.stdout.write(JSON.stringify(steps))
