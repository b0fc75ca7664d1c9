import type { GivenFlags } from '../../settings/command-line.ts'
import * as load from '../../settings/load.ts'
import type { ConfigurationFile } from '../../settings/read-file.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './settings-table.ts'

/** The daemon's configuration, checked, and the origin of its values. */
export type LoadedConfiguration = load.LoadedConfiguration<NodeProxyConfiguration>

/** The configuration, or all its problems. */
export type LoadResult = load.LoadResult<NodeProxyConfiguration>

/** Defaults, then the file, then the flags; all problems at once. */
export function loadConfiguration(
  file: ConfigurationFile | undefined,
  line: GivenFlags<NodeProxyConfiguration>,
  table: NodeProxyTable = SETTINGS_TABLE,
): Promise<LoadResult> {
  return load.loadConfiguration(table, file, line)
}
