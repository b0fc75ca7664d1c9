import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { describeProblem } from '../../../settings/problem.ts'
import { readConfigurationFile } from '../../../settings/read-file.ts'
import { loadConfiguration } from '../../config/load.ts'
import { SETTINGS_TABLE } from '../../config/settings-table.ts'

/** What a configuration file says of the mode. Undefined: no file is named. Throws where it is unreadable or wrong. */
export async function readConfigured(
  path: string | undefined,
): Promise<NodeFacts['configuration']> {
  if (path === undefined) return undefined
  const file = await readConfigurationFile(path, SETTINGS_TABLE.codes)
  const loaded = await loadConfiguration(file, { settings: [], ignored: [] })
  if (!loaded.ok) {
    const [first] = loaded.problems
    const code = first?.code ?? SETTINGS_TABLE.codes.value
    throw new NodeProxyError(code, first === undefined ? path : describeProblem(first))
  }
  const { mode, ipvs, iptables } = loaded.config
  const { scheduler } = ipvs
  return { mode, scheduler, masqueradeAll: iptables.masqueradeAll, isOfDaemon: false }
}
