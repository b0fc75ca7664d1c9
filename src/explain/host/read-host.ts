import type { HostFacts } from '../packet/host-facts.ts'
import { hostFacts } from './host-snapshot.ts'
import { type JsonObject, readJson, textOf, unreadable } from './read-json.ts'
import type { RunCommand } from './run-command.ts'

/** Settings of `net.ipvN.conf.INTERFACE` that decide about packets. */
const SETTINGS = [
  [4, 'forwarding'],
  [6, 'forwarding'],
  [4, 'route_localnet'],
  [4, 'rp_filter'],
] as const

/** Reads addresses, local routes and settings once. Throws NP_EXPLAIN_READ. */
export async function readHost(
  run: RunCommand,
  listens?: HostFacts['listens'],
): Promise<HostFacts> {
  const addresses = await readJson(run, ['addr'])
  // -e: an address family that the kernel does not have has no settings.
  const settings = await run('sysctl', ['-e', ...settingsOf(addresses)])
  if (settings.status !== 0) throw unreadable('sysctl', settings)
  const four = await readJson(run, ['-4', 'route', 'show', 'table', 'local'])
  const six = await readJson(run, ['-6', 'route', 'show', 'table', 'local'])
  return hostFacts({
    addresses,
    localRoutes: [...four, ...six],
    sysctls: settings.stdout,
    ...(listens === undefined ? {} : { listens }),
  })
}

function settingsOf(links: readonly JsonObject[]): readonly string[] {
  const names = ['all', ...links.flatMap((link) => textOf(link, 'ifname') ?? [])]
  const readable = names.filter((name) => /^[\w.-]+$/.test(name))
  return readable.flatMap((name) =>
    SETTINGS.map(([family, setting]) => `net/ipv${family}/conf/${name}/${setting}`),
  )
}
