import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import type { NodeFacts } from '../../doctor/evidence/node-facts.ts'
import { type Json, stringAt, valueAt } from '../../lib/json.ts'

/**
 * What a configuration file (YAML or JSON) says about the mode. It is not validated: the daemon does that at its start.
 * Undefined: no file is named. Rejects when the file cannot be read.
 */
export async function readConfigured(
  path: string | undefined,
): Promise<NodeFacts['configuration']> {
  if (path === undefined) return undefined
  const file = parse(await readFile(path, 'utf8')) as Json
  return {
    mode: stringAt(file, 'mode'),
    scheduler: stringAt(file, 'ipvs', 'scheduler'),
    masqueradeAll: valueAt(file, 'iptables', 'masqueradeAll') === true,
    isOfDaemon: false,
    shared: {},
  }
}
