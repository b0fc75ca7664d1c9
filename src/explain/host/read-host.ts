import type { HostFacts } from '../packet/host-facts.ts'
import { hostFacts } from './host-snapshot.ts'
import { readJson, unreadable } from './read-json.ts'
import type { RunCommand } from './run-command.ts'

const SYSCTLS = '^net.ipv[46].conf.[^ ]*.(forwarding|route_localnet)$'

/** Reads addresses, local routes and settings once. Throws NP_EXPLAIN_READ. */
export async function readHost(
  run: RunCommand,
  listens?: HostFacts['listens'],
): Promise<HostFacts> {
  const settings = await run('sysctl', ['-a', '-r', SYSCTLS])
  if (settings.status !== 0) throw unreadable('sysctl -a', settings)
  const addresses = await readJson(run, ['addr'])
  const four = await readJson(run, ['-4', 'route', 'show', 'table', 'local'])
  const six = await readJson(run, ['-6', 'route', 'show', 'table', 'local'])
  return hostFacts({
    addresses,
    localRoutes: [...four, ...six],
    sysctls: settings.stdout,
    ...(listens === undefined ? {} : { listens }),
  })
}
