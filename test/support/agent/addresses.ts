import { NetlinkAddresses } from '../../../src/kernel/addresses.ts'
import { requestTransport } from '../../../src/kernel/netlink/request-transport.ts'
import { NETLINK_ROUTE } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/** The addresses of all interfaces of this thread's namespace, up or down. */
export async function listAddresses(): Promise<string[]> {
  const listed = await new NetlinkAddresses(requestTransport(NETLINK_ROUTE), systemClock).list()
  return listed.map(({ ip }) => ip)
}
