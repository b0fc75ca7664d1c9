import { execFileSync } from 'node:child_process'
import { NetlinkAddresses } from '../../../src/kernel/addresses.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_ROUTE } from '../../../src/kernel/netlink/transport.ts'
import { ProcSysctl } from '../../../src/kernel/sysctl.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const addresses = new NetlinkAddresses(rawTransport(NETLINK_ROUTE), systemClock)
const before = await addresses.list()
const keepAlive = setInterval(() => undefined, 1000)
const changed = new Promise<void>((resolve) => {
  const stop = addresses.watch(() => {
    stop()
    resolve()
  })
})
execFileSync('ip', ['address', 'add', '10.5.0.1/24', 'dev', 'down0'])
await changed
clearInterval(keepAlive)
const sysctl = new ProcSysctl()
const forward = ['net/ipv4/ip_forward', '1'] as const
const steps = {
  before,
  after: await addresses.list(),
  sysctl: [sysctl.ensure(...forward), sysctl.ensure(...forward), sysctl.read(forward[0])],
}
process.stdout.write(JSON.stringify(steps))
