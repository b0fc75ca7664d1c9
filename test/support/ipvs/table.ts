import type { Site } from '../lab/site.ts'

/** One row of `ipvsadm -Ln`. */
export interface VirtualServerRow {
  /** `TCP 10.0.0.1:80`, `UDP [fd00::1]:53`, `FWM 7` or `FWM 7 IPv6`. */
  readonly name: string
  readonly scheduler: string
  /** Seconds that a client sticks to a real server. */
  readonly persistent: number | undefined
  readonly servers: readonly RealServerRow[]
}

export interface RealServerRow {
  /** `10.1.0.4:80` */
  readonly name: string
  readonly weight: number
  readonly active: number
  readonly inactive: number
}

/** The virtual servers of the node, as `ipvsadm` shows them. */
export async function virtualServers({ namespace }: Site): Promise<readonly VirtualServerRow[]> {
  return parseTable(await namespace.exec(['ipvsadm', '-Ln']))
}

/** The virtual server of that name; undefined when there is none. */
export async function virtualServer(
  node: Site,
  name: string,
): Promise<VirtualServerRow | undefined> {
  return (await virtualServers(node)).find((row) => row.name === name)
}

/** The real servers of a virtual server by name, for example `{ '10.1.0.4:80': 1 }`: weights. */
export async function weights(
  node: Site,
  name: string,
): Promise<Readonly<Record<string, number>> | undefined> {
  const found = await virtualServer(node, name)
  return found && Object.fromEntries(found.servers.map(({ name, weight }) => [name, weight]))
}

export function parseTable(text: string): readonly VirtualServerRow[] {
  const rows: (VirtualServerRow & { readonly servers: RealServerRow[] })[] = []
  for (const line of text.split('\n')) {
    const server = /^ {2}-> (\S+)\s+\w+\s+(\d+)\s+(\d+)\s+(\d+)/.exec(line)
    const virtual = /^(TCP|UDP|SCTP|FWM)\s+(\S+(?: IPv6)?) (\w+)(.*)/.exec(line)
    if (virtual !== null) {
      const [, protocol, place, scheduler = '', rest = ''] = virtual
      const seconds = /persistent (\d+)/.exec(rest)?.[1]
      const persistent = seconds === undefined ? undefined : Number(seconds)
      rows.push({ name: `${protocol} ${place}`, scheduler, persistent, servers: [] })
    }
    if (server !== null) {
      const [, name = '', weight, active, inactive] = server
      const counts = { weight: Number(weight), active: Number(active), inactive: Number(inactive) }
      rows.at(-1)?.servers.push({ name, ...counts })
    }
  }
  return rows
}

/** Clients that stick to a real server of `destination` (`ip:port`), each once. */
export async function stickyClients(
  { namespace }: Site,
  destination: string,
): Promise<readonly string[]> {
  return parseTemplates(await namespace.exec(['ipvsadm', '-Lnc']), destination)
}

/** Reads persistence templates, which in the list of connections are entries whose client has no port. */
export function parseTemplates(text: string, destination: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, , , client = '', virtual] = line.split(/\s+/)
    return virtual === destination && client.endsWith(':0') ? [client.slice(0, -2)] : []
  })
}
