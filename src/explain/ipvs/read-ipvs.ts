import { type Ipvs, virtualServerKey } from '../../kernel/ipvs/ipvs.ts'
import type { IpvsSnapshot } from './ipvs-snapshot.ts'
import { parseTemplates } from './parse-templates.ts'

/** Files of /proc by path; undefined: there is no such file. */
export type ReadFile = (path: string) => Promise<string | undefined>

/** Reads all virtual servers, their real servers and persistence templates once. Throws what `Ipvs` throws. */
export async function readIpvs(
  ipvs: Pick<Ipvs, 'services' | 'serversOf'>,
  readFile: ReadFile,
): Promise<IpvsSnapshot> {
  const services = await ipvs.services()
  const servers = await ipvs.serversOf(services.map(({ id }) => id))
  const isOn = async (name: string) =>
    (await readFile(`/proc/sys/net/ipv4/vs/${name}`))?.trim() === '1'
  return {
    services: services.map((service) => ({
      service,
      servers: servers.get(virtualServerKey(service.id)) ?? [],
    })),
    templates: parseTemplates((await readFile('/proc/net/ip_vs_conn')) ?? ''),
    tracksConnections: await isOn('conntrack'),
    expiresQuiescent: await isOn('expire_quiescent_template'),
  }
}
